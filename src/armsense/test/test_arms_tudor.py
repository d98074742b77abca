"""The tudor arm against section 3 of paper 001."""

from __future__ import annotations

import numpy as np
import pytest

from armsense.model import Arm

G = 9.81


@pytest.fixture(scope='module')
def model() -> Arm:
    return Arm.load('tudor')


def test_gears_and_encoders(model):
    joints = list(model.config.joints.values())
    assert [j.gear_ratio for j in joints] == [156, 230, 246]
    assert [j.motor_encoder.counts for j in joints] == [4 * 500] * 3
    assert all(0 < j.backlash < np.radians(1.0) for j in joints)
    assert [j.drive for j in joints] == ['rigid', 'strain_link', 'strain_link']


def test_speeds_of_the_experiments(model):
    assert (model.velocity_limits > np.radians(100.0)).all()
    for joint in model.config.joints.values():
        assert joint.acceleration_limit == pytest.approx(np.radians(200.0), rel=1e-3)


def test_poses_of_the_experiments_are_within_the_limits(model):
    low, high = model.position_limits
    for pose in ([0, 45, -45], [0, 135, 45]):
        assert (low < np.radians(pose)).all()
        assert (high > np.radians(pose)).all()


def test_blades(model):
    for joint in list(model.config.joints.values())[1:]:
        strain = joint.strain
        assert strain.linear_density * strain.length == pytest.approx(0.185, rel=1e-3)
        assert strain.linear_density == pytest.approx(7850 * 0.004 * 0.015)
        assert strain.bending_stiffness == pytest.approx(206e9 * 0.015 * 0.004**3 / 12, rel=1e-3)
        assert strain.surface_distance == 0.002
        assert strain.gauge_position < strain.length / 10
    zero = np.zeros(3)
    link3, tool = model.frame_pose(zero, 'link3'), model.frame_pose(zero)
    assert np.linalg.norm((tool - link3)[:3, 3]) == pytest.approx(strain.length, rel=1e-3)


def test_blades_oscillate_at_1_to_13_hz(model):
    # Cantilever with the mass beyond it at its tip; the document observes 1 to 13 Hz.
    strain = model.config.joints['joint2'].strain
    stiffness = 3 * strain.bending_stiffness / strain.length**3
    for payload in (0.0, 0.4):
        tip = model.masses[1] - 0.185 * (1 - 33 / 140) + model.masses[2] + payload
        assert 1.0 < np.sqrt(stiffness / tip) / (2 * np.pi) < 13.0
    tip = 0.06 + 0.185 * 33 / 140
    assert 1.0 < np.sqrt(stiffness / tip) / (2 * np.pi) < 16.0   # blade 3 without payload


def test_first_axis_is_vertical_and_the_others_level(model):
    J = model.jacobian(np.array(model.config.home))[3:]
    np.testing.assert_allclose(J[:, 0], [0, 0, 1], atol=1e-12)
    np.testing.assert_allclose(J[2, 1:], 0.0, atol=1e-12)
    np.testing.assert_allclose(J[:, 1], J[:, 2], atol=1e-12)


def test_gravity_torques_of_blades_and_lumps(model):
    L = 0.185 / (7850 * 0.004 * 0.015)
    elbow = G * (0.185 * L / 2 + 0.06 * L)
    shoulder = G * (0.185 * L / 2 + 0.8 * L + 0.245 * L) + elbow
    np.testing.assert_allclose(model.gravity_torque(np.zeros(3)), [0, shoulder, elbow], atol=1e-12)


def test_rotors_do_not_load_the_gauges(model):
    # A gauge sits behind the rotor, so that only joint 1 has its rotor in the mass matrix.
    joints = list(model.config.joints.values())
    np.testing.assert_allclose(model.armature, [joints[0].reflected_inertia, 0, 0])
