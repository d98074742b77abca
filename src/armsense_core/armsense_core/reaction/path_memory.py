"""The last seconds of the reference, to drive them back."""

from __future__ import annotations

from collections import deque

import numpy as np

from armsense_core.trajectory import Chain, QuinticSpline, ramped, Reference

SPACING = 0.02   # [s] between remembered samples


class PathMemory:
    """Remembers (time, q, dq, ddq) of the reference at even spacing."""

    def __init__(self, seconds: float) -> None:
        self._samples: deque[tuple[float, Reference]] = deque(
            maxlen=max(2, round(seconds / SPACING)))
        self._time = 0.0

    def clear(self) -> None:
        self._samples.clear()

    def record(self, reference: Reference, dt: float) -> None:
        """Remember the reference of this cycle, if it moves."""
        self._time += dt
        if self._samples:
            last_time, last = self._samples[-1]
            if self._time - last_time < SPACING:
                return
            if not reference.dq.any() and not last.dq.any():   # rest is no path
                self._samples[-1] = (self._time, reference)
                return
        self._samples.append((self._time, reference))

    def backwards(self, speed: float, ramp: float = 0.1) -> Chain | None:
        """The remembered path from its end to its beginning, at rest at both; None: no path."""
        if len(self._samples) < 2:
            return None
        newest = self._samples[-1][0]
        rows = list(reversed(self._samples))
        spline = QuinticSpline([newest - t for t, _ in rows], np.array([r.q for _, r in rows]),
                               np.array([-r.dq for _, r in rows]),
                               np.array([r.ddq for _, r in rows]))
        return ramped(spline, ramp=ramp, speed=speed)
