"""Goals, services and changes in motion: real nodes over DDS in lock-step."""

from __future__ import annotations

from collections.abc import Iterator

from action_msgs.msg import GoalStatus
from arm_system import arm_system, JOINTS, SystemClient
from motion_tape import MotionTape
import numpy as np
import pytest
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from armsense.model import Arm
from armsense.trajectory import Limits
from armsense_msgs.msg import DriverMode
from armsense_msgs.srv import SetPayload

MODEL = Arm.load('laas4')
LIMITS = Limits.of(MODEL)
HOME = np.array(MODEL.config.home)
CONTROLLER = 'dynamic_controller'


@pytest.fixture(scope='module')
def client() -> Iterator[SystemClient]:
    with arm_system(lockstep='true', observer='false') as (client, supervisor):
        client.wait_mode(DriverMode.ENABLED)
        yield client
    assert supervisor.exit_code == 0, supervisor.last_words


def largest_step(tape: MotionTape) -> np.ndarray:
    """That a command makes, as a fraction of the torque limits, (n,)."""
    return np.abs(tape.steps()).max(axis=0) / LIMITS.torque


def go_home(client: SystemClient) -> None:
    assert client.result(client.send([(1.0, HOME)])).error_code == 0
    client.wait(lambda: np.abs(client.state.velocity).max() < 0.05, what='rest at home')


def test_a_refused_goal_names_joint_time_and_value_and_nothing_moves(client):
    before = np.array(client.state.position)
    far = HOME + [0.0, 2.0, 0.0, 0.0]
    result = client.result(client.send([(1.0, far)]))
    assert result.error_code == -1
    assert f'joint2: position {far[1]:.4g} rad at 1.000 s is beyond ' in result.error_string
    fast = client.result(client.send([(0.05, HOME + [0.5, 0.0, 0.0, 0.0])]))
    assert fast.error_code == -1
    assert 'joint1: velocity' in fast.error_string
    assert np.abs(np.array(client.state.position) - before).max() < 0.01


def test_a_new_goal_takes_over_without_a_jump(client):
    go_home(client)
    with MotionTape(client) as tape:
        first = client.send([(4.0, HOME + [1.0, 0.0, 0.0, 0.0])])
        client.wait(lambda: client.state.position[0] > 0.3, what='motion')
        second = client.send([(1.5, HOME + [0.2, 0.2, 0.0, 0.0])])
        old, new = client.result(first), client.result(second)
    assert old.error_code == -1
    assert 'replaced by a new goal' in old.error_string
    assert new.error_code == 0, new.error_string
    assert np.abs(np.array(client.state.position) - (HOME + [0.2, 0.2, 0.0, 0.0])).max() < 0.02
    assert largest_step(tape).max() <= 0.05


def test_cancel_slows_down_on_the_path_within_the_limits(client):
    go_home(client)
    with MotionTape(client) as tape:
        # So long that the request is heard in the middle of it, however fast virtual time runs.
        handle = client.send([(10.0, HOME + [2.4, 0.8, 0.0, 0.0])])
        client.wait(lambda: client.state.position[0] > 0.5, what='motion')
        begin = client.state.seq
        client.cancel(handle)
        outcome = client.outcome(handle)
        client.wait(lambda: np.abs(client.state.velocity).max() < 0.02, what='rest')
    assert outcome.status == GoalStatus.STATUS_CANCELED
    speed = tape.velocities(begin)[:, 0]
    assert speed[0] > 0.2
    assert speed.min() > -0.1                                   # it does not swing back
    # No faster than the limit allows, over 10 ms because the velocity is that of an encoder.
    assert (np.diff(speed[::10]) / 0.01).min() > -1.5 * LIMITS.acceleration[0]
    q = tape.positions(begin) - HOME
    assert np.abs(q[:, 1] - q[:, 0] / 3.0).max() < 0.02         # both joints stay on the path


def test_the_topic_drives_and_refuses_as_the_action(client):
    go_home(client)
    publisher = client.node.create_publisher(JointTrajectory, 'joint_trajectory', 1)
    client.wait(lambda: publisher.get_subscription_count() > 0, what='listener')
    goal = HOME + [-0.3, 0.1, 0.0, 0.2]
    point = JointTrajectoryPoint(positions=goal[::-1].tolist())
    point.time_from_start.sec = 1
    publisher.publish(JointTrajectory(joint_names=JOINTS[::-1], points=[point]))
    client.wait(lambda: np.abs(np.array(client.state.position) - goal).max() < 0.01,
                what='the goal of the topic')
    publisher.publish(JointTrajectory(joint_names=JOINTS[:2], points=[point]))
    end = client.time + 0.5
    client.wait(lambda: client.time > end, what='half a second')
    assert np.abs(np.array(client.state.position) - goal).max() < 0.01


def test_hold_stops_a_motion_and_home_brings_the_arm_back(client):
    go_home(client)
    handle = client.send([(10.0, HOME + [2.4, 0.0, 0.0, 0.0])])
    client.wait(lambda: client.state.position[0] > 0.3, what='motion')
    refused = client.call(f'{CONTROLLER}/home')
    assert not refused.success
    assert 'moves' in refused.message
    assert client.call(f'{CONTROLLER}/hold').success
    outcome = client.outcome(handle)
    assert outcome.status == GoalStatus.STATUS_ABORTED     # nobody cancelled it
    assert outcome.result.error_code == -1
    assert 'hold' in outcome.result.error_string
    client.wait(lambda: np.abs(client.state.velocity).max() < 0.02, what='rest')
    assert 0.3 < client.state.position[0] < 2.2
    # Accepted as soon as the reference, too, has come to rest.
    client.wait(lambda: client.call(f'{CONTROLLER}/home').success, what='the way home')
    client.wait(lambda: np.abs(np.array(client.state.position) - HOME).max() < 0.01, what='home')


def test_feedback_and_tolerances_of_a_goal(client):
    go_home(client)
    heard = []
    result = client.result(client.send([(1.0, HOME + [0.4, 0.0, 0.0, 0.0])],
                                       feedback=lambda m: heard.append(m.feedback)))
    assert result.error_code == 0
    assert heard
    assert list(heard[0].joint_names) == JOINTS
    stamps = [m.header.stamp.sec + 1e-9 * m.header.stamp.nanosec for m in heard]
    assert stamps[0] > 0.0                       # of the state that it speaks of
    assert stamps == sorted(stamps)
    assert all(abs(e) < 0.05 for m in heard for e in m.error.positions)
    tight = client.result(client.send([(0.8, HOME)], path_tolerance={'joint1': 1e-6}))
    assert tight.error_code == -4
    assert 'joint1' in tight.error_string
    client.wait(lambda: np.abs(client.state.velocity).max() < 0.02, what='rest')
    unknown = client.result(client.send([(1.0, HOME)], path_tolerance={'elbow': 0.1}))
    assert unknown.error_code == -2
    assert 'elbow' in unknown.error_string


def test_every_two_laws_change_in_motion_without_a_step_of_torque(client):
    go_home(client)
    handle = client.send([(1.5, HOME + [0.8, 0.2, 0.2, 0.0]), (3.0, HOME)])
    client.wait(lambda: client.state.position[0] > 0.1, what='motion')
    with MotionTape(client) as tape:
        for law in ('pd_gravity', 'joint_impedance', 'computed_torque', 'joint_impedance',
                    'pd_gravity', 'computed_torque'):
            answer = client.call(f'{CONTROLLER}/switch', law)
            assert answer.success, answer.message
            end = client.time + 0.32
            client.wait(lambda end=end: client.time > end, what='the fade')
    assert client.result(handle).error_code == 0
    assert largest_step(tape).max() <= 0.05


def test_a_payload_is_told_in_motion_without_a_step_of_torque(client):
    go_home(client)

    def tell(mass: float) -> SetPayload.Response:
        answer = client.ask(SetPayload, f'{CONTROLLER}/set_payload',
                            SetPayload.Request(mass=mass))
        end = client.time + 0.5
        client.wait(lambda: client.time > end, what='the fade')
        return answer

    empty = client.state.position[1]
    with MotionTape(client) as tape:
        handle = client.send([(2.0, HOME + [0.5, 0.0, 0.0, 0.0])])
        client.wait(lambda: client.state.position[0] > 0.1, what='motion')
        assert tell(0.3).success
        client.result(handle)
        end = client.time + 0.3
        client.wait(lambda: client.time > end, what='a rest')
    # The simulated tool is empty, so what the law adds for the payload must lift it a little.
    assert client.state.position[1] - empty > 0.0005
    assert largest_step(tape).max() <= 0.05
    assert not tell(-1.0).success
    assert tell(0.0).success
    client.wait(lambda: abs(client.state.position[1] - empty) < 0.0005, what='the old height')
