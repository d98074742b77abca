"""Goals, laws and reactions of one arm; the controller nodes wrap it thinly.

`step` and `rest` belong to the thread of the control loop (`motion_cycle`). The methods here may
be called from any other thread. `follow`, `follow_waypoints`, `follow_task_path` and `home` plan
in the thread that calls them, one after the other, with a model of their own; all others return at
once and never wait for planning. What they decide goes into a queue that the next `step` empties.
What is being planned when the arm is told to hold, hits something or loses its motors never
begins.

A goal is planned from where the arm will be led when it begins: an arm at rest stays there, and
of one in motion the trajectory is known. So all that is driven was checked. Where the planning
takes too long for that the arm stops on its path, and the goal begins there.
"""

from collections.abc import Callable
from threading import Lock
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from armsense.control.config import ControllerConfig
from armsense.control.dynamic import Float
from armsense.control.goal import Goal, GoalRefused, GoalStatus, Planner, Terms
from armsense.control.limiter import too_heavy
from armsense.control.motion_cycle import MotionCycle, NO_TERMS
from armsense.control.trajectory_queue import Segment
from armsense.errors import ArmsenseError
from armsense.model import Arm
from armsense.reaction.options import known_strategy
from armsense.task import TaskGoal, TaskTarget
from armsense.trajectory import Clearance, ErrorCode, point_to_point, Tolerances, Trajectory
from armsense.trajectory.stopping import stop_on_path
from armsense.types import Array, Press, Reference
from armsense.watch.collision_monitor import release_level

LEAD = 0.05              # [s] that the loop may need to take what was planned
ALLOWANCE = 0.1          # [s] for planning while the arm moves, and per second of the trajectory:
ALLOWANCE_RATE = 0.005
LONGEST_ALLOWANCE = 0.5  # [s] better to stop than to drive on for longer


class Entry(NamedTuple):
    """Where and when a goal begins."""

    motion: Reference
    begin: float | None      # [s] the controller's time; None: as soon as it is planned
    rests: bool              # the arm waits there


class MotionController(MotionCycle):
    """Drives one arm."""

    def __init__(self, model: Arm, config: ControllerConfig | None = None,
                 law: str | None = None, release: Array | None = None) -> None:
        """Prepare an arm; its configuration and law are by default those of `controllers.yaml`.

        `release` is the residual below which the collision detector calls a contact ended [Nm],
        (n,); None: that of the arm in `config/detection.yaml`.
        """
        config = config or ControllerConfig.of(model)
        super().__init__(model, config, law or config.law,
                         release_level(model) if release is None else release)
        self._base_model = model                     # without a payload
        self._planner = Planner(model.replace(), self.limits, Clearance(
            model, floor=config.floor, self_distance=config.self_distance), config.longest_goal)
        self._planning = Lock()

    # -- goals ---------------------------------------------------------------------------------

    def follow(self, trajectory: Trajectory, tolerances: Tolerances | None = None,
               reaction: str | None = None, allow_lasting: bool = False,
               status: GoalStatus | None = None, ordered: int | None = None) -> GoalStatus:
        """Check a trajectory and drive it: at once, or in a moment if the arm moves.

        It must begin close to where the arm is led then, and is entered smoothly; else it is
        refused with code and text (`GoalRefused`). Tolerances and strategy of the reaction are by
        default those chosen before. `allow_lasting`: drive also while a contact lasts; what is new
        to it is still felt. Through `status` a goal can be cancelled while it is planned;
        `ordered` are the `overtakings` when it was asked for, None: now.
        """
        self._planner.check_length(trajectory.duration)
        return self._plan(lambda _: trajectory, trajectory.duration,
                          Terms(tolerances, reaction, allow_lasting), status, ordered)

    def follow_waypoints(self, times: ArrayLike, positions: ArrayLike,
                         velocities: ArrayLike | None = None,
                         accelerations: ArrayLike | None = None,
                         tolerances: Tolerances | None = None,
                         reaction: str | None = None,
                         start: float | None = None,
                         allow_lasting: bool = False,
                         status: GoalStatus | None = None,
                         ordered: int | None = None) -> GoalStatus:
        """Quintic spline from the present motion through waypoints; the rest is as for `follow`.

        Times from its begin [s], (N,); [rad], [rad/s], [rad/s^2], (N, n) each. At a first waypoint
        at 0 the arm must be already. The motion begins at `start`, in the controller's `time` [s];
        None: now. Until then the arm rests.
        """
        duration = float(np.max(times, initial=0.0))
        self._planner.check_length(duration, np.size(times))

        def join(now: Reference) -> Trajectory:
            return self._planner.join(now, times, positions, velocities, accelerations)
        return self._plan(join, duration, Terms(tolerances, reaction, allow_lasting), status,
                          ordered, start)

    def follow_task_path(self, goal: TaskGoal, tolerances: Tolerances | None = None,
                         reaction: str | None = None, allow_lasting: bool = False,
                         press: Press | None = None, status: GoalStatus | None = None,
                         ordered: int | None = None) -> GoalStatus:
        """Lead the tool along poses; the rest is as for `follow`.

        What the tool cannot reach is refused with the reason, before anything moves. With `press`
        the law `force` presses it against something meanwhile.
        """
        duration = float(np.max(goal.times, initial=0.0))
        self._planner.check_length(duration, len(goal.poses))
        return self._plan(lambda now: self._planner.lead_tool(goal, now), duration,
                          Terms(tolerances, reaction, allow_lasting or press is not None, press),
                          status, ordered)

    def target(self, target: TaskTarget) -> None:
        """Lead the tool to a target, until another comes or none comes for `target_timeout`.

        Targets replace goals; goals are refused while targets come. After a collision, `hold` or a
        fault they are ignored until none has come for a while: `refused_targets` says why.
        """
        self._tool.offer(target)

    def home(self, ordered: int | None = None) -> GoalStatus:
        """To the home position, from rest; `ordered` as in `follow`."""
        now = self._ready()
        config = self._base_model.config
        if not config.home:
            raise GoalRefused(ErrorCode.INVALID_GOAL, f'{self._base_model.name} has no home')
        if self._queue.moving:
            raise GoalRefused(ErrorCode.INVALID_GOAL, 'the arm moves; cancel or hold first')
        return self.follow(point_to_point(now.q, config.home, self.limits, self._planner.model,
                                          self.config.home_speed), ordered=ordered)

    def cancel(self, status: GoalStatus | None = None) -> None:
        """Stop smoothly on the path and hold: this goal, driven, waiting or planned; None: all."""
        if status is None:
            self._overtake('cancelled')
        self._requests.append(lambda: self._stop(status))

    def hold(self) -> None:
        """Stop smoothly and hold; also ends floating and a hold after a collision."""
        self._overtake('the arm was told to hold')
        self._requests.append(self._begin_hold)

    def resume(self) -> None:
        """Verify after a collision, then drive the rest of the trajectory."""
        if self._queue.interrupted is None:
            raise ArmsenseError('there is no interrupted trajectory to resume')
        if self.law_name == Float.name:
            raise ArmsenseError('a hand leads the arm: switch to another law before resuming')
        if self.lasting:
            raise ArmsenseError(f'{self.lasting}: nothing resumes before it has ended')
        self.reaction.request_resume()

    def switch(self, law: str) -> None:
        """Change the law without a jump of torque."""
        new = self._laws.find(law)
        self._requests.append(lambda: self._begin_switch(new))

    def set_payload(self, mass: float, center: ArrayLike = (0.0, 0.0, 0.0),
                    inertia: ArrayLike | None = None) -> None:
        """What the tool carries (as `Arm.with_payload`), without a jump of torque.

        What the motors could not hold where the arm is, or at home as long as nobody knows, is an
        error: such a load pulls away.
        """
        model = self._base_model.with_payload(mass, center, inertia)
        home = model.config.home
        q = self.state.q if self.state is not None else np.array(home) if home else None
        if q is not None and (why := too_heavy(model, self.limits, q)):
            raise ArmsenseError(f'a payload of {mass:g} kg: {why}')
        self._planner.model = model.replace()
        self._requests.append(lambda: self._begin_model(model))

    def clear_fault(self) -> None:
        """Leave the safe state and hold where the arm is."""
        self._requests.append(self._clear)

    # -- status --------------------------------------------------------------------------------

    @property
    def status(self) -> GoalStatus | None:
        """Of the last goal; None: there was none."""
        goal = self._queue.goal
        return None if goal is None else goal.status

    @property
    def explanation(self) -> str:
        """Why the reaction is in its phase."""
        return self.reaction.explanation

    @property
    def lets_go(self) -> bool:
        """The arm lets go of what it pressed against; goals are refused for a moment."""
        return self._letting_go.active

    @property
    def moving(self) -> bool:
        """A trajectory is being driven or waits for its time, or targets lead the tool."""
        return self._queue.moving or self._tool.leads

    @property
    def press(self) -> Press | None:
        """Contact on purpose, now; None: every contact is a collision."""
        reference = self.reference
        return None if reference is None else reference.press

    @property
    def refused_targets(self) -> str:
        """Why targets for the tool are ignored; empty: they are not."""
        return self._tool.refused

    # -- inside --------------------------------------------------------------------------------

    def _ready(self, terms: Terms = NO_TERMS) -> Reference:
        """The reference that a new goal starts from."""
        if self.reference is None:
            raise GoalRefused(ErrorCode.INVALID_GOAL, 'no state of the arm has arrived yet')
        if why := self._why_not(terms):
            raise GoalRefused(ErrorCode.INVALID_GOAL, why)
        if self._tool.leads:
            raise GoalRefused(ErrorCode.INVALID_GOAL, 'targets for the tool lead the arm: goals '
                              'wait until none comes any more')
        if self.law_name == Float.name:
            raise GoalRefused(ErrorCode.INVALID_GOAL, 'a hand leads the arm: float follows no '
                              'trajectory; switch to another law first')
        return self.reference

    def _plan(self, make: Callable[[Reference], Trajectory], duration: float, terms: Terms,
              status: GoalStatus | None, ordered: int | None,
              start: float | None = None) -> GoalStatus:
        """Plan a goal from where it begins, and hand it to the loop.

        `make` gives the trajectory from a motion on, of about this duration [s].
        """
        if terms.reaction is not None:
            known_strategy(terms.reaction)
        with self._planning:
            planned = self.overtakings if ordered is None else ordered
            entry = self._entry(self._ready(terms), duration, start)
            trajectory = self._planner.check(make(entry.motion), entry.motion)
            if not entry.rests and self.time > (entry.begin or 0.0) - LEAD:
                entry = self._stop_first(planned)
                trajectory = self._planner.check(make(entry.motion), entry.motion)
            return self._accept(trajectory, terms, entry.begin, planned, status)

    def _entry(self, now: Reference, duration: float, start: float | None) -> Entry:
        longest = self.config.longest_goal
        if start is not None and not start - self.time <= longest:
            raise GoalRefused(ErrorCode.INVALID_GOAL, 'the trajectory begins '
                              f'{start - self.time:g} s from now; at most {longest:g} s '
                              '(longest_goal)')
        if not self._queue.moving:
            return Entry(Reference.at_rest(now.q), start, rests=True)
        if start is not None:
            raise GoalRefused(ErrorCode.INVALID_GOAL,
                              'a trajectory that begins later needs an arm at rest')
        allowance = ALLOWANCE + ALLOWANCE_RATE * duration
        if allowance > LONGEST_ALLOWANCE:
            return self._stop_first(self.overtakings)
        begin = self.time + allowance
        leading = self._queue.leading(begin)
        return Entry(Reference.at_rest(now.q) if leading is None else leading.sample(begin),
                     begin, rests=leading is None)

    def _stop_first(self, planned: int) -> Entry:
        """Let the arm come to rest on its path in a moment, and begin there."""
        begin = self.time + LEAD
        leading = self._queue.leading(begin)
        if leading is None:
            assert self.reference is not None
            return Entry(Reference.at_rest(self.reference.q), None, rests=True)
        if leading.goal is not None:
            leading = Segment(begin, stop_on_path(leading.trajectory, begin - leading.begin,
                                                  self.limits))
            self._requests.append(lambda: self._take_stop(leading, planned))
        end = leading.begin + leading.trajectory.duration
        return Entry(Reference.at_rest(leading.sample(end).q), max(end, begin), rests=True)

    def _accept(self, trajectory: Trajectory, terms: Terms, begin: float | None, planned: int,
                status: GoalStatus | None) -> GoalStatus:
        tolerances = terms.tolerances or self.config.tolerances(trajectory.n)
        goal = Goal(trajectory, tolerances, self.limits.joints, status)
        self._accepted.append(goal)
        self._requests.append(lambda: self._take_goal(goal, terms, begin, planned))
        return goal.status
