"""Goals, laws and reactions of one arm; the controller nodes wrap it thinly.

`step` and `rest` belong to the thread of the control loop (`motion_cycle`). The methods here may
be called from one other thread: they plan there, with a model of their own, and leave what they
decided in a queue that the next `step` empties.
"""

from __future__ import annotations

from numpy.typing import ArrayLike

from armsense_core.control.config import ControllerConfig
from armsense_core.control.goal import Goal, GoalRefused, GoalStatus
from armsense_core.control.motion_cycle import MotionCycle
from armsense_core.control.pd_gravity import Float
from armsense_core.control.planner import Planner
from armsense_core.control.types import Reference
from armsense_core.errors import ArmsenseError
from armsense_core.model import ArmModel
from armsense_core.reaction.machine import known_strategy
from armsense_core.trajectory import Clearance, ErrorCode, point_to_point, Tolerances, Trajectory


class MotionController(MotionCycle):
    """Drives one arm."""

    def __init__(self, model: ArmModel, config: ControllerConfig | None = None,
                 law: str | None = None) -> None:
        """Prepare an arm.

        Args:
            model: The arm.
            config: Its controllers.yaml block; None: loaded by the arm's name.
            law: Active law; None: that of the configuration.
        """
        config = config or ControllerConfig.of(model)
        super().__init__(model, config, law or config.law)
        self._base_model = model                     # without a payload
        self._planner = Planner(model.replace(), self.limits, Clearance(
            model, floor=config.floor, self_distance=config.self_distance))

    # -- goals ---------------------------------------------------------------------------------

    def follow(self, trajectory: Trajectory, tolerances: Tolerances | None = None,
               reaction: str | None = None) -> GoalStatus:
        """Check a trajectory and drive it from the next step on.

        Args:
            trajectory: It must begin close to where the arm is led now; it is entered smoothly.
            tolerances: None: those of the configuration.
            reaction: Strategy during this goal; None: as chosen before.

        Raises:
            GoalRefused: With code and text; nothing moves.
        """
        now = self._ready()
        return self._accept(self._planner.check(trajectory, now), tolerances, reaction)

    def follow_waypoints(self, times: ArrayLike, positions: ArrayLike,
                         velocities: ArrayLike | None = None,
                         accelerations: ArrayLike | None = None,
                         tolerances: Tolerances | None = None,
                         reaction: str | None = None,
                         start: float | None = None) -> GoalStatus:
        """Quintic spline from the present motion through waypoints, as `follow`.

        Args:
            times: [s] from now, (N,); a first waypoint at 0 is where the arm must be already.
            positions: [rad] (N, n)
            velocities: [rad/s] (N, n)
            accelerations: [rad/s^2] (N, n)
            tolerances: As in `follow`.
            reaction: As in `follow`.
            start: When the motion begins, in the controller's `time` [s]; None: now. Until then
                the arm rests.
        """
        now = self._ready()
        if start is not None and now.dq.any():
            raise GoalRefused(ErrorCode.INVALID_GOAL,
                              'a trajectory that begins later needs an arm at rest')
        trajectory = self._planner.join(now, times, positions, velocities, accelerations)
        return self._accept(self._planner.check(trajectory, now), tolerances, reaction, start)

    def home(self) -> GoalStatus:
        """To the home position, from rest."""
        now = self._ready()
        config = self._base_model.config
        if config is None or not config.home:
            raise GoalRefused(ErrorCode.INVALID_GOAL, f'{self._base_model.name} has no home')
        if now.dq.any():
            raise GoalRefused(ErrorCode.INVALID_GOAL, 'the arm moves; cancel or hold first')
        return self.follow(point_to_point(now.q, config.home, self.limits, self._planner.model,
                                          self.config.home_speed))

    def cancel(self, status: GoalStatus | None = None) -> None:
        """Stop smoothly on the path and hold.

        Args:
            status: Of the goal to cancel, if it is still driven; None: whatever is driven.
        """
        self._requests.append(lambda: self._stop(status))

    def hold(self) -> None:
        """Stop smoothly and hold; also ends floating and a hold after a collision."""
        self._requests.append(self._begin_hold)

    def resume(self) -> None:
        """Verify after a collision, then drive the rest of the trajectory."""
        if self._course.interrupted is None:
            raise ArmsenseError('there is no interrupted trajectory to resume')
        if self.law_name == Float.name:
            raise ArmsenseError('a hand leads the arm: switch to another law before resuming')
        self.reaction.request_resume()

    def switch(self, law: str) -> None:
        """Change the law without a jump of torque."""
        new = self._laws.find(law)
        self._requests.append(lambda: self._begin_switch(new))

    def set_payload(self, mass: float, center: ArrayLike = (0.0, 0.0, 0.0),
                    inertia: ArrayLike | None = None) -> None:
        """What the tool carries (as `ArmModel.with_payload`), without a jump of torque."""
        model = self._base_model.with_payload(mass, center, inertia)
        self._planner.model = model.replace()
        self._requests.append(lambda: self._begin_model(model))

    def clear_fault(self) -> None:
        """Leave the safe state and hold where the arm is."""
        self._requests.append(self._clear)

    # -- status --------------------------------------------------------------------------------

    @property
    def status(self) -> GoalStatus | None:
        """Of the last goal; None: there was none."""
        goal = self._course.goal
        return None if goal is None else goal.status

    @property
    def explanation(self) -> str:
        """Why the reaction is in its phase."""
        return self.reaction.explanation

    @property
    def moving(self) -> bool:
        """A trajectory is being driven."""
        goal = self._course.goal
        return goal is not None and goal.active

    # -- inside --------------------------------------------------------------------------------

    def _ready(self) -> Reference:
        """The reference that a new goal starts from."""
        if self.reference is None:
            raise GoalRefused(ErrorCode.INVALID_GOAL, 'no state of the arm has arrived yet')
        if self._busy:
            raise GoalRefused(ErrorCode.INVALID_GOAL, self._busy)
        if self.law_name == Float.name:
            raise GoalRefused(ErrorCode.INVALID_GOAL, 'a hand leads the arm: float follows no '
                              'trajectory; switch to another law first')
        return self.reference

    def _accept(self, trajectory: Trajectory, tolerances: Tolerances | None,
                reaction: str | None, start: float | None = None) -> GoalStatus:
        if reaction is not None:
            known_strategy(reaction)
        tolerances = tolerances or self.config.tolerances(trajectory.n)
        goal = Goal(trajectory, tolerances, self.limits.joints, self.time)
        self._accepted.append(goal)
        self._requests.append(lambda: self._begin_goal(goal, reaction, start))
        return goal.status
