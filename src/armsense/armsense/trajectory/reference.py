"""What every trajectory offers, and the simplest of them: a sum of harmonics."""

import math
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

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


class Fourier:
    """q = center + sum_k a_k sin(k w t) + b_k cos(k w t), w = 2 pi frequency (`Trajectory`)."""

    def __init__(self, center: ArrayLike, sines: ArrayLike, cosines: ArrayLike, frequency: float,
                 duration: float) -> None:
        """Centre, (n,), sines a and cosines b, (K, n), [rad]; first harmonic [Hz], length [s]."""
        self._center = np.asarray(center, float)
        self.duration, self.n = duration, len(self._center)
        w = 2.0 * math.pi * frequency * np.arange(1, len(np.asarray(sines)) + 1)   # (K,)
        self._w = w
        amplitudes = np.vstack([sines, cosines])                                   # (2 K, n)
        turned = np.vstack([-np.asarray(cosines, float), np.asarray(sines, float)])
        scale = np.concatenate([w, w])[:, None]
        # Each derivative turns sine into cosine and multiplies by the frequency.
        self._table = np.hstack([amplitudes, turned * scale, -amplitudes * scale**2,
                                 -turned * scale**3, amplitudes * scale**4])        # (2 K, 5 n)

    def sample(self, t: float) -> Reference:
        """The motion at time t [s]; it is periodic and does not rest at its ends."""
        phase = self._w * t
        values = np.concatenate([np.sin(phase), np.cos(phase)]) @ self._table
        q, dq, ddq, jerk, snap = values.reshape(5, -1)
        return Reference(self._center + q, dq, ddq, jerk, snap)
