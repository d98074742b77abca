import numpy as np
import pytest

from armsense.errors import BadValue, UnknownName
from armsense.model import Arm, ArmConfig
from armsense.sim import make_plant

INERTIA = 0.17   # [kg m^2] of the pendulum


def test_resting_force_balances_the_torque(pendulum, run):
    plant = make_plant(pendulum(gravity=(0.0, 0.0, 0.0)))
    plant.reset([0.0])
    plant.place_obstacle('ball', [0.4, 0.0, 0.66], radius=0.1, stiffness=20e3, dissipation=20.0)
    run(plant, lambda s: 2.0 - 0.5 * s.joint_velocity, 4.0)
    contact, = plant.contact
    assert (contact.link, contact.cause) == ('link1', 'ball')
    # The joint's axis is -y of the world, so a positive torque lifts the link.
    arm = contact.point - np.array([0.0, 0.0, 0.5])
    assert np.cross(arm, contact.force)[1] == pytest.approx(2.0, rel=0.01)
    size = np.linalg.norm(contact.force)
    tip = plant.pose()[:3, 3]
    overlap = 0.15 - np.linalg.norm(np.array([0.4, 0.0, 0.66]) - tip)
    assert size == pytest.approx(20e3 * overlap, rel=0.01)


@pytest.mark.parametrize('stiffness', [10e3, 75e3, None])
def test_impulse_on_the_arm_changes_its_momentum(pendulum, stiffness):
    plant = make_plant(pendulum(gravity=(0.0, 0.0, 0.0)))
    plant.reset([0.0])
    plant.place_obstacle('ball', [0.4, 0.0, 0.66], radius=0.1, stiffness=stiffness)
    plant.data.qvel[0] = 2.0
    impulse, dt = 0.0, 2e-5
    for _ in range(4000):
        plant.step([0.0], dt)
        for contact in plant.contact:
            arm = contact.point - np.array([0.0, 0.0, 0.5])
            impulse -= np.cross(arm, contact.force)[1] * dt
    change = INERTIA * (plant.state.joint_velocity[0] - 2.0)
    assert plant.state.joint_velocity[0] < -1.0
    assert impulse == pytest.approx(change, rel=1e-3)


def test_hand_takes_the_momentum_the_arm_loses(pendulum):
    plant = make_plant(pendulum(gravity=(0.0, 0.0, 0.0)))
    plant.reset([0.0])
    plant.place_hand([0.4, 0.0, 0.60], hold_stiffness=0.0, hold_damping=0.0)
    plant.data.qvel[0] = 2.0
    for _ in range(60):
        plant.step([0.0], 1e-3)
    hand = plant.data.qvel[1:4]
    assert hand[2] > 0.1
    # Angular momentum about the joint: the hand's -y component counts like the joint's.
    where = plant.data.body('hand').xpos - np.array([0.0, 0.0, 0.5])
    carried = -np.cross(where, 0.6 * hand)[1]
    assert INERTIA * plant.state.joint_velocity[0] + carried == pytest.approx(2.0 * INERTIA,
                                                                             rel=1e-3)


def test_hand_is_carried_and_pulled_back(run):
    plant = make_plant('laas4')
    plant.place_hand([0.0, 0.6, 0.2])
    run(plant, plant.holding_torque, 0.2)
    np.testing.assert_allclose(plant.data.body('hand').xpos, [0.0, 0.6, 0.2], atol=1e-9)


def test_hand_goes_on_when_something_else_is_placed():
    plant = make_plant('laas4')
    plant.place_hand([0.0, 0.6, 0.2], name='left')
    plant.data.qpos[4:7], plant.data.qvel[4:7] = [0.01, 0.0, 0.02], [0.1, 0.2, 0.3]
    plant.place_obstacle('rock', [0.0, -0.6, 0.2], radius=0.1)
    np.testing.assert_allclose(plant.data.body('left').xpos, [0.01, 0.6, 0.22])
    np.testing.assert_allclose(plant.data.qvel[4:7], [0.1, 0.2, 0.3])
    plant.move_obstacle('left', [0.0, 0.7, 0.2])
    plant.step(plant.holding_torque, 1e-3)
    np.testing.assert_allclose(plant.data.body('left').xpos, [0.0, 0.7, 0.2])


def test_coarse_and_fine_calls_give_the_same_impact(pendulum):
    peaks = []
    for dt in (1e-3, 1e-4):
        plant = make_plant(pendulum(gravity=(0.0, 0.0, 0.0)))
        plant.reset([0.0])
        plant.place_obstacle('ball', [0.4, 0.0, 0.66], radius=0.1, stiffness=75e3)
        plant.data.qvel[0] = 2.0
        for _ in range(round(0.05 / dt)):
            plant.step([0.0], dt)
        peaks.append(plant.state.joint_velocity[0])
    assert peaks[0] == pytest.approx(peaks[1], rel=5e-3)


def test_friction_opposes_sliding(pendulum):
    plant = make_plant(pendulum(gravity=(0.0, 0.0, 0.0)))
    plant.reset([0.0])
    # A wall at the tip's side: the tip slides along it.
    plant.place_obstacle('wall', [0.5495, 0.0, 0.5], box=(0.2, 1.0, 1.0), friction=0.4)
    plant.data.qvel[0] = 1.0
    plant.step([0.0], 1e-5)
    contact, = plant.contact
    assert contact.force[0] < 0.0                                   # pushed back
    assert contact.force[2] == pytest.approx(0.4 * contact.force[0], rel=0.01)  # held back


def test_contact_names_the_link_that_is_touched(run):
    plant = make_plant('laas4')
    elbow = plant.pose('link3')[:3, 3]
    plant.place_obstacle('rock', elbow + [0.12, 0.0, -0.10], radius=0.05)
    run(plant, 0.3 * plant.holding_torque, 0.3)
    plant.step(np.zeros(4), 1e-3)
    assert {contact.link for contact in plant.contact} <= {'link2', 'link3'}


def test_tool_contact_appears_in_the_joint_torques(without_friction):
    """The reported contact explains the acceleration: M ddq + bias = J^T F."""
    config = without_friction(ArmConfig.load('laas4'))
    plant, model = make_plant(config), Arm.load(config)
    q = np.array([0.0, 0.4, 0.0, 1.2])
    plant.reset(q)
    falling = -model.jacobian(q)[:3, 1]
    plant.place_obstacle('ball', plant.pose()[:3, 3] + 0.09 * falling / np.linalg.norm(falling),
                         radius=0.05, stiffness=5e3)
    torque, dt = plant.holding_torque - [0.0, 2.0, 0.0, 0.0], 1e-5
    while not plant.contact:
        plant.step(torque, 1e-3)
        assert plant.state.time < 0.5
    for _ in range(100):
        before = plant.state
        plant.step(torque, dt)
    contact, = plant.contact
    ddq = (plant.state.joint_velocity - before.joint_velocity) / dt
    q, dq = before.joint_position, before.joint_velocity
    pose = model.frame_pose(q, contact.link)
    local = pose[:3, :3].T @ (contact.point - pose[:3, 3])
    external = model.point_jacobian(q, contact.link, local).T @ contact.force
    np.testing.assert_allclose(model.inverse_dynamics(q, dq, ddq), torque + external, atol=2e-3)
    assert np.abs(external).max() > 0.1


def test_place_move_remove(pendulum, run):
    plant = make_plant(pendulum(gravity=(0.0, 0.0, 0.0)))
    plant.reset([0.0])
    plant.place_obstacle('ball', [0.4, 0.0, 0.66], radius=0.1)
    plant.move_obstacle('ball', [0.4, 0.5, 0.66])
    run(plant, [0.1], 0.6)
    assert plant.state.joint_position[0] > 0.1             # nothing in the way
    plant.reset([0.0])
    plant.place_obstacle('ball', [0.4, 0.0, 0.66], radius=0.1)
    run(plant, lambda s: 1.0 - 0.5 * s.joint_velocity, 2.0)
    stopped = plant.state.joint_position[0]
    assert stopped < 0.05
    plant.remove_obstacle('ball')
    run(plant, [1.0], 0.3)
    assert plant.state.joint_position[0] > stopped + 0.1
    assert plant.contact == []


@pytest.mark.parametrize(('call', 'error', 'text'), [
    (lambda p: p.remove_obstacle('cat'), UnknownName, 'cat'),
    (lambda p: p.move_obstacle('cat', (0, 0, 0)), UnknownName, 'cat'),
    (lambda p: p.place_obstacle('x', (9, 0, 0)), BadValue, 'radius'),
    (lambda p: p.place_obstacle('x', (9, 0, 0), radius=-1.0), BadValue, 'size'),
    (lambda p: p.place_obstacle('x', (9, 0, 0), radius=0.1, stiffness=-5), BadValue, 'stiffness'),
    (lambda p: p.place_obstacle('x', (9, np.nan, 0), radius=0.1), BadValue, 'position'),
    (lambda p: p.place_obstacle('link2', (9, 0, 0), radius=0.1), BadValue, 'link2'),
    (lambda p: p.place_obstacle('x', (0, 0, 0.1), radius=0.1), BadValue, 'outside'),
    (lambda p: p.place_hand((9, 0, 0), mass=0.0), BadValue, 'mass'),
])
def test_bad_obstacles_are_named(call, error, text):
    plant = make_plant('laas4')
    with pytest.raises(error, match=text):
        call(plant)
    assert not plant.obstacles
    plant.step(np.zeros(4), 1e-3)
