"""Positions, velocities and accelerations without noise, by one of several methods.

`filter`: zero-phase Butterworth low-pass, central differences; from measured velocities too.
`spectral`: rectangular window and j omega in the frequency domain (thesis 004, section 3.5).
`fourier`: least-squares Fourier series of a periodic motion (Swevers; paper 002).
`spline`: least-squares splines with knots at the band's resolution (thesis 000, section 4.3.2).
"""

from __future__ import annotations

from armsense.errors import ArmsenseError, UnknownName
from armsense.identify.motion_basis import Basis, fitted_series, spline_basis
from armsense.identify.period import find_period
from armsense.identify.preprocess import (
    Motion,
    motion,
    spectral_derivative,
    spectral_filter,
)
from armsense.identify.recording import Recording
from armsense.types import Array

METHODS = ('filter', 'spectral', 'fourier', 'spline')


def smooth_motion(recording: Recording, cutoff: float, velocity: str = 'position',
                  method: str = 'filter') -> Motion:
    """Smooth motion of a regular recording up to `cutoff` [Hz]; see `preprocess.motion`."""
    if method == 'filter':
        return motion(recording, cutoff, velocity)
    if method == 'spectral':
        return _spectral(recording, cutoff, velocity)
    if method == 'spline':
        # A knot per half period of the cut-off: no faster motion fits between them.
        basis = spline_basis(recording.t, 0.5 / cutoff)
        return _summed(recording, basis, basis.fit(recording.q))
    if method != 'fourier':
        raise UnknownName('method', method, METHODS)
    period = find_period(recording)
    if period is None:
        raise ArmsenseError(f'{recording.name}: the motion does not repeat, so it is no Fourier '
                            'series; choose preprocess: filter')
    return _summed(recording, *fitted_series(recording.t, recording.q, period, cutoff))


def _spectral(recording: Recording, cutoff: float, velocity: str) -> Motion:
    rate = recording.rate
    q = spectral_filter(recording.q, rate, cutoff)
    if velocity == 'measured' and recording.dq is not None:
        dq = spectral_filter(recording.dq, rate, cutoff)
    else:
        dq = spectral_derivative(q, rate, cutoff)
    return Motion(recording.t, q, dq, spectral_derivative(dq, rate, cutoff), rate)


def _summed(recording: Recording, basis: Basis, delta: Array) -> Motion:
    return Motion(recording.t, *basis.motion(delta), recording.rate)
