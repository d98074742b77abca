"""Other ways to a velocity, to compare with the regression: difference, low pass, Kalman."""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

import numpy as np
import scipy.linalg

from armsense.errors import BadValue
from armsense.types import Array
from armsense.velocity import clock_jumped, WeightedRegression

_UNKNOWN = (50.0, 500.0)  # velocity [rad/s], acceleration [rad/s^2]: prior at the first sample
_CONVERGED = 1e-9  # relative change of the gain
_SAME_PERIOD = 0.05  # relative deviation of dt up to which the steady gain is used


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


class Regression(WeightedRegression):
    """That of the product, with what it costs."""

    def characteristics(self) -> Characteristics:
        """See VelocityFilter."""
        return fir_characteristics(self.weights, self.period)


class BackwardDifference:
    """(x_k - x_{k-1}) / dt: half a period late, and as noisy as can be."""

    acceleration: Array | None = None

    def __init__(self, n: int, period: float = 1e-3, time_constant: float = 0.0) -> None:
        """For n joints.

        Args:
            n: Number of joints.
            period: Nominal sampling period [s].
            time_constant: Of the low pass behind the difference [s]; 0: none.
        """
        if not (period > 0.0 and time_constant >= 0.0):
            raise BadValue('period, time_constant', (period, time_constant), '> 0 s, >= 0 s')
        self._n, self._period, self._time_constant = n, period, time_constant
        self.reset()

    def reset(self) -> None:
        """Forget all samples."""
        self.velocity = np.zeros(self._n)
        self._position: Array | None = None
        self._elapsed = 0.0

    def step(self, position: Array, dt: float) -> Array:
        """See VelocityFilter."""
        if clock_jumped(dt):
            self._position, self._elapsed, dt = None, 0.0, 0.0
        self._elapsed += dt
        if not math.isfinite(position.sum()):
            return self.velocity
        if self._position is not None and self._elapsed > 0.0:
            slope = (position - self._position) / self._elapsed
            self.velocity = self.velocity + self._share(self._elapsed) * (slope - self.velocity)
        self._position, self._elapsed = position.copy(), 0.0
        return self.velocity

    def characteristics(self) -> Characteristics:
        """See VelocityFilter."""
        share = self._share(self._period)
        length = 2 if share == 1.0 else 2 + math.ceil(40.0 / share)  # until exp(-40)
        lag = share * (1.0 - share) ** np.arange(length - 1)
        weights = (np.append(lag, 0.0) - np.append(0.0, lag)) / self._period
        return fir_characteristics(weights, self._period)

    def _share(self, dt: float) -> float:
        """Weight of the new slope."""
        return -math.expm1(-dt / self._time_constant) if self._time_constant > 0.0 else 1.0


class KalmanVelocity:
    """Constant acceleration, driven by white jerk; one filter for all joints.

    The covariance runs until its gain stands still, so a start in motion settles as fast as the
    data allow; a late or lost sample takes it up again. No lag under constant acceleration.
    """

    def __init__(
        self, n: int, period: float = 1e-3, position_noise: float = 1e-4, jerk: float = 200.0,
    ) -> None:
        """For n joints.

        Args:
            n: Number of joints.
            period: Nominal sampling period [s].
            position_noise: Standard deviation of a position [rad]; step / sqrt(12) of an encoder.
            jerk: Change of acceleration in one second [rad/s^2 / sqrt(s)].
        """
        if min(period, position_noise, jerk) <= 0.0:
            raise BadValue('period, position_noise, jerk', (period, position_noise, jerk), '> 0')
        self._n, self._period, self._R, self._q = n, period, position_noise**2, jerk**2
        self._A = _transition(period)
        self.reset()

    def reset(self) -> None:
        """Forget all samples."""
        self._state = np.zeros((3, self._n))  # position, velocity, acceleration
        self._forget()

    def _forget(self) -> None:
        self._P = np.diag([self._R, _UNKNOWN[0] ** 2, _UNKNOWN[1] ** 2])
        self._gain = np.zeros(3)
        self._steady = self._started = False
        self._elapsed = 0.0

    @property
    def velocity(self) -> Array:
        """[rad/s], (n,)."""
        return np.asarray(self._state[1])

    @property
    def acceleration(self) -> Array | None:
        """[rad/s^2], (n,)."""
        return np.asarray(self._state[2])

    def step(self, position: Array, dt: float) -> Array:
        """See VelocityFilter."""
        if clock_jumped(dt):
            self._forget()
            self._state[2] = dt = 0.0
        self._elapsed += dt
        if not math.isfinite(position.sum()) or (self._started and self._elapsed <= 0.0):
            return self.velocity
        if not self._started:
            self._state[0] = position
            self._started, self._elapsed = True, 0.0
            return self.velocity
        dt, self._elapsed = self._elapsed, 0.0
        regular = abs(dt - self._period) <= _SAME_PERIOD * self._period
        A = self._A if dt == self._period else _transition(dt)
        if not (regular and self._steady):
            self._update_gain(A, self._process_noise(dt), regular)
        predicted = A @ self._state
        self._state = predicted + np.outer(self._gain, position - predicted[0])
        return self.velocity

    def characteristics(self) -> Characteristics:
        """See VelocityFilter. Delay: none, the model contains the constant acceleration."""
        gain = self._steady_gain()
        F = self._A - np.outer(gain, self._A[0])  # state from state
        # In units of the period, for a well-conditioned Lyapunov equation.
        scale = self._period ** np.arange(3)
        scaled = F * scale[:, None] / scale
        covariance = scipy.linalg.solve_discrete_lyapunov(scaled, np.outer(gain, gain)
                                                          * np.outer(scale, scale))
        noise_gain = math.sqrt(covariance[1, 1]) / self._period
        return Characteristics(0.0, self._half_response(F, gain), noise_gain)

    def _half_response(self, F: Array, gain: Array) -> float:
        state, shown = np.zeros(3), 0.0
        for k in range(1, 100_000):
            state = F @ state + gain * k * self._period
            if state[1] >= 0.5:
                part = (0.5 - shown) / (state[1] - shown)
                return float((k - 1 + part) * self._period)
            shown = state[1]
        return math.inf

    def _steady_gain(self) -> Array:
        # In units of the measurement noise and of the period the Riccati equation is well scaled.
        scale = np.diag(self._period ** np.arange(3))
        A = np.array([[1.0, 1.0, 0.5], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]])
        Q = scale @ self._process_noise(self._period) @ scale / self._R
        P = scipy.linalg.solve_discrete_are(A.T, np.eye(3)[:, :1], Q, np.eye(1))
        return np.asarray(P[:, 0] / (P[0, 0] + 1.0) / np.diag(scale))

    def _process_noise(self, dt: float) -> Array:
        return self._q * np.array([[dt**5 / 20, dt**4 / 8, dt**3 / 6],
                                   [dt**4 / 8, dt**3 / 3, dt**2 / 2],
                                   [dt**3 / 6, dt**2 / 2, dt]])

    def _update_gain(self, A: Array, Q: Array, regular: bool) -> None:
        P = A @ self._P @ A.T + Q
        gain = P[:, 0] / (P[0, 0] + self._R)
        P = P - np.outer(gain, P[0])
        self._P = 0.5 * (P + P.T)
        self._steady = regular and bool(np.allclose(gain, self._gain, rtol=_CONVERGED, atol=0.0))
        self._gain = gain


def _transition(dt: float) -> Array:
    """State after `dt` of constant acceleration."""
    return np.array([[1.0, dt, 0.5 * dt**2], [0.0, 1.0, dt], [0.0, 0.0, 1.0]])
