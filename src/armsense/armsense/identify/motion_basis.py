"""Motions as sums of known functions: Fourier series and splines, fitted by least squares.

    q(t) = B(t) delta,    dq(t) = B'(t) delta,    ddq(t) = B''(t) delta

A Fourier series is what a periodic excitation consists of (Swevers et al. 1997; paper 002, eqs.
11-14), so that fitting its coefficients takes out all noise between the harmonics. Splines serve
motions that do not repeat (thesis 000, section 4.3.2).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import interpolate

from armsense.errors import BadValue
from armsense.types import Array

DEGREE = 5       # of the splines: accelerations are smooth twice
LEAST_GAIN = 1.2   # of the squared misfit that a further harmonic is worth, over chance


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


def fitted_series(t: Array, q: Array, period: float, highest: float) -> tuple[Basis, Array]:
    """Fourier series of a periodic motion, (N, n).

    Harmonics are added while they explain more than chance would, up to `highest` [Hz].

    Returns:
        The basis and its coefficients, (m, n).
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
