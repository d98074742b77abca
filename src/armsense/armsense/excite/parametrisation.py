"""What every family of excitation motions offers: a motion that is linear in its coefficients.

    q_j(t) = offset_j(t) + basis_j(t) @ c_j,    c = rest + x @ free^T

`c` (n, m) are the coefficients that the file holds; `x` (n, f) are those that an optimiser may
choose freely: whatever x is, the motion starts and ends at the given poses with zero velocity and
acceleration. x = 0 is the simplest motion, which for equal poses stands still.
"""

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import ArrayLike

from armsense.errors import BadValue
from armsense.trajectory.reference import Samples
from armsense.types import Array


class Parametrisation(ABC):
    """One family of motions; `basis` and `offset` are its mathematics."""

    kind: str

    def __init__(self, start: ArrayLike, end: ArrayLike, period: float) -> None:
        """Poses at time 0 and at `period` [s], [rad], (n,) each."""
        self.start, self.end = np.asarray(start, float), np.asarray(end, float)
        if self.start.shape != self.end.shape or self.start.ndim != 1:
            raise BadValue('shape of the end pose', self.end.shape, f'{self.start.shape}')
        if not period > 0.0:
            raise BadValue('period', period, '> 0 s')
        self.period = float(period)

    @property
    def n(self) -> int:
        return len(self.start)

    @property
    def closed(self) -> bool:
        """Whether it ends where it starts, so that periods follow each other."""
        return bool(np.array_equal(self.start, self.end))

    @property
    @abstractmethod
    def coefficient_names(self) -> tuple[str, ...]:
        """Of the m coefficients of a joint."""

    @property
    @abstractmethod
    def bandwidth(self) -> float:
        """Highest frequency that the motion holds in the main [Hz]."""

    @property
    def options(self) -> dict[str, float]:
        """What builds the same family again, beside ends, period and number of coefficients."""
        return {}

    @abstractmethod
    def basis(self, t: Array, order: int) -> Array:
        """Derivative of this order of q per coefficient, (N,) -> (N, n, m)."""

    def offset(self, t: Array, order: int) -> Array:
        """Part of the derivative that no coefficient moves, (N,) -> (N, n)."""
        return np.zeros((len(t), self.n))

    def rest(self) -> Array:
        """Coefficients of x = 0, (n, m)."""
        return np.zeros((self.n, self.size))

    def free(self) -> Array:
        """Change of the coefficients of a joint per free parameter, (m, f)."""
        return np.eye(self.size)

    @property
    def size(self) -> int:
        """Number of coefficients of a joint."""
        return len(self.coefficient_names)

    def derivative(self, coefficients: Array, t: Array, order: int) -> Array:
        """d^order q / dt^order at the times, (N, n)."""
        return np.asarray(self.offset(t, order)
                          + np.einsum('kjm,jm->kj', self.basis(t, order), coefficients))

    def motion(self, coefficients: ArrayLike, t: ArrayLike) -> Samples:
        """The motion at times within one period."""
        c, times = self.check(coefficients), np.asarray(t, float)
        return Samples(times, *(self.derivative(c, times, order) for order in range(4)))

    def check(self, coefficients: ArrayLike) -> Array:
        """The coefficients as an array (n, m)."""
        c = np.asarray(coefficients, float)
        if c.shape != (self.n, self.size):
            raise BadValue(f'shape of the {self.kind} coefficients', c.shape,
                           f'({self.n}, {self.size})')
        return c
