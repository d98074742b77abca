"""Base parameters: rank, combinations and the two ways to the triangular factor."""

from __future__ import annotations

import numpy as np
import pytest

from armsense.errors import BadValue, UnknownName
from armsense.identify.estimation import base_parameters as module
from armsense.identify.estimation.base_parameters import (
    base_parameters,
    BaseParameters,
    GRAM_LIMIT,
    regrouped,
)
from armsense.model import Arm
from bench.base_estimate import arm_base_parameters, base_estimate

ARMS = {'biorob': 22, 'crs_a255': 15, 'crs_a465': 15, 'laas4': 22, 'tudor': 15, 'zeego': 36}


def motion(model: Arm, samples: int, seed: int = 1) -> np.ndarray:
    return model.torque_regressor_batch(
        *np.random.default_rng(seed).uniform(-2, 2, (3, samples, model.n)))


@pytest.mark.parametrize(('arm', 'count'), ARMS.items())
def test_number_is_the_rank(arm, count):
    model = Arm.load(arm)
    found = arm_base_parameters(model)
    assert len(found) == count == np.linalg.matrix_rank(motion(model, 100))
    assert found.kept > 1e3 * GRAM_LIMIT      # a wide gap between kept and dropped
    assert found.dropped < 1e-12


@pytest.mark.parametrize('arm', ARMS)
def test_base_regressor_gives_the_same_torques(arm):
    model = Arm.load(arm)
    found = arm_base_parameters(model)
    W = motion(model, 30, seed=2)             # other states than those it was found from
    rng = np.random.default_rng(3)
    for pi in (model.parameters, rng.normal(size=10 * model.n)):
        tau = W @ pi
        base = found.regressor(W) @ found.project(pi)
        np.testing.assert_allclose(base, tau, atol=1e-10 * np.abs(tau).max())


def test_combinations_of_a_pendulum_on_a_turntable():
    """Two links, worked out by hand: a vertical axis, then a level one, frames as in the URDF."""
    urdf = """<robot name="two"><link name="base"/>
      <link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0"
        iyz="0"/></inertial></link>
      <link name="b"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0"
        iyz="0"/></inertial></link>
      <joint name="j1" type="revolute"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/>
        <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
      <joint name="j2" type="revolute"><parent link="a"/><child link="b"/>
        <origin xyz="0.5 0 0" rpy="1.5707963267948966 0 0"/><axis xyz="0 0 1"/>
        <limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>"""
    found = arm_base_parameters(Arm(urdf))
    # Seen from axis 1, link 2 turns with Ixx sin^2 + Iyy cos^2 and stands 0.5 m aside, so that m2
    # and Iyy2 can only be felt there. A mass at (x, y, z) of link 2 couples the axes by z x sin +
    # z y cos, without the 0.5 m: mz2 is not felt at all.
    assert set(found.names) == {'Izz1 + 0.25 m2 + Iyy2', 'mx2', 'my2', 'Ixx2 - Iyy2', 'Ixy2',
                                'Ixz2', 'Iyz2', 'Izz2'}
    assert not found.combination[:, found.parameter_names.index('mz2')].any()


def test_named_preference_leads():
    model = Arm.load('biorob')
    W = motion(model, 60)
    found = base_parameters(W, model.parameter_names, prefer=['m4', 'mx4', 'Iyy4'])
    leads = {model.parameter_names[k] for k in found.independent}
    assert {'m4', 'mx4', 'Iyy4'} <= leads
    assert len(found) == 22
    pi = model.parameters
    np.testing.assert_allclose(found.regressor(W) @ found.project(pi), W @ pi, atol=1e-10)


def test_dependent_preference_is_passed_over():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 50))
    found = base_parameters(np.column_stack([a, 2 * a, b]), ['p', 'q', 'r'], prefer=['q', 'p'])
    assert found.names == ('q + 0.5 p', 'r')
    np.testing.assert_allclose(found.combination, [[0.5, 1, 0], [0, 0, 1]], atol=1e-12)


def test_zero_columns_belong_to_nothing():
    rng = np.random.default_rng(0)
    W = np.column_stack([rng.normal(size=50), np.zeros(50), 1e-18 * rng.normal(size=50)])
    found = base_parameters(W, ['p', 'q', 'r'])
    assert found.names == ('p',)
    np.testing.assert_array_equal(found.combination, [[1, 0, 0]])


def test_nothing_moves():
    found = base_parameters(np.zeros((10, 3)), ['p', 'q', 'r'])
    assert len(found) == 0
    assert found.combination.shape == (0, 3)


def test_fewer_rows_than_columns():
    W = np.random.default_rng(0).normal(size=(3, 7))
    assert len(base_parameters(W, list('abcdefg'))) == 3


def test_scale_of_a_column_does_not_matter():
    # A moment of inertia in g mm^2 beside a mass in kg.
    rng = np.random.default_rng(0)
    a, b, c = rng.normal(size=(3, 80))
    W = np.column_stack([a, 1e-9 * b, c, 1e-9 * (2 * b + c)])
    found = base_parameters(W, list('pqrs'), prefer=list('pqr'))
    assert len(found) == 3
    np.testing.assert_allclose(found.project([1, 2, 3, 4]), [1, 10, 3 + 4e-9], rtol=1e-12)


def test_gram_matrix_and_qr_agree(monkeypatch):
    model = Arm.load('zeego')
    W = motion(model, 300)
    by_qr = base_parameters(W, model.parameter_names, prefer=regrouped(model.parameter_names))
    monkeypatch.setattr(module, 'SMALL', 0)
    by_gram = base_parameters(W, model.parameter_names, prefer=regrouped(model.parameter_names))
    assert by_gram.independent == by_qr.independent
    np.testing.assert_allclose(by_gram.combination, by_qr.combination, atol=1e-9)
    assert by_qr.dropped < 1e-13 < by_gram.dropped < GRAM_LIMIT   # the price of squaring


def test_long_recording_is_cut_into_blocks_that_add_up():
    rng = np.random.default_rng(0)
    W = rng.normal(size=(3 * module.GRAM_ROWS + 17, 50))
    W[:, 49] = W[:, 0] - 3 * W[:, 1]
    assert W.size > module.SMALL
    found = base_parameters(W, [f'p{k}' for k in range(50)], prefer=[f'p{k}' for k in range(49)])
    assert len(found) == 49
    assert found.names[:3] == ('p0 + p49', 'p1 - 3 p49', 'p2')


@pytest.mark.parametrize(('size', 'tolerance', 'count'),
                         [(1e-3, 1e-6, 3), (1e-5, 1e-6, 3), (1e-8, 1e-6, 2), (1e-8, 1e-10, 3)])
def test_tolerance_decides(monkeypatch, size, tolerance, count):
    monkeypatch.setattr(module, 'SMALL', 0)   # a fine tolerance takes QR all the same
    rng = np.random.default_rng(0)
    a, b, c = rng.normal(size=(3, 400))
    W = np.column_stack([a, b, a + b + size * c])
    assert len(base_parameters(W, list('pqr'), tolerance)) == count


def test_bad_input():
    W = np.ones((5, 2))
    with pytest.raises(BadValue, match=r'shape of the regressor is \(5, 2\); it must be \(N, 3\)'):
        base_parameters(W, list('pqr'))
    with pytest.raises(BadValue, match='tolerance is 0; it must be > 0 and < 1'):
        base_parameters(W, list('pq'), 0)
    with pytest.raises(UnknownName, match="unknown parameter 'x'.*known: p, q"):
        base_parameters(W, list('pq'), prefer=['x'])
    with pytest.raises(BadValue, match='a regressor entry is .*; it must be finite'):
        base_parameters(np.full((5, 2), np.nan), list('pq'))
    found = base_parameters(np.random.default_rng(0).normal(size=(5, 2)), list('pq'))
    assert isinstance(found, BaseParameters)
    with pytest.raises(BadValue, match=r'shape of the parameters is \(3,\); it must be \(2,\)'):
        found.project(np.zeros(3))
    with pytest.raises(BadValue, match=r'shape of the regressor is \(4, 3\); it must be \(N, 2\)'):
        found.regressor(np.zeros((4, 3)))


def test_estimate_in_one_pass_is_least_squares():
    model = Arm.load('laas4')
    W = motion(model, 300)
    rng = np.random.default_rng(4)
    y = W @ model.parameters + 0.1 * rng.standard_normal(len(W))
    base, beta, error = base_estimate(W, y, model.parameter_names)
    expected, residual = np.linalg.lstsq(base.regressor(W), y, rcond=None)[:2]
    assert len(base) == 22
    np.testing.assert_allclose(beta, expected, atol=1e-6)
    assert error == pytest.approx(np.sqrt(residual[0]), rel=1e-5)
    with pytest.raises(BadValue, match='shapes'):
        base_estimate(W, y[1:], model.parameter_names)
