"""Cosine series plus fifth-order polynomial: paper 002, eqs. 11-14.

    q(t) = lambda(t) + sum_m a_m cos(m pi t / T)

The six coefficients of the quintic lambda follow from position, velocity and acceleration at both
ends and from the a_m (eq. 14), so that the ends hold exactly for every choice of a_m: each cosine
enters together with the quintic that takes its own end values away.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from armsense.errors import BadValue
from armsense.excite.parametrisation import Parametrisation, quintic_ends
from armsense.types import Array


class CosinePolynomial(Parametrisation):
    """Coefficients per joint: a1 ... aM [rad]; at rest at both ends."""

    kind = 'cosine_polynomial'

    def __init__(self, start: ArrayLike, end: ArrayLike, period: float, terms: int) -> None:
        super().__init__(start, end, period)
        if terms < 1:
            raise BadValue('terms of a cosine series', terms, '>= 1')
        self.terms = terms
        self._w = math.pi / period * np.arange(1, terms + 1)   # (M,)
        zero, last = np.zeros(1), np.array([period])
        self._ends = np.vstack([self._cosine(t, order)
                                for t in (zero, last) for order in range(3)])   # (6, M)

    @property
    def coefficient_names(self) -> tuple[str, ...]:
        return tuple(f'a{m}' for m in range(1, self.terms + 1))

    @property
    def bandwidth(self) -> float:
        return self.terms / (2.0 * self.period)

    @property
    def options(self) -> dict[str, float]:
        return {}

    def basis(self, t: Array, order: int) -> Array:
        row = self._cosine(t, order) - quintic_ends(t, self.period, order) @ self._ends
        return np.repeat(row[:, None, :], self.n, axis=1)

    def offset(self, t: Array, order: int) -> Array:
        ends = quintic_ends(t, self.period, order)
        return np.asarray(np.outer(ends[:, 0], self.start) + np.outer(ends[:, 3], self.end))

    def _cosine(self, t: Array, order: int) -> Array:
        phase = np.outer(t, self._w) + 0.5 * math.pi * order
        return np.asarray(np.cos(phase) * self._w ** order)
