"""`follow_joint_trajectory` and the topic `joint_trajectory`, as MoveIt users know them.

Wishes for one goal are words in the trajectory's `header.frame_id`:
`reaction=stop` chooses the reaction to collisions, `contact=allowed` lets it be driven although a
contact lasts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from control_msgs.action import FollowJointTrajectory
import numpy as np
from rclpy.task import Future
from rclpy.time import Time
from std_msgs.msg import Header
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from armsense.control.goal import GoalRefused, GoalStatus
from armsense.errors import ArmsenseError, UnknownName
from armsense.reaction.options import STRATEGIES
from armsense.trajectory import ErrorCode, Tolerances
from armsense_control.goal_action import GoalAction, Served

WISHES = {'reaction': STRATEGIES, 'contact': ('allowed',)}   # of a goal, with their values


class TrajectoryAction(GoalAction):
    """Waypoints of the joints."""

    def __init__(self, served: Served, joint_names: Sequence[str]) -> None:
        """Serve; joints of the arm, in order."""
        super().__init__(served, FollowJointTrajectory, 'follow_joint_trajectory')
        self._names = tuple(joint_names)
        # rclpy awaits coroutines; its annotation does not say so.
        on_topic: Any = self._on_topic
        self.node.create_subscription(JointTrajectory, 'joint_trajectory', on_topic, 1)

    def plan(self, request: FollowJointTrajectory.Goal, status: GoalStatus) -> Future:
        return self._plan(request.trajectory, self._tolerances(request), status)

    def _plan(self, trajectory: JointTrajectory, tolerances: Tolerances | None,
              status: GoalStatus) -> Future:
        """Let a trajectory be planned; its future fails with the reason of a refusal."""
        # As of now, not of when it is planned.
        start, ordered = self._begin(trajectory), self.controller.overtakings
        return self.planning.submit(
            lambda: self._start(trajectory, tolerances, status, start, ordered))

    def _start(self, trajectory: JointTrajectory, tolerances: Tolerances | None,
               status: GoalStatus, start: float | None, ordered: int) -> None:
        order = self._order(trajectory.joint_names)
        if not trajectory.points:
            raise GoalRefused(ErrorCode.INVALID_GOAL, 'the trajectory has no points')
        times = [p.time_from_start.sec + 1e-9 * p.time_from_start.nanosec
                 for p in trajectory.points]
        wishes = _wishes(trajectory.header.frame_id)
        self.controller.follow_waypoints(
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
        now_ns, now = self.clock()
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
        default = self.controller.config.tolerances(len(self._names))
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

    async def _on_topic(self, trajectory: JointTrajectory) -> None:
        try:
            await self._plan(trajectory, None, GoalStatus())
        except ArmsenseError as error:
            self.node.get_logger().error(f'joint_trajectory: {error}')

    def feedback(self, status: GoalStatus) -> FollowJointTrajectory.Feedback:
        desired, error = status.desired, status.error
        assert desired is not None
        assert error is not None
        return FollowJointTrajectory.Feedback(
            header=Header(stamp=Time(nanoseconds=self.clock()[0]).to_msg()),
            joint_names=list(self._names),
            desired=JointTrajectoryPoint(positions=desired.q.tolist(),
                                         velocities=desired.dq.tolist()),
            actual=JointTrajectoryPoint(positions=(desired.q - error).tolist()),
            error=JointTrajectoryPoint(positions=error.tolist()))


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
