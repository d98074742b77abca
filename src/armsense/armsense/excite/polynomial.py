"""Polynomials (thesis 000, eq. 4.33) that rest at both ends.

    q(t) = quintic from start to end + (1 - s^2)^3 sum_k c_k P_k(s),    s = 2 t / T - 1

The plain sum of powers a_l t^l of the document is badly conditioned and meets no end conditions;
the Legendre polynomials P_k behind the cubed bump span the same polynomials with resting ends.
"""

from __future__ import annotations

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import ArrayLike

from armsense.errors import BadValue
from armsense.excite.parametrisation import Parametrisation, quintic_ends
from armsense.types import Array

BUMP_DEGREE = 6


class Polynomial(Parametrisation):
    """Coefficients per joint: c0 ... [rad]."""

    kind = 'polynomial'

    def __init__(self, start: ArrayLike, end: ArrayLike, period: float, degree: int) -> None:
        super().__init__(start, end, period)
        if degree < BUMP_DEGREE:
            raise BadValue('degree of a polynomial with resting ends', degree, f'>= {BUMP_DEGREE}')
        self.degree = degree
        bump = legendre.poly2leg([1.0, 0.0, -3.0, 0.0, 3.0, 0.0, -1.0])     # (1 - s^2)^3
        self._series = np.zeros((degree + 1, degree - BUMP_DEGREE + 1))   # of the basis functions
        for k in range(degree - BUMP_DEGREE + 1):
            product = legendre.legmul(bump, np.eye(k + 1)[k])
            self._series[:len(product), k] = product

    @property
    def coefficient_names(self) -> tuple[str, ...]:
        return tuple(f'c{k}' for k in range(self.degree - BUMP_DEGREE + 1))

    @property
    def bandwidth(self) -> float:
        """A polynomial of this degree turns at most degree - 1 times."""
        return (self.degree - 1) / (2.0 * self.period)

    @property
    def options(self) -> dict[str, float]:
        return {}

    def basis(self, t: Array, order: int) -> Array:
        s = 2.0 * t / self.period - 1.0
        series = legendre.legder(self._series, order, scl=2.0 / self.period)
        row = legendre.legvander(s, len(series) - 1) @ series
        return np.repeat(row[:, None, :], self.n, axis=1)

    def offset(self, t: Array, order: int) -> Array:
        ends = quintic_ends(t, self.period, order)
        return np.asarray(np.outer(ends[:, 0], self.start) + np.outer(ends[:, 3], self.end))
