"""Entering a trajectory from a motion that is not exactly its beginning."""

from __future__ import annotations

import numpy as np

from armsense.trajectory.quintic_spline import QuinticSpline
from armsense.trajectory.reference import sample_at, Samples, Trajectory
from armsense.types import Array, Reference


class Blended:
    """A trajectory plus the present distance from it, which fades away smoothly (`Trajectory`).

    Position, velocity and acceleration are continuous at the beginning.
    """

    def __init__(self, trajectory: Trajectory, present: Reference, duration: float) -> None:
        """Begin at the present motion and be on the trajectory `duration` seconds later.

        Also of a shorter trajectory: a faster fade would be a jump.
        """
        self._inner = trajectory
        first = trajectory.sample(0.0)
        self._fade = duration
        rows = [np.array([now - there, np.zeros_like(there)])
                for now, there in zip(present[:3], first[:3], strict=True)]
        self._offset = QuinticSpline([0.0, self._fade], *rows)

    @property
    def duration(self) -> float:
        return max(self._inner.duration, self._fade)

    @property
    def n(self) -> int:
        return self._inner.n

    def sample(self, t: float) -> Reference:
        """The motion at time t [s]."""
        now = self._inner.sample(t)
        if t >= self._fade:
            return now
        offset = self._offset.sample(t)
        return Reference(now.q + offset.q, now.dq + offset.dq, now.ddq + offset.ddq,
                         _sum(now.jerk, offset.jerk), _sum(now.snap, offset.snap))

    def sample_many(self, times: Array) -> Samples:
        """The motion at times within it [s], (N,)."""
        inner = sample_at(self._inner, np.minimum(times, self._inner.duration))
        still = np.flatnonzero(times > self._inner.duration)             # it rests there
        for values in inner[2:]:
            values[still] = 0.0
        fading = np.flatnonzero(times < self._fade)
        for values, offset in zip(inner[1:], self._offset.sample_many(times[fading])[1:],
                                  strict=True):
            values[fading] += offset
        return inner._replace(t=times)


def entered(trajectory: Trajectory, present: Reference, duration: float) -> Trajectory:
    """The trajectory from the present motion on; as it is where it begins with just that."""
    first = trajectory.sample(0.0)
    if all(np.array_equal(a, b) for a, b in zip(present[:3], first[:3], strict=True)):
        return trajectory
    return Blended(trajectory, present, duration)


def _sum(a: Array | None, b: Array | None) -> Array | None:
    return a if b is None else b if a is None else a + b
