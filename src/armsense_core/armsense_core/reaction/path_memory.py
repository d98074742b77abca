"""The last seconds of the reference, to drive them back."""

from __future__ import annotations

from collections import deque

import numpy as np

from armsense_core.trajectory import Chain, QuinticSpline, ramped, Reference
from armsense_core.trajectory.quintic_spline import SHORTEST_SEGMENT

SPACING = 0.02   # [s] between remembered samples


class PathMemory:
    """Remembers (time, q, dq, ddq) of the reference at even spacing; at rest time stands still."""

    def __init__(self, seconds: float) -> None:
        self._samples: deque[tuple[float, Reference]] = deque(
            maxlen=max(2, round(seconds / SPACING)))
        self._time = 0.0
        self._newest: Reference | None = None   # of the last cycle

    def clear(self) -> None:
        self._samples.clear()
        self._newest = None

    def record(self, reference: Reference, dt: float) -> None:
        """Remember the reference of this cycle, if it moves."""
        if self._newest is not None:
            if not reference.dq.any() and not self._newest.dq.any():   # rest is no path
                return
            self._time += dt
        self._newest = reference
        if not self._samples or self._time - self._samples[-1][0] >= SPACING:
            self._samples.append((self._time, reference))

    def backwards(self, speed: float, ramp: float = 0.1) -> Chain | None:
        """The remembered path from its end to its beginning, at rest at both; None: no path."""
        rows = list(reversed(self._samples))
        # From the very end: back to the last sample would be a jump.
        if rows and self._newest is not None and self._time - rows[0][0] > SHORTEST_SEGMENT:
            rows.insert(0, (self._time, self._newest))
        if len(rows) < 2:
            return None
        spline = QuinticSpline([rows[0][0] - t for t, _ in rows],
                               np.array([r.q for _, r in rows]),
                               np.array([-r.dq for _, r in rows]),
                               np.array([r.ddq for _, r in rows]))
        return ramped(spline, ramp=ramp, speed=speed)
