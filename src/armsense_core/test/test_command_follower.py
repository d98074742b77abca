"""Positions streamed by somebody else."""

from control_helpers import RigidArm
import numpy as np
import pytest

from armsense_core.control.command_follower import CommandFollower, REACH
from armsense_core.control.config import ControllerConfig
from armsense_core.errors import ArmsenseError
from armsense_core.model import ArmModel

DT = 1e-3
NAMES = ['joint4', 'joint2', 'gripper', 'joint1', 'joint3']   # any order, and one that is not ours


@pytest.fixture
def model():
    return ArmModel.load('laas4')


@pytest.fixture
def follower(model):
    law = ControllerConfig.of(model).make('pd_gravity', model)
    return CommandFollower(law, model.joint_names)


def send(follower, q):
    follower.send(NAMES, [q[3], q[1], 7.0, q[0], q[2]])


def run(follower, arm, seconds, target=None, collision=False):
    for _ in range(round(seconds / DT)):
        if target is not None:
            here = follower.held if follower.held is not None else arm.state.q
            send(follower, here + np.clip(target - here, -DT, DT))      # 1 rad/s
        arm.step(follower.step(arm.state, collision, DT), DT)


def test_the_arm_holds_until_somebody_sends_and_then_follows(model, follower):
    start = np.array([0.1, 0.5, 0.0, -0.5])
    arm = RigidArm(model, start)
    run(follower, arm, 0.2)
    assert np.abs(arm.state.q - start).max() < 1e-3
    target = start + [0.3, -0.2, 0.1, 0.2]
    run(follower, arm, 1.5, target)
    assert np.abs(arm.state.q - target).max() < 0.01


def test_a_collision_holds_the_arm_until_resume(model, follower):
    start = np.array([0.0, 0.5, 0.0, -0.5])
    arm = RigidArm(model, start)
    run(follower, arm, 0.2, start + 0.5)
    run(follower, arm, DT, start + 0.5, collision=True)
    frozen = follower.held
    run(follower, arm, 0.5, start + 0.5)
    assert follower.frozen
    assert np.array_equal(follower.held, frozen)
    follower.resume()
    run(follower, arm, 1.0, start + 0.5)
    assert np.abs(arm.state.q - start - 0.5).max() < 0.02


def test_a_far_first_position_is_refused_and_nothing_moves(model, follower):
    start = np.array([0.0, 0.5, 0.0, -0.5])
    arm = RigidArm(model, start)
    run(follower, arm, 2 * DT)
    with pytest.raises(ArmsenseError, match=r'joint2 is sent 0.30 rad away at once'):
        send(follower, start + [0.0, REACH + 0.1, 0.0, 0.0])
    assert np.array_equal(follower.held, start)


def test_bad_commands_leave_the_old_reference(model, follower):
    arm = RigidArm(model, np.array([0.0, 0.5, 0.0, -0.5]))
    run(follower, arm, 2 * DT)
    held = follower.held
    with pytest.raises(ArmsenseError, match='missing: joint2, joint4'):
        follower.send(['joint1', 'joint3'], [0.0, 0.0])
    with pytest.raises(ArmsenseError, match='finite'):
        send(follower, np.array([np.nan, 0.5, 0.0, -0.5]))
    with pytest.raises(ArmsenseError, match='some positions'):
        follower.send(NAMES, [])
    assert np.array_equal(follower.held, held)


def test_after_a_pause_it_begins_where_the_arm_is(model, follower):
    arm = RigidArm(model, np.array([0.0, 0.5, 0.0, -0.5]))
    run(follower, arm, 0.1, np.array([0.1, 0.5, 0.0, -0.5]))
    follower.rest()
    moved = RigidArm(model, np.array([0.8, 0.9, 0.1, -0.2]))
    follower.step(moved.state, False, DT)
    assert np.array_equal(follower.held, moved.state.q)
