"""Velocity by exponentially weighted regression over the last samples (thesis 000, section 5.3).

A polynomial is fitted to the last m positions with weights exp(-age / time_constant); its slope at
the newest sample is the velocity. Of degree one (the thesis) it lags by the samples' mean age; of
degree two it does not lag under constant acceleration, is noisier, and gives the acceleration.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from armsense.errors import BadValue
from armsense.types import Array


class VelocityFilter(Protocol):
    """Positions in, velocities out, one call per sample.

    The first sample gives zero. A sample with NaN counts as lost: the velocity keeps its value and
    the next step takes the whole time since the last good sample. Time between samples may vary.
    A dt that is negative or no number (the clock was set, a bag begins anew) says nothing about
    the samples before: they are forgotten, and the velocity keeps its value for that sample.
    """

    velocity: Array  # [rad/s], (n,)
    acceleration: Array | None  # [rad/s^2], (n,); None: not estimated

    def step(self, position: Array, dt: float) -> Array:
        """Velocity [rad/s], (n,), `dt` seconds after the sample before."""

    def reset(self) -> None:
        """Forget all samples."""

    def characteristics(self) -> Characteristics:
        """Delay and noise at the nominal period."""


def clock_jumped(dt: float) -> bool:
    """Whether `dt` [s] cannot be the time between two samples."""
    return not 0.0 <= dt < math.inf


class Characteristics(NamedTuple):
    """What a velocity estimate costs, at a constant period.

    `delay` is the lag behind the true velocity under constant acceleration; `half_response` is the
    time until half of a sudden change of velocity shows; `noise_gain` times the standard deviation
    of independent position noise is that of the velocity. An encoder of step size s, crossed fast
    enough, has a noise of s / sqrt(12).
    """

    delay: float  # [s]
    half_response: float  # [s]
    noise_gain: float  # [1/s]


def fir_characteristics(weights: Array, period: float) -> Characteristics:
    """Of velocity(t) = sum_k weights[k] * position(t - k * period), weights (m,) [1/s]."""
    ages = period * np.arange(len(weights))
    # Of x = t^2 / 2 the filter shows t - delay.
    delay = -0.5 * float(weights @ ages**2)
    # Of x = max(t, 0) it shows at t = k period: sum_j weights[j] (k - j) period, j <= k.
    steps = np.arange(1, len(weights) + 1)
    ramp = np.array([weights[:k] @ (k * period - ages[:k]) for k in steps])
    half_response = float(np.interp(0.5, np.maximum.accumulate(np.append(0.0, ramp)),
                                    period * np.append(0, steps)))
    return Characteristics(delay, half_response, float(np.linalg.norm(weights)))


_SAME_PERIOD = 1e-6  # relative deviation of dt up to which the prepared weights hold
_MAX_GAP = 0.05, 3  # [s], periods: the longer is bridged


def regression_weights(ages: Array, time_constant: float, degree: int = 1) -> Array:
    """Factors that turn positions into derivatives at age zero.

    Args:
        ages: Time since each sample [s], (m,), distinct.
        time_constant: Age at which a sample counts 1/e [s].
        degree: Of the polynomial; lowered where there are too few samples.

    Returns:
        (degree, m): row 0 gives the velocity [1/s], row 1 the acceleration [1/s^2].
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

    A pause longer than `max_gap` is not bridged, for the samples before it tell nothing about the
    motion after it: the sample that ends it gives the mean velocity of the pause, the next ones
    the regression over what has come since.
    """

    def __init__(
        self, n: int, window: int = 20, period: float = 1e-3,
        time_constant: float | None = None, degree: int = 1, max_gap: float | None = None,
    ) -> None:
        """For n joints.

        Args:
            n: Number of joints.
            window: Number of samples, newest included.
            period: Nominal sampling period [s].
            time_constant: Age at which a sample counts 1/e [s]; None: half the window.
            degree: 1, or 2 for the acceleration too.
            max_gap: Longest pause that is bridged [s]; None: 0.05 s, or three periods.
        """
        if window < degree + 1 or degree not in (1, 2):
            raise BadValue('window, degree', (window, degree), 'degree 1 or 2, window > degree')
        self._time_constant = 0.5 * window * period if time_constant is None else time_constant
        if not (period > 0.0 and self._time_constant > 0.0):
            raise BadValue('period, time_constant', (period, time_constant), '> 0 s')
        self._n, self._window, self._period, self._degree = n, window, period, degree
        self.window, self.period = window, period
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
        """Forget all samples."""
        self._forget()
        self.velocity = np.zeros(self._n)

    def _forget(self) -> None:
        # Each sample is written twice, so that the last `window` are always contiguous.
        self._positions = np.zeros((2 * self._window, self._n))
        self._times = np.zeros(2 * self._window)
        self._head = self._count = self._regular = 0
        self._time = self._elapsed = 0.0
        self._missing = self._window
        self.acceleration: Array | None = np.zeros(self._n) if self._degree == 2 else None

    def step(self, position: Array, dt: float) -> Array:
        """See VelocityFilter."""
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

        Returns:
            [rad/s], (N - window + 1, n); bit for bit what `step` gives.
        """
        windows = sliding_window_view(positions, self._window, axis=0).transpose(0, 2, 1)
        return np.asarray((self._nominal @ windows)[:, 0])

    def characteristics(self) -> Characteristics:
        """See VelocityFilter."""
        return fir_characteristics(self._nominal[0, ::-1], self._period)

    def _append(self, position: Array) -> None:
        regular = abs(self._elapsed - self._period) <= _SAME_PERIOD * self._period
        self._regular = self._regular + 1 if regular else 0
        self._time += self._elapsed
        self._elapsed = 0.0
        for row in (self._head, self._head + self._window):
            self._positions[row] = position
            self._times[row] = self._time
        self._head = (self._head + 1) % self._window
        self._count = min(self._count + 1, self._window)
        if self._missing:
            self._missing -= 1

    def _last(self, buffer: Array) -> Array:
        """The samples in hand, oldest first."""
        end = self._head + self._window
        return buffer[end - self._count:end]

    def _weights(self) -> Array:
        if self._count == self._window and self._regular >= self._window - 1:
            return self._nominal
        ages = self._time - self._last(self._times)
        return regression_weights(ages, self._time_constant, self._degree)
