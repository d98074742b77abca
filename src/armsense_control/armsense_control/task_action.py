"""`follow_task_path`: paths of the tool; `task_target/pose` and `task_target/twist`: servoing.

Poses may stand in any frame of the arm, such as that of its tool, or of `tf`. They are looked up
once, when the message comes.
"""

from __future__ import annotations

from geometry_msgs.msg import PoseStamped, TwistStamped
import numpy as np
from rclpy.task import Future
from rclpy.time import Time
from trajectory_msgs.msg import MultiDOFJointTrajectory

from armsense.control.goal import GoalRefused, GoalStatus
from armsense.errors import ArmsenseError
from armsense.model import Arm
from armsense.task import Pose, TaskGoal, TaskTarget
from armsense.trajectory import ErrorCode
from armsense.types import Array, Press
from armsense_control.frames import Frames, pose_of
from armsense_control.goal_action import GoalAction, Served
from armsense_msgs.action import FollowTaskPath
from armsense_node.press import make_press


class TaskAction(GoalAction):
    """Poses of the tool, as goals and as targets."""

    def __init__(self, served: Served, model: Arm) -> None:
        super().__init__(served, FollowTaskPath, 'follow_task_path')
        self._frames = Frames(self.node, model)
        self._rotates = model.n >= 6
        self._told = ''                      # the last reason why a target was not followed
        self.node.create_subscription(PoseStamped, 'task_target/pose', self._on_pose, 1)
        self.node.create_subscription(TwistStamped, 'task_target/twist', self._on_twist, 1)

    def plan(self, request: FollowTaskPath.Goal, status: GoalStatus) -> Future:
        goal, press = self._goal(request), self._press(request)
        ordered = self.controller.overtakings
        return self.planning.submit(lambda: self.controller.follow_task_path(
            goal, reaction=request.reaction or None, allow_lasting=request.allow_contact,
            press=press, status=status, ordered=ordered))

    def feedback(self, status: GoalStatus) -> FollowTaskPath.Feedback:
        assert status.desired is not None
        assert status.error is not None
        q = status.desired.q
        desired, actual = self._frames.tool(q), self._frames.tool(q - status.error)
        return FollowTaskPath.Feedback(
            desired=self._message(desired), actual=self._message(actual),
            error=float(np.linalg.norm(desired.position - actual.position)),
            progress=status.progress)

    def _goal(self, request: FollowTaskPath.Goal) -> TaskGoal:
        trajectory: MultiDOFJointTrajectory = request.trajectory
        frame = self._frames.find(trajectory.header.frame_id, self._q())
        turns = self._turns(request.directions)
        for k, point in enumerate(trajectory.points):
            if len(point.transforms) != 1:
                raise GoalRefused(ErrorCode.INVALID_GOAL, f'point {k} has '
                                  f'{len(point.transforms)} transforms; it must have one')
        times = [p.time_from_start.sec + 1e-9 * p.time_from_start.nanosec
                 for p in trajectory.points]
        poses = [pose_of(p.transforms[0], turns).within(frame) for p in trajectory.points]
        return TaskGoal(poses=poses[-1:] if request.any_way else poses,
                        times=times if any(times) and not request.any_way else (),
                        directions=tuple(request.directions), blend=request.blend,
                        speed=request.speed or TaskGoal.speed, straight=not request.any_way)

    def _press(self, request: FollowTaskPath.Goal) -> Press | None:
        axes = self._frames.find(request.trajectory.header.frame_id, self._q()).rotation
        force = axes @ (request.press.x, request.press.y, request.press.z)
        limit = request.press_limit
        if not (np.isfinite(force).all() and 0.0 <= limit < np.inf):
            raise GoalRefused(ErrorCode.INVALID_GOAL, f'press {force.tolist()} N with a limit of '
                              f'{limit} N; both must be finite, the limit not negative')
        if 0.0 < limit < np.linalg.norm(force):
            raise GoalRefused(ErrorCode.INVALID_GOAL, f'press_limit {limit:g} N is less than the '
                              f'force, {np.linalg.norm(force):.3g} N')
        return make_press(force, limit)

    def _turns(self, directions: list[str]) -> bool:
        """The orientation of poses counts."""
        return any(d.startswith('r') for d in directions) if directions else self._rotates

    def _on_pose(self, message: PoseStamped) -> None:
        try:
            frame = self._frames.find(message.header.frame_id, self._q())
            turns = self._turns(list(self.controller.config.target_directions))
            self._follow(TaskTarget(pose_of(message.pose, turns).within(frame)))
        except ArmsenseError as error:
            self._tell(str(error))

    def _on_twist(self, message: TwistStamped) -> None:
        try:
            axes = self._frames.find(message.header.frame_id, self._q()).rotation
        except ArmsenseError as error:
            return self._tell(str(error))
        linear, angular = message.twist.linear, message.twist.angular
        twist = np.concatenate([axes @ (linear.x, linear.y, linear.z),
                                axes @ (angular.x, angular.y, angular.z)])
        if not np.isfinite(twist).all():
            return self._tell(f'twist {twist.tolist()} holds values that are no numbers')
        self._follow(TaskTarget(twist=twist))

    def _follow(self, target: TaskTarget) -> None:
        self.controller.target(target)
        self._tell(self.controller.refused_targets)

    def _tell(self, why: str) -> None:
        """Once per reason: targets come many times a second."""
        if why and why != self._told:
            self.node.get_logger().warning(f'task_target: {why}')
        self._told = why

    def _q(self) -> Array:
        """Where the arm is led [rad], (n,)."""
        reference = self.controller.reference
        if reference is None:
            raise GoalRefused(ErrorCode.INVALID_GOAL, 'no state of the arm has arrived yet')
        return reference.q

    def _message(self, pose: Pose) -> PoseStamped:
        out = PoseStamped()
        out.header.frame_id = self._frames.base
        out.header.stamp = Time(nanoseconds=self.clock()[0]).to_msg()
        place, turn = out.pose.position, out.pose.orientation
        place.x, place.y, place.z = pose.position.tolist()
        turn.x, turn.y, turn.z, turn.w = pose.quaternion.tolist()
        return out
