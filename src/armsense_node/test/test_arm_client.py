"""The client of a running arm against a small arm of its own."""

import os
import threading
import time

from action_msgs.msg import GoalStatus
from control_msgs.action import FollowJointTrajectory
import pytest
import rclpy
from rclpy.action import ActionServer, CancelResponse
from rclpy.executors import MultiThreadedExecutor
from std_srvs.srv import Trigger

from armsense.errors import ArmsenseError
from armsense_msgs.msg import Collision, DriverMode, MotorStates
from armsense_msgs.srv import SetString
from armsense_node.arm_client import ArmClient, trajectory_message, Waypoint
from armsense_node.qos import event_qos, latched_qos, stream_qos

LONG = 30.0      # [s] a limit that only a hanging test reaches
NAMESPACE = f'arm_client_{os.getpid()}'


class SmallArm:
    """Answers services; a goal ends when it is cancelled, or at once."""

    def __init__(self):
        self.context = rclpy.Context()
        rclpy.init(context=self.context)
        self.node = node = rclpy.create_node('arm', namespace=NAMESPACE, context=self.context)
        self.goals, self.cancelled, self.slow = [], 0, False
        self.mode = node.create_publisher(DriverMode, 'motor_board/mode', latched_qos())
        self.states = node.create_publisher(MotorStates, 'motor_states', stream_qos())
        self.collisions = node.create_publisher(Collision, 'collision', event_qos())
        node.create_service(Trigger, 'arm/hold', self._hold)
        node.create_service(SetString, 'arm/switch', self._switch)
        self.server = ActionServer(node, FollowJointTrajectory, 'follow_joint_trajectory',
                                   self._drive, cancel_callback=lambda _: CancelResponse.ACCEPT)
        self.executor = MultiThreadedExecutor(2, context=self.context)
        self.executor.add_node(node)
        self.thread = threading.Thread(target=self.executor.spin, daemon=True)
        self.thread.start()

    def close(self):
        self.executor.shutdown()
        self.thread.join(LONG)
        self.node.destroy_node()
        self.context.try_shutdown()

    def _hold(self, _, answer):
        answer.success, answer.message = True, 'holds'
        return answer

    def _switch(self, request, answer):
        answer.success, answer.message = False, f'{request.data}?'
        return answer

    def _drive(self, handle):
        self.goals.append(handle.request)
        while self.slow and not handle.is_cancel_requested:
            time.sleep(0.01)
        if self.slow:
            self.cancelled += 1
            handle.canceled()
        else:
            handle.succeed()
        return FollowJointTrajectory.Result()


@pytest.fixture(scope='module')
def arm():
    there = SmallArm()
    yield there
    there.close()


@pytest.fixture
def client():
    with ArmClient('client', NAMESPACE, LONG) as one:
        yield one


def test_what_was_heard_stays(arm):
    with ArmClient('listener', NAMESPACE, LONG) as one:
        one.listen()

        def told():
            arm.states.publish(MotorStates(enabled=True))
            return one.state is not None
        one.wait(told, what='a state')
    assert one.state.enabled


def test_a_trajectory_as_a_message():
    message = trajectory_message(['a', 'b'], [(0.0, [1, 2]), Waypoint(
        1.9999999999, [3.0, 4.0], [0.1, 0.2])], start=5.25, reaction='stop')
    assert (message.header.stamp.sec, message.header.stamp.nanosec) == (5, 250_000_000)
    assert message.header.frame_id == 'reaction=stop'
    assert list(message.joint_names) == ['a', 'b']
    assert list(message.points[0].positions) == [1.0, 2.0]
    assert list(message.points[1].velocities) == [0.1, 0.2]
    assert list(message.points[1].accelerations) == []
    last = message.points[1].time_from_start
    assert (last.sec, last.nanosec) == (2, 0)


def test_services_answer(arm, client):
    assert client.call('arm/hold').message == 'holds'
    answer = client.call('arm/switch', 'float')
    assert (answer.success, answer.message) == (False, 'float?')
    answers = []
    client.call_soon('arm/switch', lambda *answer: answers.append(answer), 'float')
    client.wait(lambda: answers, what='the answer')
    client.call_soon('nobody/there', lambda *answer: answers.append(answer))
    assert answers == [(False, 'float?'), (False, 'nobody serves nobody/there')]


def test_it_hears_the_arm(arm, client):
    client.listen()
    client.wait(lambda: client.node.count_publishers('motor_states'), what='the publisher')
    arm.mode.publish(DriverMode(mode=DriverMode.ENABLED))
    ticks = iter(range(1, 100000))

    def told():
        message = MotorStates(enabled=True, seq=next(ticks))
        message.header.stamp.sec = 7
        arm.states.publish(message)
        arm.collisions.publish(Collision(link='link4'))
        return client.time == 7.0 and client.collisions
    client.wait(told, what='states and collisions')
    assert client.mode.mode == DriverMode.ENABLED
    for seq in range(200000, 200005):
        arm.states.publish(MotorStates(enabled=True, seq=seq))
        time.sleep(0.02)
    client.wait_enabled()
    arm.mode.publish(DriverMode(mode=DriverMode.DAMPING, explanation='a board is lost'))
    client.wait(lambda: client.mode.mode == DriverMode.DAMPING, what='damping')
    with pytest.raises(ArmsenseError, match='not enabled: a board is lost'):
        client.wait_enabled()


def test_a_goal_is_driven(arm, client):
    arm.slow = False
    handle = client.send([(1.0, [0.5])], ['joint1'], start=3.0, path_tolerance={'joint1': 0.1})
    assert client.outcome(handle).status == GoalStatus.STATUS_SUCCEEDED
    goal = arm.goals[-1]
    assert (goal.trajectory.header.stamp.sec, goal.path_tolerance[0].position) == (3, 0.1)
    arm.slow = True
    handle = client.send([(1.0, [0.5])], ['joint1'])
    client.cancel(handle)
    assert client.outcome(handle).status == GoalStatus.STATUS_CANCELED


def test_who_stops_waiting_ends_the_goal(arm, client):
    arm.slow, before = True, arm.cancelled
    with pytest.raises(ArmsenseError, match='the end of the goal did not come within 1 s'):
        client.carry_out(FollowJointTrajectory, 'follow_joint_trajectory',
                         FollowJointTrajectory.Goal(), patience=1.0)
    assert arm.cancelled == before + 1


def test_a_failure_of_the_arm_ends_every_wait():
    reasons = ['', '', 'motor_board died with exit code 1: no arm']
    with ArmClient('client', NAMESPACE, LONG, failure=lambda: reasons.pop(0)) as one, \
            pytest.raises(ArmsenseError, match='the end did not come: motor_board died'):
        one.wait(lambda: False, what='the end')
