"""Cosine-polynomial trajectories against the printed numbers of paper 002 (CRS A465)."""

import numpy as np
import pytest

from armsense.excite.constraints import Constraints
from armsense.excite.criteria import make_criterion
from armsense.excite.families import CosinePolynomial
from armsense.excite.information import Motion, regressor, RigidInformation
from armsense.excite.problem import Problem
from armsense.excite.search import first_guess
from armsense.excite.sqp import Minimiser
from armsense.model import Arm

PERIOD, RATE = 5.0, 300.0                         # 0.2 Hz, 1500 samples
SWEEP = np.array([5 * np.pi / 3, np.pi, np.pi])   # of the cycloidal motions; see the first test
CYCLOIDAL = np.array([[-2.8294, 0, 0.1886, 0, 0.0196], [-1.6976, 0, 0.1132, 0, 0.0098],
                      [-1.6976, 0, 0.1132, 0, 0.0098]])
OPTIMISED = np.array([[-0.0136, 0.5298, -0.0498, -0.1282, 0.3746],
                      [-0.1601, -0.1204, -0.0758, -0.1580, -0.5085],
                      [-0.0352, -0.0683, -0.0009, 0.2270, -0.3481]])
FRICTION_SIGMA = {'viscous1': 0.2029, 'viscous2': 0.1244, 'viscous3': 0.1149,
                  'coulomb1': 0.2170, 'coulomb2': 0.2619, 'coulomb3': 0.1272}     # table I


def test_cycloidal_column_of_table_2_is_the_cosine_series_of_a_cycloid():
    # q = h (s - sin(2 pi s) / (2 pi)) on [0, 1]: coefficients 2 int q cos(m pi s) ds
    s = np.linspace(0.0, 1.0, 20001)
    cycloid = s - np.sin(2 * np.pi * s) / (2 * np.pi)
    series = np.array([2 * np.trapezoid(cycloid * np.cos(m * np.pi * s), s) for m in range(1, 6)])
    expected = SWEEP[:, None] * series
    np.testing.assert_allclose(CYCLOIDAL[:, :4], expected[:, :4], atol=1e-3)
    np.testing.assert_allclose(CYCLOIDAL[1:, 4], expected[1:, 4], atol=2e-4)
    # The last number of axis 1 contradicts its own column: 5/3 of axis 2 is 0.0163, not 0.0196.
    assert expected[0, 4] == pytest.approx(0.0162, abs=2e-4)


def test_cycloid_is_nearly_reproduced_with_its_exact_ends():
    shape = CosinePolynomial(-SWEEP / 2, SWEEP / 2, PERIOD, 5)
    t = np.linspace(0.0, PERIOD, 501)
    s = t / PERIOD
    cycloid = np.outer(s - np.sin(2 * np.pi * s) / (2 * np.pi) - 0.5, SWEEP)
    error = np.abs(shape.motion(CYCLOIDAL, t).q - cycloid)
    assert error.max() < 0.02 * SWEEP.max()


@pytest.fixture(scope='module')
def optimised():
    shape = CosinePolynomial(np.zeros(3), np.zeros(3), PERIOD, 5)
    return shape.motion(OPTIMISED, np.arange(1500) / RATE)


def test_optimised_coefficients_keep_the_printed_limits(optimised):
    assert np.all(np.abs(optimised.q).max(axis=0) < [3.0, 1.6, 1.9])
    assert np.abs(optimised.dq).max() < 3.14
    assert np.abs(optimised.ddq).max() < 12.5


def test_optimised_coefficients_use_the_limits(optimised):
    # A wrong reading of the series (period, factor pi) would leave the limits far away.
    assert np.abs(optimised.dq).max() > 0.8 * 3.14
    assert np.abs(optimised.q).max(axis=0)[1] > 0.9 * 1.6


def test_friction_uncertainty_is_that_of_table_1(optimised):
    information = RigidInformation(Arm.load('crs_a465'), noise=[5.0, 4.0, 3.0],
                                   terms=('viscous', 'coulomb'))
    motion = Motion(optimised.q, optimised.dq, optimised.ddq)
    [M] = information.matrices(regressor(information.model, motion), motion, 1.0)
    assert M.shape == (21, 21)
    sigma = dict(zip(information.parameter_names, np.sqrt(np.diag(np.linalg.inv(M))),
                     strict=True))
    ratio = np.array([sigma[name] / printed for name, printed in FRICTION_SIGMA.items()])
    assert np.all((ratio > 0.6) & (ratio < 1.4))
    assert 0.9 < np.median(ratio) < 1.1


def test_optimised_is_better_than_cycloidal_by_the_d_criterion(optimised):
    information = RigidInformation(Arm.load('crs_a465'), noise=[5.0, 4.0, 3.0],
                                   terms=('viscous', 'coulomb'))
    criterion = make_criterion('d_optimal')
    cycloid = CosinePolynomial(-SWEEP / 2, SWEEP / 2, PERIOD, 5).motion(
        CYCLOIDAL, np.arange(1500) / RATE)
    values = []
    for samples in (optimised, cycloid):
        motion = Motion(samples.q, samples.dq, samples.ddq)
        [M] = information.matrices(regressor(information.model, motion), motion, 1.0)
        values.append(criterion.value(M))
    assert values[0] < values[1] - 20.0


def test_our_optimum_is_better_than_the_printed_one_under_the_same_limits(optimised):
    model = Arm.load('crs_a465')
    information = RigidInformation(model, noise=[5.0, 4.0, 3.0], terms=('viscous', 'coulomb'))
    motion = Motion(optimised.q, optimised.dq, optimised.ddq)
    [M] = information.matrices(regressor(model, motion), motion, 1.0)
    criterion = make_criterion('d_optimal')
    # Table II passes through the base of our model, so neither side keeps clear of it here.
    constraints = Constraints.of(model, 1.0, floor=None, self_distance=-10.0)
    shape = CosinePolynomial(np.zeros(3), np.zeros(3), PERIOD, 5)
    problem = Problem(model, shape, constraints, information, criterion, RATE)
    found = []
    for seed in range(3):
        guess = first_guess(problem, np.random.default_rng(seed))
        Minimiser(problem, guess.y).run(40, found.append, lambda: False)
    best = min((p for p in found if p.violation <= 0.0), key=lambda p: p.objective)
    t = np.arange(1500) / RATE
    ours = shape.motion(problem.coefficients(best.y), t)
    assert np.all(np.abs(ours.q).max(axis=0) <= [3.0, 1.6, 1.9])
    assert np.abs(ours.dq).max() <= 3.14
    assert np.abs(ours.ddq).max() <= 12.5
    motion = Motion(ours.q, ours.dq, ours.ddq)
    [N] = information.matrices(regressor(model, motion), motion, 1.0)
    assert criterion.value(N) < criterion.value(M) - 10.0
