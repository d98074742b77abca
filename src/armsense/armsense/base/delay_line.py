"""Values a little earlier: a ring of the last samples, read between two of them."""

from __future__ import annotations

import numpy as np

from armsense.errors import BadValue
from armsense.types import Array


class DelayLine:
    """Delays vectors by a constant time at any sampling; before it is filled, holds the oldest."""

    def __init__(self, delay: float, period: float) -> None:
        """Make an empty line.

        Args:
            delay: [s] >= 0; 0 passes everything through.
            period: Shortest sampling period that is expected [s]; it sets the room.
        """
        if not (0.0 <= delay < 60.0 and period > 0.0):
            raise BadValue('delay, period', (delay, period), '0 <= delay < 60 s, period > 0 s')
        self.delay = delay
        self._room = int(np.ceil(2.0 * delay / period)) + 3
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self._times: list[float] = []
        self._values: list[Array] = []
        self._now = 0.0

    def step(self, value: Array, dt: float) -> Array:
        """The value `delay` seconds before now; `value` is now's, `dt` after the one before."""
        if self.delay == 0.0:
            return value
        times, values = self._times, self._values
        self._now += dt
        times.append(self._now)
        values.append(value)
        wanted = self._now - self.delay
        # What lies before the last sample older than wanted is never asked for again.
        while len(times) > 2 and (times[1] <= wanted or len(times) > self._room):
            times.pop(0)
            values.pop(0)
        if wanted <= times[0] or len(times) == 1:
            return values[0]
        share = (wanted - times[0]) / (times[1] - times[0])
        return values[0] + share * (values[1] - values[0])
