"""Parameters recovered from felt wrenches; the thesis's rules of masks and rates."""

from __future__ import annotations

import numpy as np
import pytest

from armsense.base.base_regressor import FilteredRegressor, parameter_names, RecursiveEstimator
from armsense.base.cell_layout import CellLayout
from armsense.errors import ArmsenseError, UnknownName
from armsense.identify.estimation.feasible import is_consistent
from armsense.identify.estimation.recursive import RecursiveOptions
from armsense.model import Arm
from bench.papers.batch_estimation import (
    estimate_batch,
    felt_parameters,
    felt_regressor,
    FeltMotion,
)

DT = 0.01
CAROUSEL = """<robot name="carousel">
  <link name="base_link"/>
  <joint name="joint1" type="revolute">
    <parent link="base_link"/><child link="link1"/>
    <origin xyz="0 0 0.5"/><axis xyz="0 0 1"/>
    <limit lower="-6" upper="6" velocity="10" effort="100"/>
  </joint>
  <link name="link1">
    <inertial><origin xyz="0.4 0 0.1"/><mass value="2.0"/>
      <inertia ixx="0.02" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.04"/></inertial>
  </link>
</robot>"""


@pytest.fixture(scope='module')
def arm():
    model = Arm.load('laas4')
    return model, CellLayout.of_config(model.config.load_cells)


def motion(n, seconds=30.0, seed=3):
    """Sums of sines with their derivatives, (N, n) each."""
    rng = np.random.default_rng(seed)
    t = np.arange(0, seconds, DT)[:, None]
    q, dq, ddq = (np.zeros((len(t), n)) for _ in range(3))
    for _ in range(3):
        w, a, p = rng.uniform(0.8, 4, n), rng.uniform(0.2, 0.5, n), rng.uniform(0, 6, n)
        q += a * np.sin(w * t + p)
        dq += a * w * np.cos(w * t + p)
        ddq -= a * w**2 * np.sin(w * t + p)
    return q, dq, ddq


def upright(model, q, dq, ddq):
    """Fz, Mx, My of a motion, (N, 3)."""
    return np.array([model.base_wrench(*row) for row in zip(q, dq, ddq, strict=True)])[:, 2:5]


def disturbed(model, seed=5, size=0.15):
    """Another arm that can exist: other masses, centres of mass and sizes."""
    rng = np.random.default_rng(seed)
    out = []
    for link in model.parameters.reshape(-1, 10):
        m = link[0] * (1 + size * rng.uniform(-1, 1))
        c = link[1:4] / link[0]
        xx, xy, yy, xz, yz, zz = link[4:]
        about = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        central = about - link[0] * (c @ c * np.eye(3) - np.outer(c, c))
        central = central + link[0] * 0.02**2 * np.eye(3)
        c = c + 0.02 * rng.uniform(-1, 1, 3)
        I = central + m * (c @ c * np.eye(3) - np.outer(c, c))
        out.append([m, *(m * c), I[0, 0], I[0, 1], I[1, 1], I[0, 2], I[1, 2], I[2, 2]])
    pi = np.concatenate(out)
    assert is_consistent(pi)
    return model.replace(parameters=pi)


def test_regressor_is_the_wrench(arm):
    model, layout = arm
    q, dq, ddq = motion(4, 0.1)
    Y = felt_regressor(model, layout, q, dq, ddq)
    offset = np.array([-3.0, 0.2, 0.1])
    felt = (Y @ [*model.parameters, *offset]).reshape(-1, 3)
    for k in range(len(q)):
        wrench = model.base_wrench(q[k], dq[k], ddq[k])
        np.testing.assert_allclose(felt[k], wrench[2:5] + offset, atol=1e-10)
    assert parameter_names(model, layout)[-3:] == ('offset_Fz', 'offset_Mx', 'offset_My')


def test_felt_parameters_of_a_known_chain():
    # One vertical axis: an upright cell base feels m only with the offset, mx and my alone,
    # Ixz and Iyz by dynamics; never Ixx, Iyy, Izz or mz.
    model = Arm(CAROUSEL)
    layout = CellLayout.upright([(0, 1), (1, -1), (-1, -1)])
    felt = felt_parameters(model, layout)
    found = {name.split(' ')[0].rstrip('1') for name in felt.names}
    assert found <= {'m', 'mx', 'my', 'Ixz', 'Iyz', 'offset_Fz', 'offset_Mx', 'offset_My'}
    assert len(felt) == 7


def test_filtered_regressor_needs_no_acceleration(arm):
    model, layout = arm
    fine = 1e-3
    K = 10.0
    t = np.arange(0, 1.5, fine)[:, None]
    phase = 4 * t + np.arange(4)
    q, dq, ddq = 0.4 * np.sin(phase), 1.6 * np.cos(phase), -6.4 * np.sin(phase)
    felt = upright(model, q, dq, ddq)
    low = felt[0]
    regressor = FilteredRegressor(model, layout, K)
    phi = np.concatenate([model.parameters, np.zeros(3)])
    share = -np.expm1(-K * fine)
    for k in range(len(q)):
        if k:
            low = low + share * (0.5 * (felt[k] + felt[k - 1]) - low)
        predicted = regressor.step(q[k], dq[k], fine) @ phi
    np.testing.assert_allclose(predicted, low, atol=2e-3)


def test_batch_recovers_the_felt_combinations(arm):
    nominal, layout = arm
    truth = disturbed(nominal)
    q, dq, ddq = motion(4)
    rng = np.random.default_rng(0)
    offset = np.array([-3.0, 0.2, 0.1])
    felt = upright(truth, q, dq, ddq)
    noise = np.array([0.04, 0.004, 0.004])
    felt = felt + offset + noise * rng.standard_normal(felt.shape)
    result = estimate_batch(nominal, layout, FeltMotion(q, dq, ddq, felt))
    # Combinations: estimate within its own confidence of the truth.
    base = felt_parameters(nominal, layout)
    assert len(result.names) == len(base)
    np.testing.assert_allclose(result.error_after, noise, rtol=0.05)
    assert (result.error_before > 5 * result.error_after).all()
    assert is_consistent(result.model.parameters)
    # On another motion the corrected arm predicts what the true one feels.
    q, dq, ddq = motion(4, 5.0, seed=9)
    for k in range(0, len(q), 50):
        wrench = result.model.base_wrench(q[k], dq[k], ddq[k])[2:5] + result.offset
        true = truth.base_wrench(q[k], dq[k], ddq[k])[2:5] + offset
        np.testing.assert_allclose(wrench, true, atol=0.05)


def test_batch_without_offset_finds_the_total_mass(arm):
    nominal, layout = arm
    truth = disturbed(nominal)
    q, dq, ddq = motion(4, 10)
    felt = upright(truth, q, dq, ddq)
    noise = np.array([0.04, 0.004, 0.004])
    felt = felt + noise * np.random.default_rng(1).standard_normal(felt.shape)
    result = estimate_batch(nominal, layout, FeltMotion(q, dq, ddq, felt), fit_offset=False)
    assert result.model.masses.sum() == pytest.approx(truth.masses.sum(), rel=1e-3)
    np.testing.assert_array_equal(result.offset, 0)


def test_batch_refuses_bad_recordings(arm):
    model, layout = arm
    q, dq, ddq = motion(4, 1)
    felt = np.zeros((len(q), 3))
    with pytest.raises(ArmsenseError, match='shapes of the motion'):
        estimate_batch(model, layout, FeltMotion(q, dq, ddq, felt[1:]))
    felt[3] = np.nan
    with pytest.raises(ArmsenseError, match='NaN'):
        estimate_batch(model, layout, FeltMotion(q, dq, ddq, felt))


def run(estimator, nominal, layout, truth, seconds=40.0):
    q, dq, ddq = motion(4, seconds)
    Y = felt_regressor(nominal, layout, q, dq, ddq).reshape(len(q), 3, -1)
    felt = upright(truth, q, dq, ddq)
    noise = np.array([0.04, 0.004, 0.004])
    felt = felt + noise * np.random.default_rng(1).standard_normal(felt.shape)
    errors = [estimator.step(Y[k], felt[k], DT) for k in range(len(q))]
    return np.abs(errors)


def test_recursive_estimation_converges_while_moving(arm):
    nominal, layout = arm
    truth = disturbed(nominal)
    estimator = RecursiveEstimator(nominal, layout, [0.04, 0.004, 0.004],
                                   RecursiveOptions(outlier=1e6, rate_limit=0.5))
    errors = run(estimator, nominal, layout, truth)
    before, after = errors[:5].mean(axis=0), errors[-500:].mean(axis=0)
    assert (after < 0.2 * before).all()
    np.testing.assert_allclose(after, np.array([0.04, 0.004, 0.004]) * 0.8, rtol=0.5)
    model = nominal.replace(parameters=estimator.phi[:-3])
    q, dq, ddq = motion(4, 2.0, seed=9)
    wrench = model.base_wrench(q[7], dq[7], ddq[7])[2:5] + estimator.phi[-3:]
    np.testing.assert_allclose(wrench, truth.base_wrench(q[7], dq[7], ddq[7])[2:5], atol=0.1)


def test_thesis_step_is_the_pseudo_inverse(arm):
    model, layout = arm
    options = RecursiveOptions(remember=False, rate_limit=1e9)
    estimator = RecursiveEstimator(model, layout, 1e-7, options)
    q, dq, ddq = motion(4, 0.02)
    Y = felt_regressor(model, layout, q[:1], dq[:1], ddq[:1])
    change = np.array([1.0, -0.2, 0.3])
    start = estimator.phi.copy()
    estimator.step(Y, Y @ start + change, DT)
    s = estimator.scale
    expected = s * (np.linalg.pinv(Y * s) @ change)      # 2.21 in scaled parameters
    np.testing.assert_allclose(estimator.phi - start, expected, atol=1e-6)
    np.testing.assert_allclose(Y @ estimator.phi, Y @ start + change, atol=1e-6)


def test_masks_and_rate_limits(arm):
    model, layout = arm
    truth = disturbed(model)
    estimator = RecursiveEstimator(model, layout, [0.04, 0.004, 0.004],
                                   RecursiveOptions(outlier=1e6))
    estimator.hold(['m1', 'm2', 'm3', 'm4', 'I*'])
    estimator.limit('mx4', 1e-3)
    names = list(estimator.names)
    start, last = estimator.phi.copy(), estimator.phi.copy()
    q, dq, ddq = motion(4, 3.0)
    Y = felt_regressor(model, layout, q, dq, ddq).reshape(len(q), 3, -1)
    for k in range(len(q)):
        wrench = truth.base_wrench(q[k], dq[k], ddq[k])[2:5]
        estimator.step(Y[k], wrench, DT)
        step = np.abs(estimator.phi - last) / estimator.scale
        assert step.max() <= 0.05 * DT + 1e-12
        assert step[names.index('mx4')] <= 1e-3 * DT + 1e-12
        last = estimator.phi.copy()
    held = [k for k, n in enumerate(names) if n.startswith('I') or n in ('m1', 'm2', 'm3', 'm4')]
    np.testing.assert_array_equal(estimator.phi[held], start[held])
    assert np.abs(estimator.phi - start).max() > 0
    with pytest.raises(UnknownName, match='mx9'):
        estimator.hold(['mx9'])


def test_a_collision_does_not_teach(arm):
    model, layout = arm
    estimator = RecursiveEstimator(model, layout, [0.04, 0.004, 0.004],
                                   RecursiveOptions(uncertainty=0.01))
    run(estimator, model, layout, model, 20.0)
    learned = estimator.phi.copy()
    q, dq, ddq = motion(4, 0.1)
    Y = felt_regressor(model, layout, q[:1], dq[:1], ddq[:1])
    rejected = estimator.rejected
    estimator.step(Y, Y @ learned + [-5.0, 2.0, 2.0], DT)
    assert estimator.rejected == rejected + 1
    np.testing.assert_array_equal(estimator.phi, learned)
