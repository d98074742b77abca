"""How well a motion excites: scalar measures of the information matrix M = Phi^T Sigma^-1 Phi.

Phi is the stacked base regressor, Sigma the covariance of the torque noise, s_1 >= ... >= s_m the
singular values of Sigma^-1/2 Phi (thesis 000, section 4.2.3; paper 002, section III.2):

    d_optimal   -log det M                          minimised   (4.38)
    a_optimal   trace M^-1                          minimised
    e_optimal   smallest eigenvalue of M            maximised
    condition   s_1 / s_m                           minimised
    o1          (s_1 ... s_m)^(1/m) / sqrt(m)       maximised   (4.35)
    o2          s_1 / s_m                           minimised   (4.36)
    o3          s_m                                 maximised   (4.37)

An optimiser minimises a logarithm of each, so that all have a similar scale; D is one already.
Every measure is a function of the eigenvalues of M, so that its gradient is V diag(slope) V^T.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from armsense.schema import check_known
from armsense.types import Array

TINY = 1e-15     # smallest eigenvalue next to the largest, so that no logarithm is infinite


class Criterion(NamedTuple):
    """One measure; `e` are the eigenvalues of M, ascending, (m,)."""

    name: str
    of_eigenvalues: Callable[[Array], float]
    log_form: Callable[[Array], float]
    log_slope: Callable[[Array], Array]    # d log_form / de, (m,)

    def value(self, M: Array) -> float:
        """The measure as the documents define it."""
        return float(self.of_eigenvalues(_spectrum(M)[0]))

    def objective(self, M: Array) -> float:
        """What is minimised."""
        return float(self.log_form(_spectrum(M)[0]))

    def gradient(self, M: Array) -> tuple[float, Array]:
        """Objective and its derivative by M, (m, m), symmetric."""
        e, V = _spectrum(M)
        return float(self.log_form(e)), np.asarray((V * self.log_slope(e)) @ V.T)


def make_criterion(name: str) -> Criterion:
    """The criterion of this name."""
    check_known('criterion', name, CRITERIA)
    return CRITERIA[name]


def singular_values(M: Array) -> Array:
    """Of the regressor behind M, largest first, (m,)."""
    return np.sqrt(_spectrum(M)[0])[::-1]


def condition_number(M: Array) -> float:
    """Of the regressor behind M."""
    e = _spectrum(M)[0]
    return float(np.sqrt(e[-1] / e[0]))


def _spectrum(M: Array) -> tuple[Array, Array]:
    e, V = np.linalg.eigh(M)
    return np.maximum(e, TINY * max(float(e[-1]), TINY)), V


def _ends(e: Array, low: float, high: float) -> Array:
    """Slope that only the smallest and the largest eigenvalue have."""
    slope = np.zeros(len(e))
    slope[0] += low / e[0]
    slope[-1] += high / e[-1]
    return slope


def _condition(name: str) -> Criterion:
    return Criterion(name, lambda e: np.sqrt(e[-1] / e[0]), lambda e: 0.5 * np.log(e[-1] / e[0]),
                     lambda e: _ends(e, -0.5, 0.5))


CRITERIA = {
    'd_optimal': Criterion('d_optimal', lambda e: -np.log(e).sum(), lambda e: -np.log(e).sum(),
                           lambda e: -1.0 / e),
    'a_optimal': Criterion('a_optimal', lambda e: (1.0 / e).sum(), lambda e: np.log((1 / e).sum()),
                           lambda e: -1.0 / (e**2 * (1.0 / e).sum())),
    'e_optimal': Criterion('e_optimal', lambda e: e[0], lambda e: -np.log(e[0]),
                           lambda e: _ends(e, -1.0, 0.0)),
    'condition': _condition('condition'),
    'o1': Criterion('o1', lambda e: np.exp(0.5 * np.log(e).mean()) / np.sqrt(len(e)),
                    lambda e: -0.5 * np.log(e).mean() + 0.5 * np.log(len(e)),
                    lambda e: -0.5 / (len(e) * e)),
    'o2': _condition('o2'),
    'o3': Criterion('o3', lambda e: np.sqrt(e[0]), lambda e: -0.5 * np.log(e[0]),
                    lambda e: _ends(e, -0.5, 0.0)),
}
