"""Consistent parameters by simulated annealing: for comparison.

Thesis 004 (section 3.3) gets its better result from simulated annealing, with the constraints as
penalties. Here it is SciPy's dual annealing, which ends every temperature with a local search, on
the problem of `comparison_slsqp`.
"""

from __future__ import annotations

import numpy as np
from scipy import optimize

from armsense.types import Array
from bench.papers.comparison_slsqp import Compared, ComparisonProblem

PENALTY = 1e3       # of a squared broken constraint, against a cost of one at the nominal model
REACH = 2.0         # box around the nominal parameters, in units of their typical size


def solve_annealing(problem: ComparisonProblem, iterations: int = 20, seed: int = 0) -> Compared:
    """Annealing over a box around the nominal model."""
    first = problem.first()
    low, high = first - REACH, first + REACH
    drives = slice(10 * problem.links, None)
    low[drives], high[drives] = 0.0, np.maximum(1.0, 2.0 * np.abs(problem.free[drives]))

    def penalised(x: Array) -> float:
        broken = np.minimum(problem.A @ x - problem.b, 0.0)
        bent = np.minimum(problem.eigenvalues(x), 0.0)
        return problem.cost(x) + PENALTY * float(broken @ broken + bent @ bent)

    def slope(x: Array) -> Array:
        broken = np.minimum(problem.A @ x - problem.b, 0.0)
        bent = np.minimum(problem.eigenvalues(x), 0.0)
        return np.asarray(problem.gradient(x) + 2.0 * PENALTY * (
            problem.A.T @ broken + problem.eigenvalue_slopes(x).T @ bent))

    answer = optimize.dual_annealing(
        penalised, np.stack([low, high], axis=1), maxiter=iterations, x0=first,
        rng=np.random.default_rng(seed), minimizer_kwargs={'method': 'L-BFGS-B', 'jac': slope})
    return problem.result(np.asarray(answer.x, float), int(answer.nfev))

