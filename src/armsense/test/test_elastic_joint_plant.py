import dataclasses

import numpy as np
import pytest

from armsense.drive import ElasticJoint
from armsense.model import Arm, ArmConfig
from armsense.model.arm_config import ElasticConfig, EncoderConfig, FrictionConfig
from armsense.sim import make_plant
from armsense.types import ArmState

# Thesis 000, table 4.2.
STIFFNESS = np.array([17.5, 10.0, 6.0, 6.0])


@pytest.fixture(scope='module')
def biorob():
    return ArmConfig.load('biorob')


def coupling_ratio(config):
    return config.joints['joint4'].elastic.coupling_ratio


def test_resting_deflection_is_torque_over_stiffness(biorob, run):
    plant, model = make_plant(biorob), Arm.load(biorob)
    q = np.array([0.4, 0.7, -0.9, 0.3])
    plant.reset(q)
    g, r = model.gravity_torque(q), coupling_ratio(biorob)
    torque = g - np.array([0.0, 0.0, r * g[3], 0.0])     # joint 3 carries joint 4's cable
    deflection = torque / STIFFNESS + np.array([0.0, 0.0, 0.0, r * q[2]])
    np.testing.assert_allclose(plant.state.motor_position - q, deflection, atol=1e-9)
    np.testing.assert_allclose(plant.holding_torque, torque, atol=1e-9)
    run(plant, plant.holding_torque, 1.0)
    np.testing.assert_allclose(plant.state.joint_position, q, atol=1e-9)


def test_static_push_deflects_by_K_inverse_tau(biorob, run):
    """From rest to rest: what a force changes, without the reset's own balance."""
    config = dataclasses.replace(biorob, gravity=(0.0, 0.0, 0.0), joints={
        name: dataclasses.replace(joint, friction=FrictionConfig())
        for name, joint in biorob.joints.items()})
    plant, model = make_plant(config), Arm.load(config)
    q = np.array([0.0, 0.7, -0.9, 0.3])
    plant.reset(q)
    theta = plant.state.motor_position
    point, force = np.array([0.1, 0.0, 0.0]), np.array([0.0, 0.4, -0.5])
    plant.apply_force('link4', point, force)
    run(plant, lambda s: 300.0 * (theta - s.motor_position) - 5.0 * s.motor_velocity, 5.0)
    state = plant.state
    load = model.point_jacobian(state.joint_position, 'link4', point).T @ force
    r = coupling_ratio(config)
    spring = -np.array([load[0], load[1], load[2] - r * load[3], load[3]])
    stretch = state.motor_position - state.joint_position
    stretch[3] -= r * state.joint_position[2]
    assert np.abs(spring / STIFFNESS).max() > 0.01
    np.testing.assert_allclose(stretch, spring / STIFFNESS, atol=2e-4)


def test_vibration_with_a_held_motor(pendulum, run):
    """Link on a spring: sqrt(K / I)."""
    config = pendulum(gravity=(0.0, 0.0, 0.0), drive='elastic_joint', rotor_inertia=1.0,
                      elastic=ElasticConfig(stiffness=17.0), joint_encoder=EncoderConfig())
    plant = make_plant(config)
    plant.reset([0.0])
    plant.data.qpos[1] = 0.05                      # the rotor of 100 kg m^2 stays where it is
    q = np.array([s.joint_position[0] for s in run(plant, [0.0], 3.0)])
    crossings = np.flatnonzero(np.diff(np.sign(q)))
    period = 2.0 * np.diff(crossings).mean() * 1e-3
    expected = np.sqrt(17.0 * (1.0 / 0.17 + 1.0 / 100.0))
    assert 2.0 * np.pi / period == pytest.approx(expected, rel=2e-3)
    assert np.abs(q[-700:]).max() == pytest.approx(0.05, rel=0.02)


def test_frictionless_swing_keeps_its_energy(biorob, without_friction, run):
    plant = make_plant(without_friction(biorob))
    plant.reset([0.0, 0.6, -0.5, 0.2])
    before = plant.energy
    energies = []
    for _ in range(8):
        run(plant, np.zeros(4), 0.05)
        energies.append(plant.energy)
    speed = np.abs(plant.state.joint_velocity).max()
    assert speed > 1.0
    np.testing.assert_allclose(energies, before, atol=0.03)


def test_swing_loses_what_friction_takes(biorob, run):
    plant = make_plant(biorob)
    plant.reset([0.0, 1.4, -0.6, 0.4])
    joints = biorob.joints.values()
    viscous = np.array([j.friction.viscous for j in joints])
    coulomb = np.array([j.friction.coulomb for j in joints])
    damping = np.array([j.elastic.damping for j in joints])
    bearing = np.array([j.elastic.link_damping for j in joints])
    before, dt, lost, r = plant.energy, 2.5e-4, 0.0, coupling_ratio(biorob)
    for state in run(plant, np.zeros(4), 0.5, dt):
        slip = state.motor_velocity - state.joint_velocity
        slip[3] -= r * state.joint_velocity[2]
        lost += dt * (viscous @ state.motor_velocity**2 + coulomb @ abs(state.motor_velocity)
                      + damping @ slip**2 + bearing @ state.joint_velocity**2)
    assert lost > 0.1
    assert before - plant.energy == pytest.approx(lost, rel=0.02)


def test_cable_of_joint_4_follows_joint_3(biorob, run):
    """Motors 3 and 4 turned so that the springs stay slack: the links follow eq. 3.26."""
    config = dataclasses.replace(biorob, gravity=(0.0, 0.0, 0.0))
    plant, r = make_plant(config), coupling_ratio(biorob)
    plant.reset([0.0, 0.5, 0.0, 0.0])
    goal = np.array([0.0, 0.5, 0.4, 0.1])
    theta = goal + [0.0, 0.0, 0.0, r * goal[2]]

    def law(s):
        return 60.0 * (theta - s.motor_position) - 3.0 * s.motor_velocity
    run(plant, law, 4.0)
    np.testing.assert_allclose(plant.state.joint_position, goal, atol=2e-3)


def test_link_torque_of_the_drive_model_moves_the_links(biorob, run):
    """The observer's question: M ddq + C dq + g = link_torque of the readings."""
    plant, model = make_plant(biorob), Arm.load(biorob)
    drive = ElasticJoint.from_config(biorob)
    plant.reset([0.0, 0.9, -0.7, 0.3])
    hold, dt = plant.holding_torque, 1e-4
    start = plant.state.motor_position
    steps = run(plant, lambda s: hold + 30.0 * (start + 0.4 * np.sin(6.0 * s.time)
                                                - s.motor_position), 0.6, dt)
    worst = 0.0
    for before, here, after in zip(steps[::50], steps[1::50], steps[2::50], strict=False):
        ddq = (after.joint_velocity - before.joint_velocity) / (2 * dt)
        needed = model.inverse_dynamics(here.joint_position, here.joint_velocity, ddq)
        given = drive.link_torque(ArmState(
            here.joint_position, here.joint_velocity, here.motor_position, here.motor_velocity,
            0 * hold))
        worst = max(worst, np.abs(needed - given).max())
    assert worst < 0.01
