"""The crs_a465 arm against table I of paper 002."""

from __future__ import annotations

import numpy as np
import pytest

from armsense.identify.estimation.base_parameters import base_parameters
from armsense.model import Arm
from bench.base_estimate import arm_base_parameters

G, L2 = 9.81, 0.305
# The table's parameters by the one that leads each line, and its exact values. Products of
# inertia are printed as plus the integral of x y; ours have a minus.
LEADING = ('Iyy1', 'mx2', 'my2', 'Ixx2', 'Ixy2', 'Ixz2', 'Iyz2', 'Izz2', 'mx3', 'mz3', 'Izz3',
           'Ixy3', 'Ixz3', 'Iyy3', 'Iyz3')
EXACT = np.array([0.2812, 4.3310, -0.0910, -0.0898, -0.0028, 0.0458, 0.0006, 0.1204, -0.0500,
                  -1.9800, -0.0951, 0.0003, -0.0016, 0.1081, 0.0016])
SIGN = np.array([-1.0 if name[:3] in ('Ixy', 'Ixz', 'Iyz') else 1.0 for name in LEADING])
MOMENTS = [0, 3, 7, 10, 13]          # lines 1, 4, 8, 11, 14
OTHERS = [k for k in range(15) if k not in MOMENTS]


@pytest.fixture(scope='module')
def model() -> Arm:
    return Arm.load('crs_a465')


@pytest.fixture(scope='module')
def table(model):
    """Base parameters led as table I leads them."""
    q, dq, ddq = np.random.default_rng(0).uniform(-1.5, 1.5, (3, 80, 3))
    return base_parameters(model.torque_regressor_batch(q, dq, ddq), model.parameter_names,
                           prefer=LEADING)


def test_number_of_parameters_is_15_and_6_of_friction(model):
    assert len(arm_base_parameters(model)) == 15
    q, dq, ddq = np.random.default_rng(0).uniform(-1.5, 1.5, (3, 80, 3))
    eye = np.eye(3)
    W = np.hstack([model.torque_regressor_batch(q, dq, ddq),
                   (dq[:, :, None] * eye).reshape(-1, 3),
                   (np.sign(dq)[:, :, None] * eye).reshape(-1, 3)])
    names = (*model.parameter_names, 'b1', 'b2', 'b3', 'c1', 'c2', 'c3')
    assert len(base_parameters(W, names)) == 21


def test_parameters_of_table_1_are_a_base(table):
    assert {table.parameter_names[k] for k in table.independent} == set(LEADING)


def printed_order(table, values: np.ndarray) -> np.ndarray:
    leads = [table.parameter_names[k] for k in table.independent]
    return SIGN * values[[leads.index(name) for name in LEADING]]


def test_combinations_are_those_of_table_1_with_their_parallel_axis_terms(table):
    names = {name.split()[0]: name for name in table.names}
    # Our link frame 2 stands at the shoulder, so that the table's l2 m2 is part of mx2; an
    # identifiable moment carries l2^2 m3, which the table leaves out.
    assert names['mx2'] == 'mx2 + 0.305 m3'
    assert names['Ixz2'] == 'Ixz2 - 0.305 my3'           # plus in the table's sign of products
    assert names['Izz2'] == 'Izz2 + 0.09303 m3'
    assert names['Ixx2'] == 'Ixx2 - Iyy2 - 0.09303 m3'
    assert names['Izz3'] == 'Izz3 - Ixx3'
    assert names['Iyy1'] == 'Iyy1 + Iyy2 + 0.09303 m3 + Ixx3'
    for alone in ('my2', 'Ixy2', 'Iyz2', 'mx3', 'mz3', 'Ixy3', 'Ixz3', 'Iyy3', 'Iyz3'):
        assert names[alone] == alone


def test_first_moments_and_products_are_table_1(model, table):
    ours = printed_order(table, table.project(model.parameters))
    np.testing.assert_allclose(ours[OTHERS], EXACT[OTHERS], atol=1e-9)


def test_moments_of_inertia_are_table_1_about_the_centres_of_mass(model, table):
    ours = printed_order(table, table.project(model.parameters))
    pi = model.parameters.reshape(3, 10)
    m, c = pi[:, 0], pi[:, 1:4] / pi[:, :1]
    steiner = m[:, None] * (np.sum(c**2, axis=1)[:, None] - c**2)   # xx, yy, zz of links 1 to 3
    carried = m[2] * L2**2
    extra = np.array([steiner[0, 1] + steiner[1, 1] + steiner[2, 0] + carried,
                      steiner[1, 0] - steiner[1, 1] - carried,
                      steiner[1, 2] + carried,
                      steiner[2, 2] - steiner[2, 0],
                      steiner[2, 1]])
    np.testing.assert_allclose(ours[MOMENTS] - extra, EXACT[MOMENTS], atol=1e-9)


def test_table_1_itself_is_no_arm(model, table):
    """Why lines 1, 4, 8, 11, 14 cannot hold as base parameters.

    A forearm with first moment 1.98 kg m and moment of inertia 0.1081 kg m^2 about the elbow
    would weigh 36 kg or more, and with them the upper arm's share of the mass matrix is negative.
    """
    assert EXACT[9] ** 2 / EXACT[13] > 36.0
    leads = [table.parameter_names[k] for k in table.independent]
    beta = np.array([(SIGN * EXACT)[LEADING.index(name)] for name in leads])
    zero = np.zeros(3)
    lowest = np.inf
    for q3 in np.linspace(-1.9, 1.9, 39):
        q = np.array([0.0, 0.3, q3])
        still = table.regressor(model.torque_regressor(q, zero, zero)) @ beta
        M = np.column_stack([table.regressor(model.torque_regressor(q, zero, axis)) @ beta - still
                             for axis in np.eye(3)])
        lowest = min(lowest, np.linalg.eigvalsh(0.5 * (M + M.T)).min())
    assert lowest < -0.1


def test_gravity_torques_from_table_1(model):
    for q in np.random.default_rng(3).uniform(-1.5, 1.5, (5, 3)):
        upper, fore = q[1], q[1] + q[2]
        shoulder = 4.3310 * np.cos(upper) + 0.0910 * np.sin(upper)
        elbow = -0.0500 * np.cos(fore) - 1.9800 * np.sin(fore)
        expected = [0.0, G * (shoulder + elbow), G * elbow]
        np.testing.assert_allclose(model.gravity_torque(q), expected, atol=1e-9)


def test_friction_noise_and_limits(model):
    joints = list(model.config.joints.values())
    assert [j.friction.viscous for j in joints] == [1.7760, 3.3480, 2.3110]
    assert [j.friction.coulomb for j in joints] == [3.5120, 0.6350, 1.4510]
    variance = [(j.current_sensor.noise * j.torque_per_ampere) ** 2 for j in joints]
    np.testing.assert_allclose(variance, [25.0, 16.0, 9.0])
    np.testing.assert_array_equal(model.position_limits[1], [3.0, 1.6, 1.9])
    np.testing.assert_array_equal(model.position_limits[0], [-3.0, -1.6, -1.9])
    np.testing.assert_array_equal(model.velocity_limits, [3.14] * 3)
    assert [j.acceleration_limit for j in joints] == [12.5] * 3
    assert model.config.rate == 300.0
