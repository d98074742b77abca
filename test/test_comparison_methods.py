"""SLSQP and annealing against the conic program on one small problem."""

from __future__ import annotations

import numpy as np
import pytest

from armsense.identify.estimation.feasible import is_consistent, link_bounds, solve_feasible
from armsense.model import Arm
from bench.papers.comparison_annealing import solve_annealing
from bench.papers.comparison_slsqp import ComparisonProblem, solve_slsqp, TOLERANCE


@pytest.fixture(scope='module')
def given():
    """Three axes with viscous friction, links 20 % heavier than nominal, noisy torques."""
    model = Arm.load('crs_a465')
    rng = np.random.default_rng(0)
    q, dq, ddq = rng.uniform(-1.5, 1.5, (3, 200, 3))
    W = np.hstack([model.torque_regressor_batch(q, dq, ddq),
                   (dq[:, :, None] * np.eye(3)).reshape(-1, 3)])
    truth = np.concatenate([1.2 * model.parameters, [1.0, 2.0, 0.5]])
    tau = W @ truth + 3.0 * rng.standard_normal(len(W))
    # A weak pull to the nominal model makes the optimum unique.
    scale = np.concatenate([model.parameters, np.ones(3)])
    H = W.T @ W + 1e-3 * np.eye(33)
    f = W.T @ tau + 1e-3 * scale * np.repeat([1.0, 0.0], [30, 3])
    return H, f, model.parameters, link_bounds(model), np.arange(30, 33)


@pytest.fixture(scope='module')
def conic(given):
    theta = solve_feasible(*given)
    return theta, theta @ given[0] @ theta - 2.0 * given[1] @ theta


def test_slsqp_comes_to_the_conic_optimum_and_not_below(given, conic):
    found = solve_slsqp(ComparisonProblem(*given), starts=2)
    theta, cost = conic
    assert found.violation <= TOLERANCE
    size = abs(cost)
    assert found.cost >= cost - 1e-6 * size
    assert found.cost <= cost + 1e-3 * size
    assert is_consistent(found.theta[:30])
    np.testing.assert_allclose(found.theta[30:], theta[30:], atol=0.05)


def test_annealing_keeps_the_constraints_nearly_and_does_not_beat_the_optimum(given, conic):
    problem = ComparisonProblem(*given)
    found = solve_annealing(problem, iterations=3)
    assert found.violation < 0.02        # a penalty, not a wall
    assert found.cost >= conic[1] - 0.01 * abs(conic[1])
    assert problem.cost(found.theta / problem.scale) <= problem.cost(problem.first())
    assert found.evaluations > 100


def test_slopes_are_finite_differences(given):
    problem = ComparisonProblem(*given)
    x = problem.random(np.random.default_rng(1))
    step = 1e-6
    for k in (0, 3, 7, 15, 31):
        move = step * np.eye(len(x))[k]
        cost = (problem.cost(x + move) - problem.cost(x - move)) / (2 * step)
        assert problem.gradient(x)[k] == pytest.approx(cost, rel=1e-4, abs=1e-6)
        eigen = (problem.eigenvalues(x + move) - problem.eigenvalues(x - move)) / (2 * step)
        np.testing.assert_allclose(problem.eigenvalue_slopes(x)[:, k], eigen, atol=1e-5)


def test_random_starts_keep_the_constraints(given):
    problem = ComparisonProblem(*given)
    rng = np.random.default_rng(2)
    assert problem.violation(problem.first()) == 0.0
    assert all(problem.violation(problem.random(rng)) == 0.0 for _ in range(5))
