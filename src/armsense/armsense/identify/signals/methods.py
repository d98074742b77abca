"""Positions, velocities and accelerations without noise, by one of several methods.

`filter`: zero-phase Butterworth low-pass, central differences; from measured velocities too.
`spectral`: rectangular window and j omega in the frequency domain (thesis 004, section 3.5).
`fourier`: least-squares Fourier series of a periodic motion (Swevers et al. 1997; paper 002, eqs.
11-14), which takes out all noise between the harmonics.
`spline`: least-squares splines with knots at the band's resolution (thesis 000, section 4.3.2).

Both of the last are sums of known functions, q(t) = B(t) delta. Periods may be averaged first:

    x_mean(k) = 1/S sum_j x_j(k),    var(k) = 1/(S (S - 1)) sum_j (x_j(k) - x_mean(k))^2

over S periods (thesis 000, eqs. 4.45-4.46; the document prints q twice in 4.45). The variance is
that of the mean.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import interpolate

from armsense.errors import ArmsenseError, BadValue
from armsense.identify.signals.filters import Motion, motion
from armsense.identify.signals.recording import find_period, Recording
from armsense.types import Array

DEGREE = 5       # of the splines: accelerations are smooth twice
LEAST_GAIN = 1.2   # of the squared misfit that a further harmonic is worth, over chance


def spectral_motion(recording: Recording, cutoff: float, velocity: str) -> Motion:
    """Arguments of this and the others as of `motion`."""
    rate = recording.rate
    q = spectral_filter(recording.q, rate, cutoff)
    if velocity == 'measured' and recording.dq is not None:
        dq = spectral_filter(recording.dq, rate, cutoff)
    else:
        dq = spectral_derivative(q, rate, cutoff)
    return Motion(recording.t, q, dq, spectral_derivative(dq, rate, cutoff), rate)


def fourier_motion(recording: Recording, cutoff: float, velocity: str) -> Motion:
    """From the positions alone."""
    period = find_period(recording)
    if period is None:
        raise ArmsenseError(f'{recording.name}: the motion does not repeat, so it is no Fourier '
                            'series; choose preprocess: filter')
    basis, delta = fitted_series(recording.t, recording.q, period, cutoff)
    return Motion(recording.t, *basis.motion(delta), recording.rate)


def spline_motion(recording: Recording, cutoff: float, velocity: str) -> Motion:
    """From the positions alone."""
    basis, delta = fitted_spline(recording, cutoff)
    return Motion(recording.t, *basis.motion(delta), recording.rate)


METHODS = {'filter': motion, 'spectral': spectral_motion, 'fourier': fourier_motion,
           'spline': spline_motion}


def spectral_derivative(x: Array, rate: float, cutoff: float = np.inf) -> Array:
    """Derivative by multiplication with i omega up to `cutoff` (thesis 004, section 3.5)."""
    slope = (x[-1] - x[0]) / (len(x) - 1)
    return np.asarray(_in_frequency(x, rate, cutoff, lambda w: 1j * w) + slope * rate)


def spectral_filter(x: Array, rate: float, cutoff: float) -> Array:
    """Rectangular window in the frequency domain (thesis 004, section 3.5)."""
    ramp = np.linspace(0.0, 1.0, len(x)).reshape(-1, *[1] * (x.ndim - 1))
    return np.asarray(_in_frequency(x, rate, cutoff, np.ones_like) + x[0] + ramp * (x[-1] - x[0]))


def _in_frequency(x: Array, rate: float, cutoff: float,
                  response: Callable[[Any], NDArray[Any]]) -> Array:
    """A response up to `cutoff` applied to x without the straight line between its ends.

    Without that line the record starts and ends at zero and is continued with the opposite sign,
    so that value and slope stay continuous where the transform closes the circle.
    """
    N = len(x)
    shape = (-1, *[1] * (x.ndim - 1))
    slope = (x[-1] - x[0]) / (N - 1)
    rest = x - x[0] - slope * np.arange(N).reshape(shape)
    circle = np.concatenate([rest, -rest[-2:0:-1]])
    omega = 2.0 * np.pi * np.fft.rfftfreq(len(circle), 1.0 / rate)
    gain = np.where(omega <= 2.0 * np.pi * cutoff, response(omega), 0.0).reshape(shape)
    return np.asarray(np.fft.irfft(np.fft.rfft(circle, axis=0) * gain, len(circle), axis=0)[:N])


class Basis(NamedTuple):
    """Functions at N times, (N, m) each."""

    position: Array
    velocity: Array        # [1/s]
    acceleration: Array    # [1/s^2]

    def fit(self, q: Array) -> Array:
        """Coefficients of the nearest motion, (N, n) -> (m, n)."""
        return np.asarray(np.linalg.lstsq(self.position, q, rcond=None)[0])

    def motion(self, delta: Array) -> tuple[Array, Array, Array]:
        """Position, velocity, acceleration of coefficients, (N, n) each."""
        return self.position @ delta, self.velocity @ delta, self.acceleration @ delta


def fourier_basis(t: Array, period: float, harmonics: int) -> Basis:
    """Constant, cosines and sines of a period [s], m = 2 harmonics + 1."""
    if harmonics < 1 or 2 * harmonics + 1 > len(t):
        raise BadValue('number of harmonics', harmonics, f'>= 1 and <= {(len(t) - 1) // 2}')
    omega = 2.0 * np.pi / period * np.arange(1, harmonics + 1)
    phase = np.multiply.outer(t - t[0], omega)
    c, s = np.cos(phase), np.sin(phase)
    one = np.ones((len(t), 1))
    return Basis(np.hstack([one, c, s]), np.hstack([0.0 * one, -omega * s, omega * c]),
                 np.hstack([0.0 * one, -omega**2 * c, -omega**2 * s]))


def spline_basis(t: Array, spacing: float) -> Basis:
    """B-splines of fifth degree with knots `spacing` seconds apart."""
    if not spacing > 0.0:
        raise BadValue('spacing of knots', spacing, '> 0 s')
    count = max(1, round((t[-1] - t[0]) / spacing))
    knots = np.concatenate([np.full(DEGREE, t[0]), np.linspace(t[0], t[-1], count + 1),
                            np.full(DEGREE, t[-1])])
    spline = interpolate.BSpline(knots, np.eye(count + DEGREE), DEGREE)
    return Basis(spline(t), spline(t, 1), spline(t, 2))


def fitted_spline(recording: Recording, cutoff: float) -> tuple[Basis, Array]:
    """A knot per half period of the cut-off: no faster motion fits between them."""
    basis = spline_basis(recording.t, 0.5 / cutoff)
    return basis, basis.fit(recording.q)


def fitted_series(t: Array, q: Array, period: float, highest: float) -> tuple[Basis, Array]:
    """Basis and coefficients, (m, n), of the Fourier series of a periodic motion, (N, n).

    Harmonics are added while they explain more than chance would, up to `highest` [Hz].
    """
    most = min(max(1, int(highest * period)), (len(t) - 2) // 2)
    full = fourier_basis(t, period, most)
    # Over whole periods the functions are orthogonal; else a joint fit decides.
    power = np.zeros(most)
    delta = full.fit(q)
    rest = np.maximum(np.mean(np.square(q - full.position @ delta), axis=0), 1e-300)
    for k in range(1, most + 1):
        power[k - 1] = np.max(0.5 * len(t) * (delta[k]**2 + delta[most + k]**2) / rest)
    # Each harmonic of noise has 2 degrees of freedom; the strongest of `most` grows with log.
    chance = 2.0 * np.log(max(most * q.shape[1], 2)) * 2.0 * LEAST_GAIN
    used = np.flatnonzero(power > chance)
    harmonics = int(used[-1]) + 1 if len(used) else 1
    basis = fourier_basis(t, period, harmonics)
    return basis, basis.fit(q)


class PeriodAverage(NamedTuple):
    """One period, the mean of S."""

    recording: Recording
    position_variance: Array    # of the mean [rad^2], (P, n)
    torque_variance: Array      # [Nm^2], (P, n)
    periods: int                # S


def average_periods(recording: Recording, period: float | None = None) -> PeriodAverage:
    """Mean period of a regular recording; what is left over at the end is not used.

    The period [s] is found from the motion where it is not known.
    """
    period = period or find_period(recording)
    if period is None:
        raise ArmsenseError(f'{recording.name}: the motion does not repeat; periods cannot be '
                            'averaged')
    length = float(recording.t[-1] - recording.t[0]) + 1.0 / recording.rate
    S = int(length / period + 1e-6)
    if S < 2:
        raise BadValue(f'{recording.name}: number of periods', S, '>= 2 to average them')
    P = round(period * recording.rate)
    # The clock need not divide the period: each period is read at its own times.
    at = recording.t[0] + np.arange(S)[:, None] * period + np.arange(P) / P * period   # (S, P)

    def mean(x: Array) -> tuple[Array, Array]:
        each = np.stack([np.interp(at, recording.t, column) for column in x.T], axis=2)
        return each.mean(axis=0), each.var(axis=0, ddof=1) / S

    q, q_variance = mean(recording.q)
    tau, tau_variance = mean(recording.tau)
    dq = None if recording.dq is None else mean(recording.dq)[0]
    one = Recording(np.arange(P) * period / P, q, tau, dq, recording.name)
    return PeriodAverage(one, q_variance, tau_variance, S)
