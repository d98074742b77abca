"""Filters between the raw external torque and the residual: low passes of order one and more.

Each is exact for an input that is constant over the step, whatever the step's length.
"""

from __future__ import annotations

import cmath
import math
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
import scipy.signal

from armsense.errors import BadValue, UnknownName
from armsense.types import Array

ComplexArray = NDArray[np.complex128]

FAMILIES = ('bessel', 'butterworth')


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
        """See ResidualFilter."""
        if dt != self._dt:
            self._set_step(dt)
        residual = self._residual - raw
        residual *= self._decay
        residual += raw
        self._residual = residual
        return residual

    def reset(self) -> None:
        """Back to zero."""
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
        """Place poles.

        Args:
            poles: For gain 1, all in the left half plane, in conjugate pairs, distinct.
            gain: Factor on the poles [1/s] per joint, (n,).
        """
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
        self._modes: list[list[tuple[float, float]]] = []  # real and imaginary part
        self.reset()

    @classmethod
    def of_family(cls, order: int, gain: ArrayLike, family: str = 'bessel') -> HigherOrderFilter:
        """Bessel poles (delay 1/gain, as of first order) or Butterworth (-3 dB at the gain)."""
        if family not in FAMILIES:
            raise UnknownName('filter family', family, FAMILIES)
        if not 2 <= order <= 8:
            raise BadValue('order', order, '2 ... 8')
        if family == 'bessel':
            _, poles, _ = scipy.signal.besselap(order, norm='delay')
        else:
            _, poles, _ = scipy.signal.buttap(order)
        return cls(poles, gain)

    def step(self, raw: Array, dt: float) -> Array:
        """See ResidualFilter."""
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
        """Back to zero."""
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


def _step_pair(
    residual: list[float], mode: list[tuple[float, float]], decay: list[complex],
    share: complex, raw: list[float],
) -> tuple[list[float], list[tuple[float, float]]]:
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


def _step_real(
    residual: list[float], mode: list[tuple[float, float]], decay: list[complex],
    share: complex, raw: list[float],
) -> tuple[list[float], list[tuple[float, float]]]:
    """The same for a real pole."""
    states = [(x + (re - x) * a.real, 0.0)
              for (re, _), a, x in zip(mode, decay, raw, strict=True)]
    gain = share.real
    return [r + gain * re for r, (re, _) in zip(residual, states, strict=True)], states
