"""Finite Fourier series, in the amplitudes of thesis 000, eq. 4.34.

    q(t) = q_0 + sum_l a_l / (w l) sin(w l t) - b_l / (w l) cos(w l t),    w = 2 pi / period

Periodic and exactly band-limited. Start (and end) at rest in a given pose are three linear
conditions per joint,

    q_0 - sum_l b_l / (w l) = q_start,    sum_l a_l = 0,    sum_l l b_l = 0,

which the free parameters span exactly.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg

from armsense.errors import BadValue
from armsense.excite.parametrisation import Parametrisation
from armsense.types import Array


class FourierSeries(Parametrisation):
    """Coefficients per joint: q0 [rad], a1 ... aH, b1 ... bH [rad/s]."""

    kind = 'fourier'

    def __init__(self, start: ArrayLike, period: float, harmonics: int) -> None:
        """Set the period.

        Args:
            start: Pose at both ends of a period [rad], (n,).
            period: [s]
            harmonics: H; two are the least that can rest at the ends.
        """
        super().__init__(start, start, period)
        if harmonics < 2:
            raise BadValue('harmonics of a Fourier series', harmonics, '>= 2')
        self.harmonics = harmonics
        self._w = 2.0 * math.pi / period * np.arange(1, harmonics + 1)   # (H,)

    @property
    def coefficient_names(self) -> tuple[str, ...]:
        numbers = range(1, self.harmonics + 1)
        return ('q0', *(f'a{l}' for l in numbers), *(f'b{l}' for l in numbers))

    @property
    def bandwidth(self) -> float:
        return self.harmonics / self.period

    @property
    def options(self) -> dict[str, float]:
        return {}

    def basis(self, t: Array, order: int) -> Array:
        # Each derivative turns the phase by a quarter and multiplies by the frequency.
        phase = np.outer(t, self._w) + 0.5 * math.pi * order
        scale = self._w ** (order - 1)
        constant = np.full((len(t), 1), 1.0 if order == 0 else 0.0)
        row = np.hstack([constant, np.sin(phase) * scale, -np.cos(phase) * scale])
        return np.repeat(row[:, None, :], self.n, axis=1)

    def rest(self) -> Array:
        c = np.zeros((self.n, self.size))
        c[:, 0] = self.start
        return c

    def free(self) -> Array:
        zero = np.zeros(1)
        conditions = np.vstack([self.basis(zero, order)[0, 0] for order in range(3)])
        return np.asarray(linalg.null_space(conditions))
