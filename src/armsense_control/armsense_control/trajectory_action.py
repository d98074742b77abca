"""`follow_joint_trajectory` and the topic `joint_trajectory`, as MoveIt users know them.

Goals are planned in a thread of their own: one that is cancelled meanwhile never begins.

A goal that cannot be driven is accepted and aborted at once with error code and text: a rejected
action goal could not say why. Wishes for one goal are words in the trajectory's `header.frame_id`:
`reaction=stop` chooses the reaction to collisions, `contact=allowed` lets it be driven although a
contact lasts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
import time
from typing import Any

from control_msgs.action import FollowJointTrajectory
import numpy as np
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.node import Node
from rclpy.task import Future
from rclpy.time import Time
from std_msgs.msg import Header
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from armsense.control.goal import GoalRefused, GoalStatus
from armsense.control.motion_controller import MotionController
from armsense.errors import ArmsenseError, UnknownName
from armsense.reaction.options import STRATEGIES
from armsense.trajectory import ErrorCode, Tolerances

FEEDBACK_PERIOD = 0.05   # [s]
# [s] for which the result of a goal can be asked for. Every status message lists all goals that
# are kept; with rclpy's 15 min a stream of short goals means hundreds, for every listener.
RESULT_KEPT = 60
WISHES = {'reaction': STRATEGIES, 'contact': ('allowed',)}   # of a goal, with their values
LONGEST_WAIT = 1.0   # [s] of the arm's time, which in lock-step goes slower than the wall clock
STUCK = 5.0          # [s] wall clock: no states come
POLL = 0.01          # [s]


class Planning:
    """Plans one goal after the other.

    A future of rclpy does not wake an executor that waits, and a callback that waits for planning
    would keep all others from being served: so a callback awaits the future, and a task wakes the
    executor when it is done.
    """

    def __init__(self, node: Node, wait: Callable[[], bool], clock: Callable[[], float]) -> None:
        """Prepare.

        Args:
            node: The controller.
            wait: The arm is not ready for a goal, but will be in a moment.
            clock: Time of the newest state [s].
        """
        self._node, self._wait, self._clock = node, wait, clock
        self._pool = ThreadPoolExecutor(1, thread_name_prefix=f'{node.get_name()}-planning')

    def submit(self, plan: Callable[[], Any]) -> Future:
        """Begin to plan as soon as what came before is planned; await the result."""
        done = Future()
        self._pool.submit(self._work, plan, done)
        return done

    def close(self) -> None:
        """End without what is still to be planned."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _work(self, plan: Callable[[], Any], done: Future) -> None:
        deadline, stuck = self._clock() + LONGEST_WAIT, time.monotonic() + STUCK
        while self._wait() and self._clock() < deadline and time.monotonic() < stuck:
            time.sleep(POLL)
        try:
            done.set_result(plan())
        except Exception as error:
            done.set_exception(error)
        executor = self._node.executor
        if executor is not None:
            executor.create_task(_nothing)


def _nothing() -> None:
    """Work for an executor that shall look up."""


class TrajectoryAction:
    """Action server on the executor's thread; the loop only sees the controller's queue."""

    def __init__(self, node: Node, controller: MotionController, joint_names: Sequence[str],
                 clock: Callable[[], tuple[int, float]], planning: Planning) -> None:
        """Serve.

        Args:
            node: The controller.
            controller: Its laws and goals.
            joint_names: Of the arm, in order.
            clock: Stamp of the newest state [ns] and the controller's time then [s].
            planning: Where goals are planned.
        """
        self._node = node
        self._clock, self._planning = clock, planning
        self._controller = controller
        self._names = tuple(joint_names)
        self._running: list[tuple[Any, GoalStatus, Future]] = []
        self._server = ActionServer(
            node, FollowJointTrajectory, 'follow_joint_trajectory', self._execute,
            goal_callback=lambda request: GoalResponse.ACCEPT,
            cancel_callback=self._cancel, result_timeout=RESULT_KEPT)
        # rclpy awaits coroutines; its annotation does not say so.
        on_topic: Any = self._on_topic
        node.create_subscription(JointTrajectory, 'joint_trajectory', on_topic, 1)
        node.create_timer(FEEDBACK_PERIOD, self._watch)

    async def _execute(self, handle: Any) -> FollowJointTrajectory.Result:
        request = handle.request
        if handle.is_cancel_requested:       # before it could begin
            handle.canceled()
            return _result(ErrorCode.SUCCESSFUL, 'cancelled')
        running = handle, GoalStatus(), Future()
        self._running.append(running)        # from now on it can be cancelled
        try:
            await self._plan(request.trajectory, self._tolerances(request), running[1])
        except ArmsenseError as error:
            if running in self._running:
                self._running.remove(running)
            handle.abort()
            code = error.code if isinstance(error, GoalRefused) else ErrorCode.INVALID_GOAL
            return _result(code, str(error))
        await running[2]
        return _end(handle, running[1])

    def _plan(self, trajectory: JointTrajectory, tolerances: Tolerances | None,
              status: GoalStatus) -> Future:
        """Let a trajectory be planned; its future fails with the reason of a refusal."""
        # As of now, not of when it is planned.
        start, ordered = self._begin(trajectory), self._controller.overtakings
        return self._planning.submit(
            lambda: self._start(trajectory, tolerances, status, start, ordered))

    def _start(self, trajectory: JointTrajectory, tolerances: Tolerances | None,
               status: GoalStatus, start: float | None, ordered: int) -> None:
        order = self._order(trajectory.joint_names)
        if not trajectory.points:
            raise GoalRefused(ErrorCode.INVALID_GOAL, 'the trajectory has no points')
        times = [p.time_from_start.sec + 1e-9 * p.time_from_start.nanosec
                 for p in trajectory.points]
        wishes = _wishes(trajectory.header.frame_id)
        self._controller.follow_waypoints(
            times, _columns(trajectory, 'positions', order),
            _optional_columns(trajectory, 'velocities', order),
            _optional_columns(trajectory, 'accelerations', order),
            tolerances=tolerances, reaction=wishes.get('reaction'), start=start,
            allow_lasting='contact' in wishes, status=status, ordered=ordered)

    def _begin(self, trajectory: JointTrajectory) -> float | None:
        """The controller's time at which the trajectory begins; a zero stamp means now."""
        stamp = trajectory.header.stamp
        if not (stamp.sec or stamp.nanosec):
            return None
        now_ns, now = self._clock()
        delay = 1e-9 * (stamp.sec * 10**9 + stamp.nanosec - now_ns)
        if delay < 0.0:
            raise GoalRefused(ErrorCode.OLD_HEADER_TIMESTAMP,
                              f'the trajectory should have begun {-delay:.3f} s ago')
        # Rounded, so that the begin does not depend on when the goal came.
        return round(now + delay, 6)

    def _order(self, names: Sequence[str]) -> list[int]:
        missing = [name for name in self._names if name not in names]
        unknown = [name for name in names if name not in self._names]
        if missing or unknown or len(names) != len(self._names):
            raise GoalRefused(
                ErrorCode.INVALID_JOINTS,
                f'the trajectory names {", ".join(names) or "no joints"}; this arm needs all of '
                f'{", ".join(self._names)}'
                + (f'; missing: {", ".join(missing)}' if missing else '')
                + (f'; unknown: {", ".join(unknown)}' if unknown else ''))
        return [list(names).index(name) for name in self._names]

    def _tolerances(self, request: FollowJointTrajectory.Goal) -> Tolerances | None:
        """Tolerances of the goal over the defaults; 0 keeps, -1 removes a tolerance."""
        default = self._controller.config.tolerances(len(self._names))
        path, goal = np.array(default.path), np.array(default.goal)
        for values, given in ((path, request.path_tolerance), (goal, request.goal_tolerance)):
            for tolerance in given:
                if tolerance.name not in self._names:
                    raise GoalRefused(ErrorCode.INVALID_JOINTS,
                                      f'tolerance for unknown joint {tolerance.name!r}; known: '
                                      f'{", ".join(self._names)}')
                if tolerance.position != 0.0:
                    values[self._names.index(tolerance.name)] = max(tolerance.position, 0.0)
        wanted = request.goal_time_tolerance
        seconds = wanted.sec + 1e-9 * wanted.nanosec
        return Tolerances(path=path, goal=goal, goal_time=seconds or default.goal_time)

    def _cancel(self, handle: Any) -> CancelResponse:
        for running, status, _ in self._running:
            if running is handle:            # another goal may have replaced it
                self._controller.cancel(status)
        return CancelResponse.ACCEPT

    async def _on_topic(self, trajectory: JointTrajectory) -> None:
        try:
            await self._plan(trajectory, None, GoalStatus())
        except ArmsenseError as error:
            self._node.get_logger().error(f'joint_trajectory: {error}')

    def _watch(self) -> None:
        """Feedback of the running goals; wakes those that have ended."""
        for entry in list(self._running):
            handle, status, done = entry
            if not status.active:
                self._running.remove(entry)
                done.set_result(None)
            elif status.desired is not None and status.error is not None:
                handle.publish_feedback(self._feedback(status))

    def _feedback(self, status: GoalStatus) -> FollowJointTrajectory.Feedback:
        desired, error = status.desired, status.error
        assert desired is not None
        assert error is not None
        return FollowJointTrajectory.Feedback(
            header=Header(stamp=Time(nanoseconds=self._clock()[0]).to_msg()),
            joint_names=list(self._names),
            desired=JointTrajectoryPoint(positions=desired.q.tolist(),
                                         velocities=desired.dq.tolist()),
            actual=JointTrajectoryPoint(positions=(desired.q - error).tolist()),
            error=JointTrajectoryPoint(positions=error.tolist()))


def _end(handle: Any, status: GoalStatus) -> FollowJointTrajectory.Result:
    """Tell the client how its goal has ended."""
    if status.succeeded:
        handle.succeed()
    elif status.cancelled and handle.is_cancel_requested:
        handle.canceled()
    else:
        handle.abort()
        if status.cancelled:                 # by somebody else: its client did not get its goal
            return _result(ErrorCode.INVALID_GOAL, status.text)
    return _result(status.code, status.text)


def _optional_columns(trajectory: JointTrajectory, field: str,
                      order: list[int]) -> np.ndarray | None:
    if not any(getattr(point, field) for point in trajectory.points):
        return None
    return _columns(trajectory, field, order)


def _columns(trajectory: JointTrajectory, field: str, order: list[int]) -> np.ndarray:
    rows = [list(getattr(point, field)) for point in trajectory.points]
    for k, row in enumerate(rows):
        if len(row) != len(order):
            raise GoalRefused(ErrorCode.INVALID_GOAL,
                              f'point {k} has {len(row)} {field}; it must have {len(order)}')
    return np.array(rows)[:, order]


def _wishes(frame_id: str) -> dict[str, str]:
    """Such as {'reaction': 'stop'}; words without `=` are the name of a frame."""
    wishes = {}
    for word in frame_id.replace(',', ' ').split():
        key, sign, value = word.partition('=')
        if not sign:
            continue
        if key not in WISHES:
            raise GoalRefused(ErrorCode.INVALID_GOAL, str(UnknownName('wish', key, WISHES)))
        if value not in WISHES[key]:
            raise GoalRefused(ErrorCode.INVALID_GOAL, str(UnknownName(key, value, WISHES[key])))
        wishes[key] = value
    return wishes


def _result(code: ErrorCode, text: str) -> FollowJointTrajectory.Result:
    return FollowJointTrajectory.Result(error_code=int(code), error_string=text)
