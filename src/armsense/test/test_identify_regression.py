import numpy as np

from armsense.identify.estimation.equations import solve_normal


def test_prior_decides_what_the_data_cannot():
    AA = np.diag([100.0, 0.0])
    theta = solve_normal(AA, np.array([200.0, 0.0]), np.array([0.0, 7.0]), np.array([1e-3, 1e-3]))
    np.testing.assert_allclose(theta, [2.0, 7.0], rtol=1e-3)
