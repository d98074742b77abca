"""`./armsense teach` against a small arm of its own: services, states, action."""

import os
import signal
import threading
import time

from control_msgs.action import FollowJointTrajectory
import numpy as np
import pytest
import rclpy
from rclpy.action import ActionServer, CancelResponse
from rclpy.executors import MultiThreadedExecutor
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from armsense.model import Arm
from armsense.trajectory import check_motion, Limits, QuinticSpline
from armsense.trajectory.lesson import Lesson
from armsense_control.teach_command import main, message_of, problems
from armsense_msgs.srv import SetString

MODEL = Arm.load('laas4')
HOME = np.array(MODEL.config.home)
PATH = QuinticSpline([0.0, 0.6, 1.2], [HOME, HOME + [0.4, 0.1, -0.2, 0.2], HOME + 0.1])


class FakeArm:
    """A hand leads it along PATH whenever it floats; it goes where a trajectory sends it."""

    def __init__(self, namespace):
        self.context = rclpy.context.Context()
        rclpy.init(context=self.context)
        self.node = rclpy.create_node('arm', namespace=namespace, context=self.context)
        self.laws, self.goals, self.held = [], [], 0
        self.refused, self.slow, self.cancelled = '', False, 0
        self.q, self.since, self.tick = HOME.copy(), None, 0
        self._states = self.node.create_publisher(JointState, 'joint_states', 10)
        self.node.create_service(SetString, 'dynamic_controller/switch', self._switch)
        self.node.create_service(Trigger, 'dynamic_controller/hold', self._hold)
        self.server = ActionServer(self.node, FollowJointTrajectory, 'follow_joint_trajectory',
                                   self._drive, cancel_callback=lambda _: CancelResponse.ACCEPT)
        self.node.create_timer(0.01, self._publish)
        self.executor = MultiThreadedExecutor(2, context=self.context)
        self.executor.add_node(self.node)
        self.thread = threading.Thread(target=self.executor.spin, daemon=True)
        self.thread.start()

    def close(self):
        self.slow = False
        self.executor.shutdown()
        self.thread.join(5.0)
        self.node.destroy_node()
        rclpy.try_shutdown(context=self.context)

    def _publish(self):
        self.tick += 1
        if self.laws and self.laws[-1] == 'float':
            self.since = self.since or self.tick
            self.q = PATH.sample(0.01 * (self.tick - self.since) - 0.1).q
        # Joints in another order than the arm's, and a stamp of its own: 10 ms a message.
        message = JointState(name=list(MODEL.joint_names)[::-1], position=self.q[::-1].tolist())
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(self.tick * 10**7, 10**9)
        self._states.publish(message)

    def _switch(self, request, response):
        self.laws.append(request.data)
        response.success = request.data != self.refused
        response.message = f'{request.data}?'
        return response

    def _hold(self, _, response):
        self.held += 1
        response.success = True
        return response

    def _drive(self, handle):
        trajectory = handle.request.trajectory
        self.goals.append(trajectory)
        while self.slow:
            if handle.is_cancel_requested:
                self.cancelled += 1
                handle.canceled()
                return FollowJointTrajectory.Result()
            time.sleep(0.01)
        self.q = np.array(trajectory.points[-1].positions)
        handle.succeed()
        return FollowJointTrajectory.Result()


@pytest.fixture
def arm():
    os.environ.setdefault('ROS_DOMAIN_ID', str(os.getpid() % 90 + 10))
    fake = FakeArm(f'teach_{os.getpid()}')
    yield fake
    fake.close()


def test_a_lesson_is_recorded_and_played(arm, tmp_path, capsys):
    space, file = arm.node.get_namespace(), tmp_path / 'lesson.yaml'
    assert main(['--namespace', space, 'record', '--arm', 'laas4', '--out', str(file),
                 '--seconds', '2.5']) == 0
    assert 'waypoints' in capsys.readouterr().out
    assert arm.laws == ['float', 'computed_torque']
    assert arm.held == 1
    lesson = Lesson.read(file)
    np.testing.assert_allclose(lesson.positions[0], HOME, atol=0.02)
    np.testing.assert_allclose(lesson.positions[-1], HOME + 0.1, atol=0.02)
    assert not check_motion(lesson.trajectory, Limits.of(MODEL), MODEL)
    assert main(['--namespace', space, 'play', str(file)]) == 0
    approach, played = arm.goals
    np.testing.assert_allclose(approach.points[-1].positions, lesson.positions[0], atol=1e-6)
    assert len(played.points) == len(lesson.times)
    assert tuple(played.joint_names) == MODEL.joint_names


def test_a_refusal_ends_with_its_reason(arm, tmp_path, capsys):
    arm.refused = 'pd_gravity'
    code = main(['--namespace', arm.node.get_namespace(), 'record', '--seconds', '0.1', '--law',
                 'pd_gravity', '--out', str(tmp_path / 'x.yaml')])
    assert code == 1
    assert 'switch to pd_gravity: pd_gravity?' in capsys.readouterr().err
    assert arm.held == 1
    assert not (tmp_path / 'x.yaml').exists()


@pytest.mark.parametrize(('arguments', 'message'), [
    (['--law', 'typo'], "unknown law of dynamic_controller 'typo'"),
    (['--law', 'pi_velocity'], "unknown law of dynamic_controller 'pi_velocity'"),
    (['--out', '/proc/nowhere/x.yaml'], '/proc/nowhere'),
    (['--arm', 'nowhere/arm.yaml'], 'nowhere/arm.yaml'),
])
def test_mistakes_are_noticed_before_the_arm_floats(arm, capsys, arguments, message):
    assert main(['--namespace', arm.node.get_namespace(), 'record', *arguments]) == 1
    assert message in capsys.readouterr().err
    assert arm.laws == []


@pytest.fixture
def signalled():
    """Sends a signal to this process as soon as a condition holds."""
    def send(number, condition):
        def watch():
            while not condition() and not over.wait(0.01):
                pass
            if not over.is_set():
                os.kill(os.getpid(), number)
        threading.Thread(target=watch, daemon=True).start()

    over = threading.Event()
    # A shell ignores Ctrl-C for what it starts in the background, such as these tests.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield send
    over.set()
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_lesson_ends_with_an_arm_that_holds(arm, tmp_path, signalled, number):
    signalled(number, lambda: arm.laws == ['float'])
    words = ['--namespace', arm.node.get_namespace(), 'record', '--seconds', '60', '--out',
             str(tmp_path / 'x.yaml')]
    if number == signal.SIGINT:
        assert main(words) == 130
    else:
        with pytest.raises(SystemExit, match='143'):
            main(words)
    assert arm.held == 1
    assert arm.laws == ['float', 'computed_torque']


def test_an_interrupted_play_cancels_its_goal(arm, tmp_path, signalled):
    file = tmp_path / 'lesson.yaml'
    Lesson('laas4', MODEL.joint_names, np.array([0.0, 4.0]), np.array([HOME, HOME + 0.1]), 1.0,
           0.0).write(file)
    arm.slow = True
    signalled(signal.SIGINT, lambda: arm.goals)
    assert main(['--namespace', arm.node.get_namespace(), 'play', str(file)]) == 130
    deadline = time.monotonic() + 20.0
    while not arm.cancelled and time.monotonic() < deadline:
        time.sleep(0.01)
    assert arm.cancelled == 1


def test_what_the_controller_would_refuse_is_told_at_once():
    low = HOME - [0.0, 2.0, 0.0, 0.0]                # the hand was below the table
    found = [problems(Lesson('laas4', MODEL.joint_names, np.array([0.0, 4.0]),
                             np.array([HOME, end]), 1.0, 0.0), MODEL) for end in (HOME + 0.1, low)]
    assert found[0] == []
    assert 'floor' in found[1][0]


def test_waypoints_carry_the_whole_spline():
    message = message_of(MODEL.joint_names, PATH)
    times = [p.time_from_start.sec + 1e-9 * p.time_from_start.nanosec for p in message.points]
    again = QuinticSpline(times, *([list(getattr(p, field)) for p in message.points] for field in
                                   ('positions', 'velocities', 'accelerations')))
    for t in np.linspace(0.0, 1.2, 30):
        np.testing.assert_allclose(again.sample(t).q, PATH.sample(t).q, atol=1e-9)
