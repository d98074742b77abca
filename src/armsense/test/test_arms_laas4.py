"""The laas4 arm against the tables of thesis 004."""

from __future__ import annotations

import numpy as np
import pytest

from armsense.identify.estimation.base_parameters import base_parameters
from armsense.model import Arm
from bench.base_estimate import arm_base_parameters

# Table A.1, column CAD: m, mx, my, mz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz of links 1 to 4.
TABLE_A1 = np.array([
    [2.76e-1, 0, 0, 2.87e-2, 4.33e-3, 0, 4.33e-3, 0, 0, 1.53e-4],
    [5.54e-1, 1.16e-1, 0, 1.99e-3, 3.16e-4, 0, 3.07e-2, -3.50e-4, 0, 3.08e-2],
    [5.28e-1, 2.06e-3, 0, 9.98e-2, 2.54e-2, 0, 2.54e-2, -3.44e-4, 0, 3.25e-4],
    [1.29e-1, 6.13e-3, 0, 0, 5.10e-5, 0, 4.90e-4, 4.49e-5, 0, 4.83e-4]])
# Table 2.1: a, d, alpha, offset of theta. d3 is the length of the arm.
TABLE_21 = [(0, 0, np.pi / 2, 0), (0, 0, np.pi / 2, np.pi / 2), (0, 0.65, np.pi / 2, 0),
            (0, 0, 0, 0)]
G = 9.81


@pytest.fixture(scope='module')
def model() -> Arm:
    return Arm.load('laas4')


def dh(a: float, d: float, alpha: float, theta: float) -> np.ndarray:
    ct, st, ca, sa = np.cos(theta), np.sin(theta), np.cos(alpha), np.sin(alpha)
    return np.array([[ct, -st * ca, st * sa, a * ct], [st, ct * ca, -ct * sa, a * st],
                     [0, sa, ca, d], [0, 0, 0, 1]])


def test_inertias_are_table_a1(model):
    np.testing.assert_allclose(model.parameters.reshape(4, 10), TABLE_A1, atol=1e-15)


def test_link_1_is_that_of_the_printed_urdf(model):
    # Snippet A.1 prints link 1 about its centre of mass, with more digits than table A.1.
    m, mz, ixx, izz = model.parameters[[0, 3, 4, 9]]
    assert mz / m == pytest.approx(0.104, abs=5e-5)
    assert ixx - mz**2 / m == pytest.approx(0.001342508, rel=0.005)
    assert izz == pytest.approx(0.000152961, rel=0.001)


def test_frames_are_table_2_1(model):
    # The document's frame 0 stands on the axis of joint 2, 0.167 m above ours.
    rng = np.random.default_rng(0)
    for q in rng.uniform(-2, 2, (10, 4)):
        pose = np.eye(4)
        pose[2, 3] = 0.167
        for (a, d, alpha, offset), angle in zip(TABLE_21, q, strict=True):
            pose = pose @ dh(a, d, alpha, angle + offset)
        np.testing.assert_allclose(model.frame_pose(q, 'link4'), pose, atol=1e-12)


def test_total_mass(model):
    assert model.masses.sum() == pytest.approx(1.487)


def test_gravity_torques_from_the_table(model):
    # Arm stretched out level, hand turned up: levers 0.35 m to joint 3 and 0.65 m to joint 4.
    m, mx, mz = TABLE_A1[:, 0], TABLE_A1[:, 1], TABLE_A1[:, 3]
    level = mx[1] + 0.35 * m[2] + mz[2] + 0.65 * m[3]
    tau = model.gravity_torque(np.zeros(4))
    assert tau[1] == pytest.approx(G * level, rel=1e-12)
    assert tau[0] == pytest.approx(0.0, abs=1e-12)
    # Hand stretched out too: its first moment adds to joints 2 and 4.
    tau = model.gravity_torque(np.array([0.0, 0.0, 0.0, np.pi / 2]))
    assert tau[1] == pytest.approx(G * (level + mx[3]), rel=1e-12)
    assert abs(tau[3]) == pytest.approx(G * mx[3], rel=1e-12)
    # Upright: only the offsets of links 2 and 3 from the axis remain.
    tau = model.gravity_torque(np.array([0.0, np.pi / 2, 0.0, 0.0]))
    assert abs(tau[1]) < G * (abs(mx[2]) + mx[3]) + 1e-12


def test_rank_30_with_friction(model):
    """Section 5.2 finds rank 30 of 48: 22 inertial and 8 friction parameters, as here."""
    assert len(arm_base_parameters(model)) == 22
    q, dq, ddq = np.random.default_rng(1).uniform(-2, 2, (3, 200, 4))
    W = np.hstack([model.torque_regressor_batch(q, dq, ddq), friction_columns(dq)])
    names = (*model.parameter_names, *(f'fv{k}' for k in range(4)), *(f'fs{k}' for k in range(4)))
    assert W.shape == (800, 48)
    assert len(base_parameters(W, names)) == 30
    assert np.linalg.matrix_rank(W) == 30


def friction_columns(dq: np.ndarray) -> np.ndarray:
    eye = np.eye(dq.shape[1])
    return np.hstack([(dq[:, :, None] * eye).reshape(-1, dq.shape[1]),
                      (np.sign(dq)[:, :, None] * eye).reshape(-1, dq.shape[1])])


def test_drives_are_tables_4_1_and_4_3(model):
    joints = list(model.config.joints.values())
    assert [j.gear_ratio for j in joints] == [31, 27, 31, 27]
    assert [j.friction.coulomb for j in joints] == [0.247, 0.103, 0.122, 0.103]
    motor_side = [6.45e-6, 3.96e-6, 2.42e-6, 3.96e-6]
    for joint, viscous in zip(joints, motor_side, strict=True):
        assert joint.friction.viscous == pytest.approx(viscous * joint.gear_ratio**2, rel=1e-3)
