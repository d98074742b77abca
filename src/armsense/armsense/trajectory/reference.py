"""What a controller shall follow at one instant, and what every trajectory offers."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from armsense.types import Array, Reference


class Samples(NamedTuple):
    """A trajectory on a grid of N times."""

    t: Array       # [s] (N,)
    q: Array       # [rad] (N, n)
    dq: Array      # [rad/s] (N, n)
    ddq: Array     # [rad/s^2] (N, n)
    jerk: Array    # [rad/s^3] (N, n)


class Trajectory(Protocol):
    """A motion from time 0 to `duration`; before and after it rests at its ends."""

    @property
    def duration(self) -> float:
        """[s]."""

    @property
    def n(self) -> int:
        """Number of joints."""

    def sample(self, t: float) -> Reference:
        """The motion at time t [s]."""


def sample_grid(trajectory: Trajectory, step: float) -> Samples:
    """The trajectory every `step` seconds, both ends included."""
    count = max(2, int(np.ceil(trajectory.duration / step)) + 1)
    return sample_at(trajectory, np.linspace(0.0, trajectory.duration, count))


def sample_at(trajectory: Trajectory, times: Array) -> Samples:
    """The trajectory at times [s], (N,); at once where it offers `sample_many`."""
    many = getattr(trajectory, 'sample_many', None)
    if many is not None:
        samples: Samples = many(times)
        return samples
    zero = np.zeros(trajectory.n)
    rows = [trajectory.sample(float(t)) for t in times]
    return Samples(times, np.array([r.q for r in rows]), np.array([r.dq for r in rows]),
                   np.array([r.ddq for r in rows]),
                   np.array([zero if r.jerk is None else r.jerk for r in rows]))
