import dataclasses

import numpy as np
import pytest

from armsense.errors import ArmsenseError, BadValue, UnknownName
from armsense.model import Arm, ArmConfig
from armsense.model.arm_config import FrictionConfig
from armsense.sim import make_plant

RIGID_ARMS = ('laas4', 'crs_a465', 'crs_a255', 'zeego')


def laas4_model(config):
    return Arm.load(config)


@pytest.mark.parametrize('arm', RIGID_ARMS)
def test_acceleration_is_that_of_pinocchio(arm, without_friction):
    config = without_friction(ArmConfig.load(arm))
    plant, model = make_plant(config), Arm.load(config)
    low, high = model.position_limits
    rng = np.random.default_rng(7)
    for _ in range(3):
        q = rng.uniform(0.8 * low, 0.8 * high)
        dq = rng.normal(scale=0.5, size=plant.n)
        torque = model.gravity_torque(q) + rng.normal(size=plant.n)
        plant.reset(q)
        plant.data.qvel[:] = dq
        plant.step(torque, 1e-6)
        ddq = (plant.state.joint_velocity - dq) / 1e-6
        np.testing.assert_allclose(ddq, model.forward_dynamics(q, dq, torque),
                                   rtol=1e-4, atol=1e-3)


def test_frictionless_swing_keeps_its_energy(without_friction, run):
    plant = make_plant(without_friction(ArmConfig.load('laas4')))
    plant.reset([0.3, 1.0, 0.2, -0.5])
    before = plant.energy
    run(plant, np.zeros(4), 0.4)
    kinetic = 0.5 * plant.state.joint_velocity @ Arm.load(plant.config).mass_matrix(
        plant.state.joint_position) @ plant.state.joint_velocity
    assert kinetic > 1.0
    assert plant.energy == pytest.approx(before, abs=0.01 * kinetic)


def test_swing_loses_what_friction_takes(run):
    config = ArmConfig.load('laas4')
    viscous = np.array([j.friction.viscous for j in config.joints.values()])
    coulomb = np.array([j.friction.coulomb for j in config.joints.values()])
    plant = make_plant(config)
    plant.reset([0.3, 1.0, 0.2, -0.5])
    before = plant.energy
    states = run(plant, np.zeros(4), 0.4, dt=2.5e-4)
    dq = np.array([state.joint_velocity for state in states])
    lost = ((viscous * dq**2 + coulomb * np.abs(dq)).sum()) * 2.5e-4
    assert lost > 0.05
    assert before - plant.energy == pytest.approx(lost, rel=0.02, abs=0.005)


def test_angular_momentum_about_a_free_axis_is_kept(without_friction, run):
    """Joint 1 of laas4 is vertical: gravity has no moment about it."""
    config = without_friction(ArmConfig.load('laas4'))
    plant, model = make_plant(config), Arm.load(config)
    plant.reset([0.0, 0.9, 0.3, -0.4])
    plant.data.qvel[:] = [1.0, 0.2, -0.5, 0.3]
    q, dq = plant.state.joint_position, plant.state.joint_velocity
    before = (model.mass_matrix(q) @ dq)[0]
    run(plant, np.zeros(4), 0.3, dt=2.5e-4)
    after = (model.mass_matrix(plant.state.joint_position) @ plant.state.joint_velocity)[0]
    assert after == pytest.approx(before, rel=2e-3)


def test_stiction_holds_below_the_breakaway_torque(pendulum, run):
    friction = FrictionConfig(coulomb=0.5, stribeck=0.2, stribeck_velocity=0.1)
    plant = make_plant(pendulum(gravity=(0.0, 0.0, 0.0), friction=friction, rotor_inertia=1e-4))
    plant.reset([0.0])
    run(plant, [0.69], 2.0)
    assert abs(plant.state.joint_position[0]) < 1e-6
    run(plant, [0.71], 0.5)
    assert plant.state.joint_position[0] > 0.005


def test_stribeck_friction_falls_with_speed(pendulum, run):
    friction = FrictionConfig(coulomb=0.5, stribeck=0.2, stribeck_velocity=0.1, viscous=0.03)
    plant = make_plant(pendulum(gravity=(0.0, 0.0, 0.0), friction=friction))
    inertia = 0.17
    for speed in (0.1, 1.0):
        plant.reset([0.0])
        plant.data.qvel[0] = speed
        plant.step([1.0], 1e-4)
        ddq = (plant.state.joint_velocity[0] - speed) / 1e-4
        expected = 0.5 + 0.2 * np.exp(-(speed / 0.1)**2) + 0.03 * speed
        assert 1.0 - inertia * ddq == pytest.approx(expected, abs=0.003)


def test_asymmetry_shifts_friction(pendulum, run):
    plant = make_plant(pendulum(gravity=(0.0, 0.0, 0.0),
                                friction=FrictionConfig(coulomb=0.5, asymmetry=0.2)))
    plant.reset([0.0])
    run(plant, [0.65], 0.5)
    assert abs(plant.state.joint_position[0]) < 1e-6      # needs 0.7 this way
    run(plant, [-0.35], 0.5)
    assert plant.state.joint_position[0] < -0.01          # and 0.3 the other way


def test_backlash_lets_the_motor_travel_before_the_link(pendulum, run):
    backlash = 0.02
    plant = make_plant(pendulum(gravity=(0.0, 0.0, 0.0), backlash=backlash, rotor_inertia=1e-4))
    plant.reset([0.0])
    run(plant, [0.05], 0.4)
    assert (plant.state.motor_position - plant.state.joint_position)[0] == pytest.approx(
        0.5 * backlash, abs=1e-4)
    moved = plant.state.joint_position[0]
    assert moved > 0.01
    run(plant, [-0.05], 1.5)
    assert (plant.state.motor_position - plant.state.joint_position)[0] == pytest.approx(
        -0.5 * backlash, abs=1e-4)


@pytest.mark.parametrize('arm', RIGID_ARMS)
def test_base_wrench_of_a_resting_and_a_moving_arm(arm, without_friction):
    config = without_friction(ArmConfig.load(arm))
    plant, model = make_plant(config), Arm.load(config)
    q = plant.state.joint_position
    rest = model.base_wrench_regressor(q, 0 * q, 0 * q) @ model.parameters
    np.testing.assert_allclose(plant.base_wrench, rest, atol=1e-6 * np.abs(rest).max())

    rng = np.random.default_rng(4)
    dq, torque = rng.normal(scale=0.5, size=plant.n), model.gravity_torque(q) + 1.0
    plant.data.qvel[:] = dq
    plant.data.qfrc_applied[:] = torque
    ddq = model.forward_dynamics(q, dq, torque)
    moving = model.base_wrench_regressor(q, dq, ddq) @ model.parameters
    np.testing.assert_allclose(plant.base_wrench, moving, atol=1e-5 * np.abs(moving).max())


def test_payload_weighs_on_the_joints():
    plant, model = make_plant('laas4'), Arm.load('laas4')
    center = (0.02, -0.01, 0.03)
    plant.set_payload(0.5, center)
    plant.reset([0.2, 0.7, -0.3, 0.4])
    q = plant.state.joint_position
    np.testing.assert_allclose(plant.holding_torque,
                               model.with_payload(0.5, center).gravity_torque(q), atol=1e-9)
    plant.set_payload(0.0)
    np.testing.assert_allclose(plant.holding_torque, model.gravity_torque(q), atol=1e-9)


def test_payload_in_motion_keeps_the_state(run):
    plant = make_plant('laas4')
    run(plant, np.zeros(4), 0.1)
    before = plant.state
    plant.set_payload(0.2)
    after = plant.state
    assert after.time == before.time
    np.testing.assert_array_equal(after.joint_position, before.joint_position)
    np.testing.assert_array_equal(after.joint_velocity, before.joint_velocity)


def test_push_acts_through_the_jacobian(without_friction):
    config = without_friction(ArmConfig.load('laas4'), gravity=(0.0, 0.0, 0.0))
    plant, model = make_plant(config), Arm.load(config)
    q, point, force = plant.state.joint_position, np.array([0.1, 0.02, 0.0]), np.array([3., -5, 8])
    plant.apply_force('link2', point, force)
    plant.step(np.zeros(4), 1e-6)
    torque = model.point_jacobian(q, 'link2', point).T @ force
    np.testing.assert_allclose(plant.state.joint_velocity / 1e-6,
                               model.forward_dynamics(q, 0 * q, torque), rtol=1e-4, atol=1e-4)
    contact = plant.contact[0]
    assert (contact.link, contact.cause) == ('link2', 'push')
    pose = model.frame_pose(q, 'link2')
    np.testing.assert_allclose(contact.point, pose[:3, :3] @ point + pose[:3, 3], atol=1e-6)


def test_pull_is_a_spring_with_a_damper_and_a_limit(without_friction):
    config = without_friction(ArmConfig.load('laas4'), gravity=(0.0, 0.0, 0.0))
    plant, model = make_plant(config), Arm.load(config)
    q, point = plant.state.joint_position, np.array([0.1, 0.02, 0.0])
    pose = model.frame_pose(q, 'link2')
    here, away = pose[:3, :3] @ point + pose[:3, 3], np.array([0.02, -0.05, 0.03])
    plant.pull('link2', point, here + away, stiffness=150.0)
    plant.step(np.zeros(4), 1e-6)
    torque = model.point_jacobian(q, 'link2', point).T @ (150.0 * away)
    np.testing.assert_allclose(plant.state.joint_velocity / 1e-6,
                               model.forward_dynamics(q, 0 * q, torque), rtol=1e-4, atol=1e-4)
    for _ in range(40):
        plant.step(np.zeros(4), 1e-3)
    state = plant.state
    plant.step(np.zeros(4), 1e-9)                  # forces are those at its begin
    speed = model.point_jacobian(state.joint_position, 'link2', point) @ state.joint_velocity
    assert np.abs(speed).max() > 0.005
    contact = plant.contact[0]
    np.testing.assert_allclose(
        contact.force, 150.0 * (here + away - contact.point) - 5.0 * speed, rtol=1e-3)
    plant.release()
    plant.pull('link2', point, here + 100.0 * away, stiffness=150.0)
    plant.step(np.zeros(4), 1e-6)
    assert np.linalg.norm(plant.contact[0].force) == pytest.approx(80.0)


def test_push_ends_after_its_time(run):
    plant = make_plant('laas4')
    plant.apply_force('link4', (0, 0, 0), (1.0, 0, 0), duration=0.01)
    run(plant, plant.holding_torque, 0.01)
    assert plant.contact
    run(plant, plant.holding_torque, 0.002)
    assert plant.contact == []
    assert (plant.data.xfrc_applied == 0.0).all()


def test_same_seed_same_run_other_seed_other_arm():
    def final(seed):
        plant = make_plant('laas4', seed=seed, mismatch=0.05)
        for k in range(300):
            plant.step([0.0, 3.0 + np.sin(0.02 * k), 0.1, 0.0], 1e-3)
        return np.concatenate(plant.state[1:])
    np.testing.assert_array_equal(final(1), final(1))
    assert np.abs(final(1) - final(2)).max() > 1e-4


def test_reading_the_truth_does_not_change_the_motion(run):
    quiet, watched = make_plant('laas4'), make_plant('laas4')
    for k in range(200):
        for plant in (quiet, watched):
            plant.step([0.1, 3.0 + np.sin(0.05 * k), 0.0, 0.0], 1e-3)
        watched.base_wrench, watched.energy, watched.pose()
    np.testing.assert_array_equal(quiet.state.joint_position, watched.state.joint_position)


def test_mechanical_stops_hold(pendulum, run):
    plant = make_plant(pendulum(gravity=(0.0, 0.0, 0.0)))
    run(plant, [2.0], 3.0)
    assert plant.state.joint_position[0] < 6.0 + 0.06


@pytest.mark.parametrize(('call', 'error'), [
    (lambda p: p.reset([0.0]), BadValue),
    (lambda p: p.reset([np.nan] * 4), BadValue),
    (lambda p: p.set_payload(-1.0), BadValue),
    (lambda p: p.apply_force('link9', (0, 0, 0), (1, 0, 0)), UnknownName),
    (lambda p: p.apply_force('link2', (0, 0, 0), (np.inf, 0, 0)), BadValue),
    (lambda p: p.pull('link9', (0, 0, 0), (1, 0, 0)), UnknownName),
    (lambda p: p.pull('link2', (0, 0, 0), (1, 0, 0), stiffness=-1.0), BadValue),
    (lambda p: p.pose('nobody'), UnknownName),
])
def test_bad_input_is_named(call, error):
    with pytest.raises(error):
        call(make_plant('laas4'))


def test_torque_that_is_not_a_number_stops_the_run():
    plant = make_plant('laas4')
    with pytest.raises(ArmsenseError, match='left all bounds'):
        plant.step([np.nan, 0.0, 0.0, 0.0], 1e-3)


def test_tool_frame_must_exist():
    config = dataclasses.replace(ArmConfig.load('laas4'), tool_frame='gripper')
    with pytest.raises(ArmsenseError, match='gripper'):
        make_plant(config)
