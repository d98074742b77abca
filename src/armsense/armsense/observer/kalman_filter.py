"""Kalman filter on momentum and disturbance, as a filter of the raw external torque.

    p' = tau + beta + d + w_p        momentum, driven by a disturbance d
    d' = w_d                         the disturbance is a random walk: the residual is its estimate
    z  = p + v                       momentum measured through position and velocity

With the momentum error e = p_estimate - z the model terms cancel, so the filter needs only the raw
external torque of each step, as the other filters do. Joints are independent of one another.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
import scipy.linalg

from armsense.errors import BadValue
from armsense.model import Arm
from armsense.observer.residual_filter import gain_vector
from armsense.types import Array

_SAME_PERIOD = 0.02  # relative deviation of dt below which the steady gain is used


class KalmanFilter:
    """Steady-state gain at the nominal period; another step length gets its own gain."""

    def __init__(
        self,
        momentum_noise: ArrayLike,
        disturbance_rate: ArrayLike,
        period: float,
        torque_noise: ArrayLike = 0.0,
    ) -> None:
        """Noise per joint.

        Args:
            momentum_noise: Standard deviation of one momentum sample [Nm s], (n,).
            disturbance_rate: Drift of the disturbance in one second [Nm/sqrt(s)], (n,).
            period: Nominal sampling period [s].
            torque_noise: Density of white torque noise [Nm sqrt(s)], scalar or (n,).
        """
        self._R = gain_vector('momentum_noise', momentum_noise) ** 2
        self.n = len(self._R)
        rate = gain_vector('disturbance_rate', disturbance_rate)
        self._Qd = np.broadcast_to(rate, self.n).astype(float) ** 2
        self._Qp = np.broadcast_to(np.asarray(torque_noise, float), self.n) ** 2
        if not period > 0.0:
            raise BadValue('period', period, '> 0 s')
        self._period = period
        self._P = self._steady_covariance(period)  # (n, 2, 2) after a measurement
        self.gains = self._gains(period)  # (2, n): momentum [-], disturbance [1/s]
        self._steady: list[list[float]] = self.gains.tolist()
        self._error = [0.0] * self.n  # [Nm s] estimated minus measured momentum
        self._residual = [0.0] * self.n  # [Nm]

    @classmethod
    def of_bandwidth(cls, gain: ArrayLike, period: float) -> KalmanFilter:
        """The filter whose poles are of Butterworth kind at `gain` [1/s] for short periods."""
        gain = gain_vector('gain', gain)
        # Only the ratio of the noises matters: gain^2 = rate / (noise sqrt(period)).
        return cls(np.ones_like(gain), gain**2 * np.sqrt(period), period)

    def step(self, raw: Array, dt: float) -> Array:
        """See ResidualFilter."""
        gain_p, gain_d = self._steady
        if abs(dt - self._period) > _SAME_PERIOD * self._period:
            gain_p, gain_d = self._gains(dt).tolist()
        error, residual = [], []
        # For a handful of joints a plain loop is faster than numpy.
        for e, r, x, kp, kd in zip(self._error, self._residual, raw.tolist(), gain_p, gain_d,
                                   strict=True):
            e += dt * (r - x)  # predicted minus measured momentum
            error.append(e - kp * e)
            residual.append(r - kd * e)
        self._error, self._residual = error, residual
        return np.array(residual)

    def reset(self) -> None:
        """Back to zero."""
        self._error = [0.0] * self.n
        self._residual = [0.0] * self.n

    def _steady_covariance(self, dt: float) -> Array:
        A, H = np.array([[1.0, dt], [0.0, 1.0]]), np.array([[1.0, 0.0]])
        P = np.empty((self.n, 2, 2))
        for j in range(self.n):
            # Scaled to unit measurement noise, for a well-conditioned Riccati equation.
            Q = self._process_noise(dt)[:, :, j] / self._R[j]
            prior = scipy.linalg.solve_discrete_are(A.T, H.T, Q, np.eye(1))
            K = prior @ H.T / (H @ prior @ H.T + 1.0)
            P[j] = (prior - K @ H @ prior) * self._R[j]
        return P

    def _process_noise(self, dt: float) -> Array:
        """Of momentum and disturbance over one step, (2, 2, n)."""
        Qp, Qd = self._Qp, self._Qd
        return np.array([[Qp * dt + Qd * dt**3 / 3.0, Qd * dt**2 / 2.0],
                         [Qd * dt**2 / 2.0, Qd * dt]])

    def _gains(self, dt: float) -> Array:
        """Optimal gains of one step of length `dt` out of the steady state, (2, n)."""
        P, Q = self._P, self._process_noise(dt)
        pp = P[:, 0, 0] + 2.0 * dt * P[:, 0, 1] + dt**2 * P[:, 1, 1] + Q[0, 0]
        pd = P[:, 0, 1] + dt * P[:, 1, 1] + Q[0, 1]
        return np.asarray(np.stack([pp, pd]) / (pp + self._R))


def momentum_noise(model: Arm, q: Array, velocity_noise: ArrayLike) -> Array:
    """Standard deviation of p = M(q) dq [Nm s] for independent velocity noise [rad/s], (n,)."""
    M = model.mass_matrix(q)
    sigma = np.broadcast_to(np.asarray(velocity_noise, float), model.n)
    return np.asarray(np.sqrt(M**2 @ sigma**2))
