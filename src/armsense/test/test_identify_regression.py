import numpy as np
import pytest

from armsense.errors import BadValue
from armsense.identify.regression import huber, ordinary, per_joint, solve_normal


def data(seed, N=400, p=5, sigma=0.1):
    rng = np.random.default_rng(seed)
    W, theta = rng.standard_normal((N, p)), np.arange(1.0, p + 1.0)
    return W, W @ theta + sigma * rng.standard_normal(N), theta


def test_intervals_cover_the_truth_as_often_as_they_say():
    inside = total = 0
    for seed in range(60):
        W, y, theta = data(seed)
        low, high = ordinary(W, y).interval(0.95).T
        inside += int(np.sum((low < theta) & (theta < high)))
        total += len(theta)
    assert 0.91 < inside / total < 0.985


def test_weights_follow_the_noise_of_each_joint():
    rng = np.random.default_rng(1)
    W, _, theta = data(2, N=2000)
    noise = np.tile([0.01, 1.0], 1000)
    y = W @ theta + noise * rng.standard_normal(2000)
    weighted, plain = per_joint(W, y, 2), ordinary(W, y)
    assert np.abs(weighted.theta - theta).max() < 0.1 * np.abs(plain.theta - theta).max()


def test_outliers_do_not_move_the_robust_estimate():
    W, y, theta = data(3)
    y[::20] += 20.0
    assert np.abs(huber(W, y).theta - theta).max() < 0.05
    assert np.abs(ordinary(W, y).theta - theta).max() > 0.2


def test_prior_decides_what_the_data_cannot():
    AA = np.diag([100.0, 0.0])
    theta = solve_normal(AA, np.array([200.0, 0.0]), np.array([0.0, 7.0]), np.array([1e-3, 1e-3]))
    np.testing.assert_allclose(theta, [2.0, 7.0], rtol=1e-3)


def test_bad_equations_are_named():
    W, y, _ = data(4)
    with pytest.raises(BadValue, match='number of equations is 3'):
        ordinary(W[:3], y[:3])
    y[3] = np.inf
    with pytest.raises(BadValue, match='finite'):
        ordinary(W, y)
