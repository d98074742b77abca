import numpy as np
import pytest

from armsense.errors import ArmsenseError
from armsense.identify.estimation.feasible import (
    is_consistent,
    link_bounds,
    pseudo_inertia,
    solve_feasible,
)
from armsense.model import Arm


@pytest.fixture(scope='module')
def arm():
    return Arm.load('laas4')


def equations(arm, seed=0, noise=0.0):
    rng = np.random.default_rng(seed)
    q, dq, ddq = rng.uniform(-2.0, 2.0, (3, 200, arm.n))
    W = arm.torque_regressor_batch(q, dq, ddq)
    y = W @ arm.parameters + noise * rng.standard_normal(len(W))
    return W, y


def test_pseudo_inertia_of_two_point_masses():
    points, masses = np.array([[1.0, 2.0, 3.0], [-1.0, 0.5, 0.0]]), np.array([2.0, 3.0])
    h = masses @ points
    second = sum(m * np.outer(p, p) for m, p in zip(masses, points, strict=True))
    inertia = np.trace(second) * np.eye(3) - second
    link = np.array([5.0, *h, inertia[0, 0], inertia[0, 1], inertia[1, 1], inertia[0, 2],
                     inertia[1, 2], inertia[2, 2]])
    expected = np.block([[second, h[:, None]], [h[None, :], np.array([[5.0]])]])
    np.testing.assert_allclose(pseudo_inertia(link), expected, atol=1e-12)


def test_a_feasible_least_squares_solution_is_kept(arm):
    W, y = equations(arm)
    H = W.T @ W + 1e-6 * np.eye(W.shape[1])
    f = W.T @ y + 1e-6 * arm.parameters
    theta = solve_feasible(H, f, arm.parameters, link_bounds(arm))
    assert is_consistent(theta)
    np.testing.assert_allclose(W @ theta, y, atol=1e-3 * np.abs(y).max())


def test_noise_is_cut_back_to_what_can_exist(arm):
    W, y = equations(arm, seed=1, noise=2.0)
    free = np.linalg.lstsq(W, y, rcond=None)[0]
    H = W.T @ W + 1e-9 * np.eye(W.shape[1])
    theta = solve_feasible(H, W.T @ y, arm.parameters, link_bounds(arm))
    bounds = link_bounds(arm)
    masses = theta[::10]
    assert not is_consistent(free)
    assert is_consistent(theta)
    assert all(b.mass[0] * 0.999 <= m <= b.mass[1] * 1.001
               for b, m in zip(bounds, masses, strict=True))
    cost, least = (float(np.sum((y - W @ x) ** 2)) for x in (theta, free))
    assert cost < 1.05 * least


def test_bounds_on_drives_rows_and_total_mass(arm):
    W, y = equations(arm)
    n10 = W.shape[1]
    W = np.hstack([W, np.random.default_rng(2).standard_normal((len(W), 2))])
    y = y + W[:, n10:] @ np.array([-1.0, 2.0])
    H = W.T @ W + 1e-9 * np.eye(n10 + 2)
    rows = np.zeros((1, n10 + 2))
    rows[0, -1] = -1.0
    total = 1.3 * arm.masses.sum()
    theta = solve_feasible(H, W.T @ y, arm.parameters, link_bounds(arm), np.array([n10]), rows,
                           (total, 2.0 * total))
    assert theta[n10] > -1e-6
    assert theta[n10 + 1] < 1e-6
    assert theta[:n10:10].sum() > 0.999 * total


def test_contradicting_bounds_are_told(arm):
    W, y = equations(arm)
    with pytest.raises(ArmsenseError, match='no physically consistent model'):
        solve_feasible(W.T @ W, W.T @ y, arm.parameters, link_bounds(arm),
                       total_mass=(1e3, 2e3))
