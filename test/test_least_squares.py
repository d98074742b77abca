import numpy as np
import pytest

from armsense.errors import BadValue
from bench.papers.least_squares import ordinary


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


def test_bad_equations_are_named():
    W, y, _ = data(4)
    with pytest.raises(BadValue, match='number of equations is 3'):
        ordinary(W[:3], y[:3])
    y[3] = np.inf
    with pytest.raises(BadValue, match='finite'):
        ordinary(W, y)
