"""What `follow_task_path` and `task_target` make of messages; no DDS but that of `tf`."""

from types import SimpleNamespace

from geometry_msgs.msg import PoseStamped, Transform, TransformStamped, TwistStamped, Vector3
import numpy as np
import pytest
from rclpy.task import Future
from tf2_msgs.msg import TFMessage
from trajectory_msgs.msg import MultiDOFJointTrajectoryPoint

from armsense.control import ArmState
from armsense.control.motion_controller import MotionController
from armsense.errors import ArmsenseError
from armsense.model import Arm
from armsense_control import frames, goal_action
from armsense_control.task_action import TaskAction
from armsense_msgs.action import FollowTaskPath
from armsense_node.press import make_press

MODEL = Arm.load('laas4')
HOME = np.array(MODEL.config.home)
TOOL = MODEL.frame_pose(HOME)
DT = 5e-3


class Server:
    """The action of an arm that is always where it is led; `tf` is a list of messages."""

    def __init__(self, monkeypatch):
        self.tf, self.warnings = [], []
        monkeypatch.setattr(goal_action, 'ActionServer', lambda *args, **options: None)
        monkeypatch.setattr(frames, 'DirectSubscription', lambda *args: SimpleNamespace(
            take=lambda: self.tf.pop(0) if self.tf else None))
        logger = SimpleNamespace(warning=self.warnings.append)
        node = SimpleNamespace(create_subscription=lambda *args: None, get_logger=lambda: logger,
                               create_timer=lambda *args: None)
        self.controller = MotionController(MODEL)
        self.action = TaskAction(goal_action.Served(node, self.controller, lambda: (0, 0.0), self),
                                 MODEL)
        self.run(DT)

    def submit(self, plan):
        done = Future()
        done.set_result(plan())
        return done

    def run(self, seconds):
        for _ in range(max(1, round(seconds / DT))):
            reference = self.controller.reference
            q = HOME if reference is None else reference.q
            self.controller.step(ArmState.rigid(q, np.zeros(4)), None, None, DT)

    @property
    def tool(self):
        return MODEL.frame_pose(self.controller.reference.q)[:3, 3]


@pytest.fixture
def server(monkeypatch):
    return Server(monkeypatch)


def request(*places, frame='', times=(), **options):
    goal = FollowTaskPath.Goal(**options)
    goal.trajectory.header.frame_id = frame
    for k, place in enumerate(places):
        point = MultiDOFJointTrajectoryPoint(transforms=[_transform(place)])
        if times:
            point.time_from_start.sec, rest = divmod(round(times[k] * 1e9), 10**9)
            point.time_from_start.nanosec = rest
        goal.trajectory.points.append(point)
    return goal


def _transform(place, turn=(0.0, 0.0, 0.0, 1.0)):
    out = Transform()
    out.translation.x, out.translation.y, out.translation.z = map(float, place)
    out.rotation.x, out.rotation.y, out.rotation.z, out.rotation.w = turn
    return out


def drive(server, goal, seconds=2.0):
    status = goal_action.GoalStatus()
    server.action.plan(goal, status)
    server.run(seconds)
    return status


ASIDE = TOOL[:3, 3] + [0.0, 0.1, 0.0]


@pytest.mark.parametrize('options', [
    {}, {'times': (1.5,)}, {'any_way': True}, {'speed': 1.0}, {'frame': 'base_link'}])
def test_a_pose_in_the_base_frame(server, options):
    status = drive(server, request(ASIDE, **options))
    assert status.succeeded, status.text
    np.testing.assert_allclose(server.tool, ASIDE, atol=1e-5)


def test_a_pose_in_the_frame_of_the_tool_itself(server):
    assert drive(server, request([0.0, 0.05, 0.0], frame='tool')).succeeded
    np.testing.assert_allclose(server.tool, TOOL[:3, 3] + 0.05 * TOOL[:3, 1], atol=1e-5)


def test_a_pose_in_a_frame_of_tf(server):
    """map -> table, map -> base_link: both hang on the same frame."""
    half = float(np.sqrt(0.5))
    table = TransformStamped(child_frame_id='table', transform=_transform([1.0, 0.0, 0.0]))
    base = TransformStamped(child_frame_id='base_link',
                            transform=_transform([1.0, 0.5, 0.0], (0.0, 0.0, half, half)))
    table.header.frame_id = base.header.frame_id = 'map'
    server.tf.append(TFMessage(transforms=[table, base]))
    # The base is turned by a quarter to the left: its x is the map's y.
    x, y, z = ASIDE
    assert drive(server, request([-y, x + 0.5, z], frame='table')).succeeded
    np.testing.assert_allclose(server.tool, ASIDE, atol=1e-5)


def test_feedback_tells_where_the_tool_is(server):
    drive(server, request(ASIDE, times=(1.0,)), 0.5)
    told = server.action.feedback(server.controller.status)
    assert told.desired.header.frame_id == 'base_link'
    assert 0.0 < told.desired.pose.position.y < ASIDE[1]
    assert told.error < 0.002                            # this arm is one cycle late
    assert 0.3 < told.progress < 0.7


@pytest.mark.parametrize(('goal', 'text'), [
    (request([2.0, 0.0, 0.5]), 'away'), (request(ASIDE, frame='moon'), 'moon'),
    (request(), 'poses'), (request(ASIDE, directions=['up']), 'up'),
    (request(ASIDE, directions=['x', 'rx'], speed=7.0), 'speed'),
    (request(ASIDE, reaction='dance'), 'dance'),
    (request(ASIDE, press=Vector3(z=5.0)), 'needs the law force'),
    (request(ASIDE, press=Vector3(z=5.0), press_limit=1.0), 'less than the force'),
    (request(ASIDE, press=Vector3(z=float('nan'))), 'finite'),
    (FollowTaskPath.Goal(trajectory=request(ASIDE).trajectory.__class__(
        points=[MultiDOFJointTrajectoryPoint()])), 'transforms')])
def test_refusals_say_why(server, goal, text):
    with pytest.raises(ArmsenseError, match=text):
        server.action.plan(goal, goal_action.GoalStatus())


def test_a_goal_that_presses_does_so_while_it_is_driven(server):
    server.controller.switch('force')
    server.run(DT)
    status = drive(server, request([0.0, 0.05, 0.0], frame='tool', times=(1.0,),
                                   press=Vector3(x=5.0)), 0.5)
    press = server.controller.press
    np.testing.assert_allclose(press.direction, TOOL[:3, 0], atol=1e-9)
    assert press[1:] == (5.0, 10.0)
    np.testing.assert_allclose(make_press(10.0 * press.direction, 10.0).direction, TOOL[:3, 0])
    server.run(1.5)
    assert not status.active
    assert server.controller.press is None


def test_targets_are_followed_in_their_frames_until_silence(server):
    twist = TwistStamped()
    twist.header.frame_id = 'tool'
    twist.twist.linear.y = 0.1
    for _ in range(100):
        server.action._on_twist(twist)
        server.run(DT)
    along = (server.tool - TOOL[:3, 3]) @ TOOL[:3, 1]
    assert 0.03 < along < 0.05
    server.run(0.5)
    assert not server.controller.moving
    pose = PoseStamped()
    pose.pose.position.x, pose.pose.position.y, pose.pose.position.z = map(float, ASIDE)
    for _ in range(200):
        server.action._on_pose(pose)
        server.run(DT)
    np.testing.assert_allclose(server.tool, ASIDE, atol=1e-4)
    assert not server.warnings


def test_targets_that_are_ignored_are_told_once(server):
    twist = TwistStamped()
    twist.header.frame_id = 'moon'
    for _ in range(3):
        server.action._on_twist(twist)
    twist.header.frame_id = ''
    twist.twist.linear.x = float('nan')
    server.action._on_twist(twist)
    assert len(server.warnings) == 2
    assert 'moon' in server.warnings[0]
    assert 'nan' in server.warnings[1]
