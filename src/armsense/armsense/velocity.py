"""Velocity by exponentially weighted regression over the last samples (thesis 000, section 5.3).

A polynomial is fitted to the last m positions with weights exp(-age / time_constant); its slope at
the newest sample is the velocity. Of degree one (the thesis) it lags by the samples' mean age; of
degree two it does not lag under constant acceleration, is noisier, and gives the acceleration.
"""

import math

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from armsense.errors import BadValue
from armsense.types import Array

_SAME_PERIOD = 1e-6  # relative deviation of dt up to which the prepared weights hold
_MAX_GAP = 0.05, 3  # [s], periods: the longer is bridged


def clock_jumped(dt: float) -> bool:
    """Whether `dt` [s] cannot be the time between two samples."""
    return not 0.0 <= dt < math.inf


def regression_weights(ages: Array, time_constant: float, degree: int = 1) -> Array:
    """Factors that turn positions into velocity [1/s] and acceleration [1/s^2], (degree, m).

    Both are those at age zero. Samples have distinct ages [s], (m,), and count 1/e at the age of
    the time constant; the degree of the polynomial is lowered where there are too few of them.
    """
    out = np.zeros((degree, len(ages)))
    if len(ages) < 2:
        return out
    t = -ages
    w = np.exp(t / time_constant)
    w /= w.sum()
    # Orthogonal polynomials under the weights: phi1 = t - mean, phi2 = t^2 - b phi1 - mean(t^2).
    phi1 = t - w @ t
    weighted1 = w * phi1
    norm1 = weighted1 @ phi1
    out[0] = weighted1 / norm1
    if degree == 2 and len(ages) > 2:
        b = weighted1 @ t**2 / norm1
        phi2 = t**2 - b * phi1 - w @ t**2
        weighted2 = w * phi2
        curvature = weighted2 / (weighted2 @ phi2)
        out[0] -= b * curvature  # slope of phi2 at age zero
        out[1] = 2.0 * curvature
    return out


class WeightedRegression:
    """Exact for any sampling: a sample late or lost gets weights computed for its times.

    The first sample gives zero. A sample with NaN counts as lost: the velocity keeps its value and
    the next step takes the whole time since the last good sample. A dt that is negative or no
    number (the clock was set, a bag begins anew) says nothing about the samples before: they are
    forgotten, and the velocity keeps its value for that sample.

    A pause longer than `max_gap` is not bridged, for the samples before it tell nothing about the
    motion after it: the sample that ends it gives the mean velocity of the pause, the next ones
    the regression over what has come since.
    """

    def __init__(self, n: int, window: int = 20, period: float = 1e-3,
                 time_constant: float | None = None, degree: int = 1,
                 max_gap: float | None = None) -> None:
        """For n joints, over so many samples at a nominal period [s].

        A sample counts 1/e at the age of the time constant [s], None: half the window. Degree 2
        gives the acceleration too. Pauses are bridged up to `max_gap` [s], None: 0.05 s, or three
        periods.
        """
        if window < degree + 1 or degree not in (1, 2):
            raise BadValue('window, degree', (window, degree), 'degree 1 or 2, window > degree')
        self._time_constant = 0.5 * window * period if time_constant is None else time_constant
        if not (period > 0.0 and self._time_constant > 0.0):
            raise BadValue('period, time_constant', (period, time_constant), '> 0 s')
        self._n, self.window, self.period, self._degree = n, window, period, degree
        self._max_gap = max(_MAX_GAP[0], _MAX_GAP[1] * period) if max_gap is None else max_gap
        # Newest first in `ages`, oldest first in the buffer: the weights are stored reversed.
        ages = period * np.arange(window, dtype=np.float64)
        self._nominal = regression_weights(ages, self._time_constant, degree)[:, ::-1].copy()
        self.reset()
        self._missing = 0  # samples until the window is full again after a gap or reset

    @property
    def settled(self) -> bool:
        """Whether a whole window has come since the last gap or reset; a new filter is."""
        return self._missing == 0

    def reset(self) -> None:
        self._forget()
        self.velocity = np.zeros(self._n)

    def _forget(self) -> None:
        # Each sample is written twice, so that the last `window` are always contiguous.
        self._positions = np.zeros((2 * self.window, self._n))
        self._times = np.zeros(2 * self.window)
        self._head = self._count = self._regular = 0
        self._time = self._elapsed = 0.0
        self._missing = self.window
        self.acceleration: Array | None = np.zeros(self._n) if self._degree == 2 else None

    def step(self, position: Array, dt: float) -> Array:
        """Velocity [rad/s], (n,), `dt` seconds after the sample before."""
        if clock_jumped(dt):
            self._forget()
            dt = 0.0
        self._elapsed += dt
        if not math.isfinite(position.sum()) or (self._count and self._elapsed <= 0.0):
            return self.velocity
        if self._count and self._elapsed > self._max_gap:
            self.velocity = (position - self._last(self._positions)[-1]) / self._elapsed
            self._forget()
        self._append(position)
        if self._count >= 2:
            derivatives = self._weights() @ self._last(self._positions)
            self.velocity = derivatives[0]
            if self._degree == 2:
                self.acceleration = derivatives[1]
        return self.velocity

    def batch(self, positions: Array) -> Array:
        """Velocities of samples at the nominal period (N, n), from the first full window on.

        [rad/s], (N - window + 1, n); bit for bit what `step` gives.
        """
        windows = sliding_window_view(positions, self.window, axis=0).transpose(0, 2, 1)
        return np.asarray((self._nominal @ windows)[:, 0])

    @property
    def weights(self) -> Array:
        """Velocity = weights @ positions at the nominal period, newest first [1/s], (window,)."""
        return self._nominal[0, ::-1]

    @property
    def delay(self) -> float:
        """Lag under constant acceleration [s]: of x = t^2 / 2 the filter shows t - delay."""
        ages = self.period * np.arange(self.window)
        return -0.5 * float(self.weights @ ages**2)

    def _append(self, position: Array) -> None:
        regular = abs(self._elapsed - self.period) <= _SAME_PERIOD * self.period
        self._regular = self._regular + 1 if regular else 0
        self._time += self._elapsed
        self._elapsed = 0.0
        for row in (self._head, self._head + self.window):
            self._positions[row] = position
            self._times[row] = self._time
        self._head = (self._head + 1) % self.window
        self._count = min(self._count + 1, self.window)
        if self._missing:
            self._missing -= 1

    def _last(self, buffer: Array) -> Array:
        """The samples in hand, oldest first."""
        end = self._head + self.window
        return buffer[end - self._count:end]

    def _weights(self) -> Array:
        if self._count == self.window and self._regular >= self.window - 1:
            return self._nominal
        ages = self._time - self._last(self._times)
        return regression_weights(ages, self._time_constant, self._degree)
