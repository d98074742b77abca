"""Consistent parameters by sequential quadratic programming from many starts: for comparison.

Thesis 004 (section 3.3) searches physically consistent parameters with SLSQP. The problem is the
one that `solve_feasible` hands to a conic solver, the same cost and the same limits, so that both
can be compared in cost and time. A general-purpose method sees eigenvalues as nonlinear functions
and knows nothing of convexity; it takes some hundred times longer and may stop before the optimum.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import optimize

from armsense.identify.estimation.feasible import (
    linear_rows,
    LinkBounds,
    MARGIN,
    parameter_scale,
    pseudo_inertia_basis,
)
from armsense.types import Array

TOLERANCE = 1e-6      # of the scaled constraints: more is a broken one


class Compared(NamedTuple):
    """What a general-purpose method found."""

    theta: Array          # (p,)
    cost: float           # theta^T H theta - 2 f^T theta
    violation: float      # worst scaled constraint; 0: all hold
    evaluations: int      # of the cost


class ComparisonProblem:
    """Cost and limits in dimensionless parameters x = theta / scale."""

    def __init__(self, H: Array, f: Array, nominal: Array, bounds: Sequence[LinkBounds],
                 not_negative: Array | None = None, rows: Array | None = None,
                 total_mass: tuple[float, float] | None = None) -> None:
        """Take the arguments of `solve_feasible`."""
        self.links, self.bounds, self.nominal = len(bounds), bounds, nominal
        drives = np.maximum(np.diag(H)[10 * self.links:], 1e-12 * np.diag(H).max())
        self.scale = np.concatenate([parameter_scale(nominal), 1.0 / np.sqrt(drives)])
        self._P, self._f = H * np.outer(self.scale, self.scale), f * self.scale
        blocks, limits, _ = linear_rows(len(f), bounds, not_negative, rows, total_mass, self.scale)
        self.A = -np.asarray(blocks[0].todense(), float)
        self.b = -np.asarray(limits[0], float)               # A x >= b
        self._basis = [self._balanced(k) for k in range(self.links)]
        # The cost is shifted and scaled, so that a solver's tolerance means the same everywhere.
        self.free = np.linalg.lstsq(self._P, self._f, rcond=None)[0]
        self._low = self.raw_cost(self.free)
        self._size = max(self.raw_cost(self.first()) - self._low, 1e-300)

    def first(self) -> Array:
        """Nominal links, drives without friction, (p,)."""
        drives = np.zeros(len(self.scale) - 10 * self.links)
        return np.asarray(np.concatenate([self.nominal, drives]) / self.scale)

    def random(self, rng: np.random.Generator) -> Array:
        """Nominal links of other masses, which are consistent too, (p,)."""
        x = self.first()
        for k, link in enumerate(self.bounds):
            mass = self.nominal[10 * k]
            x[10 * k:10 * k + 10] *= rng.uniform(link.mass[0], link.mass[1]) / mass
        x[10 * self.links:] = rng.uniform(0.0, 0.1, len(x) - 10 * self.links)
        return x

    def raw_cost(self, x: Array) -> float:
        return float(x @ self._P @ x - 2.0 * self._f @ x)

    def cost(self, x: Array) -> float:
        """0 at the free optimum, 1 at the nominal model."""
        return (self.raw_cost(x) - self._low) / self._size

    def gradient(self, x: Array) -> Array:
        return np.asarray(2.0 * (self._P @ x - self._f) / self._size)

    def eigenvalues(self, x: Array) -> Array:
        """Smallest one of every link's pseudo-inertia, less the margin, (links,)."""
        return np.array([np.linalg.eigvalsh(self._matrix(x, k))[0] for k in range(self.links)]
                        ) - MARGIN

    def eigenvalue_slopes(self, x: Array) -> Array:
        """(links, p)."""
        J = np.zeros((self.links, len(x)))
        for k in range(self.links):
            v = np.linalg.eigh(self._matrix(x, k))[1][:, 0]
            J[k, 10 * k:10 * k + 10] = np.einsum('pij,i,j->p', self._basis[k], v, v)
        return J

    def violation(self, x: Array) -> float:
        """Worst broken constraint, 0: none."""
        return max(0.0, float(-(self.A @ x - self.b).min()), float(-self.eigenvalues(x).min()))

    def result(self, x: Array, evaluations: int) -> Compared:
        return Compared(x * self.scale, self.raw_cost(x), self.violation(x), evaluations)

    def _matrix(self, x: Array, k: int) -> Array:
        return np.asarray(np.tensordot(x[10 * k:10 * k + 10], self._basis[k], axes=1))

    def _balanced(self, k: int) -> Array:
        """Pseudo-inertia per scaled parameter, of the size of one, (10, 4, 4)."""
        size = self.scale[10 * k:10 * k + 10]
        radius = size[1] / size[0]
        balance = np.array([1.0 / radius] * 3 + [1.0]) / np.sqrt(size[0])
        return np.asarray(pseudo_inertia_basis() * size[:, None, None]
                          * np.outer(balance, balance))


def solve_slsqp(problem: ComparisonProblem, starts: int = 10, seed: int = 0,
                iterations: int = 500) -> Compared:
    """The best of many starts; the first is the nominal model."""
    rng = np.random.default_rng(seed)
    constraints: Any = [
        {'type': 'ineq', 'fun': lambda x: problem.A @ x - problem.b, 'jac': lambda x: problem.A},
        {'type': 'ineq', 'fun': problem.eigenvalues, 'jac': problem.eigenvalue_slopes}]
    found, evaluations = [], 0
    for number in range(starts):
        x = problem.random(rng) if number else problem.first()
        settings: Any = {'maxiter': iterations, 'ftol': 1e-10}
        answer = optimize.minimize(problem.cost, x, jac=problem.gradient, method='SLSQP',
                                   constraints=constraints, options=settings)
        evaluations += int(answer.nfev)
        found.append(np.asarray(answer.x, float))
    best = min(found, key=lambda x: (problem.violation(x) > TOLERANCE, problem.cost(x)))
    return problem.result(best, evaluations)
