"""What a client of `follow_joint_trajectory` is told: no DDS, handles as strict as rclpy's."""

from types import SimpleNamespace

from action_msgs.msg import GoalStatus
from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointTolerance
import numpy as np
import pytest
from rclpy.task import Future
from trajectory_msgs.msg import JointTrajectoryPoint

from armsense.control import ArmState
from armsense.control.motion_controller import MotionController
from armsense.errors import ArmsenseError
from armsense.model import Arm
from armsense_control import goal_action
from armsense_control.trajectory_action import TrajectoryAction

MODEL = Arm.load('laas4')
HOME = np.array(MODEL.config.home)
DT = 5e-3


class Handle:
    """Changes its state only as rcl's goals may."""

    def __init__(self, goal, duration):
        point = JointTrajectoryPoint(positions=goal.tolist())
        point.time_from_start.nanosec = round(duration * 1e9)
        self.request = FollowJointTrajectory.Goal()
        self.request.trajectory.joint_names = list(MODEL.joint_names)
        self.request.trajectory.points = [point]
        self.status = GoalStatus.STATUS_EXECUTING

    @property
    def is_cancel_requested(self):
        return self.status == GoalStatus.STATUS_CANCELING

    def publish_feedback(self, feedback):
        pass

    def succeed(self):
        self._end(GoalStatus.STATUS_SUCCEEDED)

    def abort(self):
        self._end(GoalStatus.STATUS_ABORTED)

    def canceled(self):
        assert self.is_cancel_requested
        self._end(GoalStatus.STATUS_CANCELED)

    def _end(self, status):
        assert self.status in (GoalStatus.STATUS_EXECUTING, GoalStatus.STATUS_CANCELING)
        self.status = status


class Server:
    """The action of an arm that is always where it is led."""

    def __init__(self, monkeypatch):
        monkeypatch.setattr(goal_action, 'ActionServer', lambda *args, **options: None)
        node = SimpleNamespace(create_subscription=lambda *args: None,
                               create_timer=lambda *args: None)
        self.controller = MotionController(MODEL)
        self.action = TrajectoryAction(
            goal_action.Served(node, self.controller, lambda: (0, 0.0), self), MODEL.joint_names)
        self.controller.step(ArmState.rigid(HOME, np.zeros(4)), None, None, DT)
        self.unplanned, self.busy = [], False
        self._waiting = []                           # (coroutine, handle) of open goals
        self.results = {}                            # of those that have ended, by id(handle)

    def submit(self, plan):
        """As `Planning`, in this thread; while it is busy nothing is planned before `plan`."""
        done = Future()
        self.unplanned.append((plan, done))
        if not self.busy:
            self.plan()
        return done

    def plan(self):
        """Plan what has come."""
        while self.unplanned:
            plan, done = self.unplanned.pop(0)
            try:
                done.set_result(plan())
            except ArmsenseError as error:
                done.set_exception(error)

    def send(self, offset, duration=0.5, frame=''):
        handle = Handle(HOME + offset, duration)
        handle.request.trajectory.header.frame_id = frame
        self.execute(handle)
        return handle

    def execute(self, handle):
        self._resume(self.action._execute(handle), handle)

    def cancel(self, handle):
        self.action._cancel(handle)
        handle.status = GoalStatus.STATUS_CANCELING

    def run(self, seconds, lasting=''):
        for _ in range(max(1, round(seconds / DT))):
            q = self.controller.reference.q
            self.controller.step(ArmState.rigid(q, np.zeros(4)), None, None, DT, lasting)
        self.action._watch()
        waiting, self._waiting = self._waiting, []
        for coroutine, handle in waiting:
            self._resume(coroutine, handle)

    def _resume(self, coroutine, handle):
        try:
            coroutine.send(None)
            self._waiting.append((coroutine, handle))
        except StopIteration as end:
            self.results[id(handle)] = end.value

    def result(self, handle):
        return self.results[id(handle)]


@pytest.fixture
def server(monkeypatch):
    return Server(monkeypatch)


def test_a_goal_succeeds(server):
    handle = server.send([0.1, 0.0, 0.0, 0.0])
    server.run(0.7)
    assert handle.status == GoalStatus.STATUS_SUCCEEDED
    assert server.result(handle).error_code == 0


LASTS = 'contact lasts on joint2, for 3.2 s now'


@pytest.mark.parametrize('frame', ['', 'base_link', 'reaction=stop'])
def test_no_goal_while_a_contact_lasts(server, frame):
    server.run(DT, LASTS)
    handle = server.send([0.1, 0.0, 0.0, 0.0], frame=frame)
    assert handle.status == GoalStatus.STATUS_ABORTED
    assert server.result(handle).error_string.startswith(LASTS)
    assert 'contact=allowed' in server.result(handle).error_string


@pytest.mark.parametrize('frame', ['contact=allowed', 'reaction=stop, contact=allowed',
                                   'world contact=allowed reaction=retract', 'reaction=ignore'])
def test_a_goal_may_allow_a_contact_that_lasts(server, frame):
    server.run(DT, LASTS)
    handle = server.send([0.1, 0.0, 0.0, 0.0], frame=frame)
    server.run(0.2, LASTS)
    if 'reaction=' in frame:
        assert f'reaction={server.controller.reaction.strategy}' in frame
    server.run(0.5, LASTS)
    assert handle.status == GoalStatus.STATUS_SUCCEEDED


@pytest.mark.parametrize(('frame', 'text'), [
    ('reaction=jump', "unknown reaction 'jump'; known: ignore, stop"),
    ('contact=maybe', "unknown contact 'maybe'; known: allowed"),
    ('contacts=allowed', "unknown wish 'contacts' (did you mean 'contact'?); known: reaction, ")])
def test_a_wish_that_nobody_knows_is_refused(server, frame, text):
    handle = server.send([0.1, 0.0, 0.0, 0.0], frame=frame)
    assert handle.status == GoalStatus.STATUS_ABORTED
    assert text in server.result(handle).error_string


def test_a_tolerance_that_is_no_number_is_refused(server):
    """It would be passed by nothing, and the arm would press on."""
    handle = Handle(HOME + [0.1, 0.0, 0.0, 0.0], 0.5)
    handle.request.path_tolerance = [JointTolerance(name='joint1', position=float('nan'))]
    server.execute(handle)
    assert handle.status == GoalStatus.STATUS_ABORTED
    assert 'tolerance path is [nan' in server.result(handle).error_string


def test_a_client_that_cancels_is_told_so(server):
    handle = server.send([0.1, 0.0, 0.0, 0.0])
    server.run(0.2)
    server.cancel(handle)
    server.run(0.1)
    assert handle.status == GoalStatus.STATUS_CANCELED
    assert server.result(handle).error_code == 0


@pytest.mark.parametrize(('ended_by', 'text'), [
    (lambda controller: controller.hold(), 'hold'),
    (lambda controller: controller.switch('float'), 'hand')])
def test_a_goal_that_somebody_else_ends_is_aborted_with_a_reason(server, ended_by, text):
    handle = server.send([0.1, 0.0, 0.0, 0.0])
    server.run(0.2)
    ended_by(server.controller)
    server.run(0.1)
    assert handle.status == GoalStatus.STATUS_ABORTED
    assert server.result(handle).error_code == -1
    assert text in server.result(handle).error_string


def test_whoever_cancels_a_goal_that_was_replaced_does_not_stop_the_new_one(server):
    old = server.send([0.1, 0.0, 0.0, 0.0])
    server.run(0.2)
    new = server.send([0.0, 0.1, 0.0, 0.0])
    server.cancel(old)                               # before anybody could be told
    server.run(0.2)
    assert old.status == GoalStatus.STATUS_ABORTED
    assert 'replaced' in server.result(old).error_string
    server.run(0.6)
    assert new.status == GoalStatus.STATUS_SUCCEEDED


def test_a_goal_that_is_cancelled_before_it_begins_is_not_driven(server):
    running = server.send([0.1, 0.0, 0.0, 0.0])
    handle = Handle(HOME + [0.0, 0.1, 0.0, 0.0], 0.5)
    server.cancel(handle)
    server.execute(handle)
    assert handle.status == GoalStatus.STATUS_CANCELED
    server.run(0.7)
    assert running.status == GoalStatus.STATUS_SUCCEEDED


@pytest.mark.parametrize('overtaken_by', ['cancel', 'hold', 'hold before'])
def test_a_goal_that_is_overtaken_while_it_is_planned_never_begins(server, overtaken_by):
    server.busy = True
    handle = server.send([0.1, 0.0, 0.0, 0.0])
    server.run(0.1)
    if overtaken_by == 'hold before':                # while others are planned
        server.controller.hold()
        server.run(0.1)
    plan = server.controller._planner.check

    def overtake(trajectory, now):
        if overtaken_by == 'cancel':
            server.cancel(handle)
        elif overtaken_by == 'hold':
            server.controller.hold()
        return plan(trajectory, now)
    server.controller._planner.check = overtake
    server.plan()
    server.run(0.5)
    np.testing.assert_array_equal(server.controller.reference.q, HOME)
    assert handle.status == (GoalStatus.STATUS_CANCELED if overtaken_by == 'cancel'
                             else GoalStatus.STATUS_ABORTED)
    if overtaken_by != 'cancel':
        assert server.result(handle).error_string == 'the arm was told to hold'
