"""Filters between the raw external torque and the residual: low passes, and a Kalman filter.

The low passes are exact for an input that is constant over the step, whatever its length.
"""

from __future__ import annotations

import cmath
import math
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
import scipy.linalg
import scipy.signal

from armsense.errors import BadValue
from armsense.model import Arm
from armsense.types import Array

ComplexArray = NDArray[np.complex128]
Mode = list[tuple[float, float]]  # real and imaginary part, per joint
_SAME_PERIOD = 0.02  # relative deviation of dt below which the steady gain is used


class ResidualFilter(Protocol):
    """Raw external torque of a step -> residual at its end."""

    n: int

    def step(self, raw: Array, dt: float) -> Array:
        """Residual after `dt` seconds of the mean torque `raw` [Nm], a new array (n,)."""

    def reset(self) -> None:
        """Back to zero."""


class FirstOrderFilter:
    """r' = K (tau_ext - r): the residual of thesis 000, eq. 5.9."""

    def __init__(self, gain: ArrayLike) -> None:
        """Args: gain: K [1/s] per joint, (n,)."""
        self.gain = gain_vector('gain', gain)
        self.n = len(self.gain)
        self._uniform = bool((self.gain == self.gain[0]).all())
        self._rate = float(self.gain[0])
        self._residual = np.zeros(self.n)
        self._dt = math.nan
        self._decay = np.empty(self.n)  # exp(-K dt) of the last dt

    def step(self, raw: Array, dt: float) -> Array:
        if dt != self._dt:
            self._set_step(dt)
        residual = self._residual - raw
        residual *= self._decay
        residual += raw
        self._residual = residual
        return residual

    def reset(self) -> None:
        self._residual = np.zeros(self.n)

    def _set_step(self, dt: float) -> None:
        self._dt = dt
        if self._uniform:  # a scalar exponential costs a tenth of numpy's
            self._decay.fill(math.exp(-dt * self._rate))
        else:
            np.exp(-dt * self.gain, out=self._decay)


class HigherOrderFilter:
    """Low pass with placed poles s_i: r = prod(-s_i) / prod(s - s_i) tau_ext.

    Kept in modal form, z_i' = s_i (z_i - tau_ext) with one complex state per pole pair and joint,
    so that any step length is exact at the price of one exponential.
    """

    def __init__(self, poles: ArrayLike, gain: ArrayLike) -> None:
        """Distinct poles for gain 1, stable, in conjugate pairs; gain on them [1/s], (n,)."""
        poles = _checked_poles(poles)
        self.gain = gain_vector('gain', gain)
        self.n = len(self.gain)
        self.order = len(poles)
        upper = [complex(s) for s in poles if s.imag >= 0.0]
        uniform = bool((self.gain == self.gain[0]).all())
        gains = self.gain.tolist()
        self._rates = [[s * gains[0]] if uniform else [s * k for k in gains] for s in upper]
        # Contribution of each mode; that of a conjugate pair is twice the real part of one.
        self._shares = [_residue(poles, s) / -s * (2.0 if s.imag > 0.0 else 1.0) for s in upper]
        self._dt = math.nan
        self._decays: list[list[complex]] = []  # exp(s_i dt) of the last dt, per mode and joint
        self._modes: list[Mode] = []
        self.reset()

    @classmethod
    def bessel(cls, order: int, gain: ArrayLike) -> HigherOrderFilter:
        """Bessel poles: delay 1/gain, as of first order."""
        _, poles, _ = scipy.signal.besselap(order, norm='delay')
        return cls(poles, gain)

    def step(self, raw: Array, dt: float) -> Array:
        if dt != self._dt:
            self._set_step(dt)
        values = raw.tolist()
        residual = [0.0] * self.n
        # For a handful of joints plain numbers are faster than numpy.
        for k, (mode, decay, share) in enumerate(
                zip(self._modes, self._decays, self._shares, strict=True)):
            if share.imag:
                residual, self._modes[k] = _step_pair(residual, mode, decay, share, values)
            else:
                residual, self._modes[k] = _step_real(residual, mode, decay, share, values)
        return np.array(residual)

    def reset(self) -> None:
        self._modes = [[(0.0, 0.0)] * self.n for _ in self._shares]

    def _set_step(self, dt: float) -> None:
        self._dt = dt
        self._decays = [[cmath.exp(rate * dt) for rate in rates] * (self.n // len(rates))
                        for rates in self._rates]


def gain_vector(what: str, values: ArrayLike) -> Array:
    """Positive finite values per joint, (n,)."""
    array = np.atleast_1d(np.asarray(values, float))
    if array.ndim != 1 or not (np.isfinite(array) & (array > 0.0)).all():
        raise BadValue(what, np.asarray(values).tolist(), 'positive and finite, one per joint')
    return array


def _checked_poles(poles: ArrayLike) -> ComplexArray:
    array = np.atleast_1d(np.asarray(poles, complex))
    shown = [complex(s) for s in array]
    if not (np.isfinite(array) & (array.real < 0.0)).all():
        raise BadValue('poles', shown, 'in the left half plane')
    if not np.allclose(np.sort_complex(array), np.sort_complex(array.conj()), atol=1e-9):
        raise BadValue('poles', shown, 'real or in conjugate pairs')
    distance = np.abs(array[:, None] - array)[~np.eye(len(array), dtype=bool)]
    if np.min(distance, initial=np.inf) < 1e-3 * np.abs(array).max():
        raise BadValue('poles', shown, 'distinct (spread repeated poles a little)')
    return np.asarray(np.where(np.abs(array.imag) < 1e-9, array.real, array))


def _residue(poles: ComplexArray, pole: complex) -> complex:
    """Of prod(-s_i) / prod(s - s_i) at one pole."""
    others = poles[poles != pole]
    return complex(np.prod(-poles) / np.prod(pole - others))


def _step_pair(residual: list[float], mode: Mode, decay: list[complex], share: complex,
               raw: list[float]) -> tuple[list[float], Mode]:
    """Residuals with the part of one complex mode, z = raw + decay (z - raw), and that mode."""
    sums, states = [], []
    share_re, share_im = share.real, share.imag
    for r, (re, im), a, x in zip(residual, mode, decay, raw, strict=True):
        c, s, d = a.real, a.imag, re - x
        re = x + c * d - s * im
        im = s * d + c * im
        states.append((re, im))
        sums.append(r + share_re * re - share_im * im)
    return sums, states


def _step_real(residual: list[float], mode: Mode, decay: list[complex], share: complex,
               raw: list[float]) -> tuple[list[float], Mode]:
    """The same for a real pole."""
    states = [(x + (re - x) * a.real, 0.0)
              for (re, _), a, x in zip(mode, decay, raw, strict=True)]
    gain = share.real
    return [r + gain * re for r, (re, _) in zip(residual, states, strict=True)], states


class KalmanFilter:
    """Kalman filter on momentum and disturbance, as a filter of the raw external torque.

        p' = tau + beta + d     momentum, driven by a disturbance d
        d' = w_d                a random walk: the residual is its estimate
        z  = p + v              momentum measured through position and velocity

    With the momentum error e = p_estimate - z the model terms cancel, so the filter needs only the
    raw external torque of each step, as the other filters do. Joints are independent of one
    another. The gain is the steady one of the nominal period; another step gets its own.
    """

    def __init__(self, momentum_noise: ArrayLike, disturbance_rate: ArrayLike,
                 period: float) -> None:
        """For a nominal sampling period [s].

        Standard deviation of one momentum sample [Nm s] and drift of the disturbance in one second
        [Nm/sqrt(s)], (n,) each.
        """
        self._R = gain_vector('momentum_noise', momentum_noise) ** 2
        self.n = len(self._R)
        rate = gain_vector('disturbance_rate', disturbance_rate)
        self._Qd = np.broadcast_to(rate, self.n).astype(float) ** 2
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
        Qd = self._Qd
        return np.array([[Qd * dt**3 / 3.0, Qd * dt**2 / 2.0], [Qd * dt**2 / 2.0, Qd * dt]])

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
