"""The goal that is driven, and what a collision leaves of it."""

from __future__ import annotations

from armsense_core.control.config import ControllerConfig
from armsense_core.control.goal import Goal
from armsense_core.control.types import Array, Reference
from armsense_core.reaction.machine import ReactionMachine
from armsense_core.trajectory import (
    Brake,
    Chain,
    ErrorCode,
    Limits,
    point_to_point,
    ramped,
    stop_on_path,
    Trajectory,
)

RESUME_RAMP = 0.3   # [s]
MOTORS_OFF = 'the motors are not enabled'


class Course:
    """Gives references as long as no reaction does; `now` is the controller's time [s]."""

    def __init__(self, config: ControllerConfig, limits: Limits,
                 reaction: ReactionMachine) -> None:
        """Prepare: there is no goal yet.

        Args:
            config: Tolerances of a goal that brings none.
            limits: Of the arm.
            reaction: Learns what was driven, and when the rest of a trajectory is done.
        """
        self._config, self._limits, self._reaction = config, limits, reaction
        self.goal: Goal | None = None                               # the last one
        # What a collision left of it, and the time reached [s]; None: nothing to resume.
        self.interrupted: tuple[Trajectory, float] | None = None

    def next_reference(self, held: Reference, q: Array, led: bool, now: float,
                       dt: float) -> Reference:
        """What to follow in this cycle.

        Args:
            held: What was followed in the last one.
            q: Where the arm is [rad], (n,).
            led: A hand leads the arm; what comes next begins where it stops.
            now: [s]
            dt: [s] since the last cycle.
        """
        goal = self.goal
        if goal is None or not goal.active:
            if led:
                return Reference.at_rest(self._limits.inside(q))
            return Reference.at_rest(held.q) if held.dq.any() else held
        reference = goal.advance(now, q)
        self._reaction.record(reference, dt)
        if not goal.active:
            self._reaction.arrived()
            self._reaction.end_goal()
            if goal.status.code is ErrorCode.PATH_TOLERANCE_VIOLATED:
                goal.replace(Brake(reference, self._limits), now)
        return reference

    # -- goals begin and end -------------------------------------------------------------------

    def begin(self, goal: Goal, strategy: str | None, start: float, held: Reference) -> None:
        """Drive a goal instead of the last one, from the reference `held` on."""
        self.finish(ErrorCode.INVALID_GOAL, 'replaced by a new goal', preempted=True)
        self._reaction.new_goal(strategy)
        self.interrupted = None
        goal.begin(start, held)
        self.goal = goal

    def finish(self, code: ErrorCode, text: str, *, cancelled: bool = False,
               preempted: bool = False) -> None:
        """Set the result of the goal, if it is still open."""
        if self.goal is not None and self.goal.unfinished:
            self.goal.finish(code, text, cancelled=cancelled, preempted=preempted)
            self._reaction.end_goal()

    def stop(self, now: float, text: str = 'cancelled') -> None:
        """Cancel the goal: come to rest on its path, unless a reaction leads the arm."""
        goal = self.goal
        if goal is None or not goal.unfinished:
            return
        self.interrupted = None
        driven, trajectory, t = goal.active, goal.trajectory, now - goal.start
        self.finish(ErrorCode.SUCCESSFUL, text, cancelled=True)
        if driven:
            goal.replace(stop_on_path(trajectory, t, self._limits), now)

    def hold(self, now: float) -> None:
        """As `stop`; nothing will be resumed, also of a goal that has failed before."""
        self.stop(now, 'the arm was told to hold')
        self.interrupted = None

    def give_to_hand(self) -> None:
        """End the goal: a hand leads the arm, which shall not go on by itself."""
        self.finish(ErrorCode.SUCCESSFUL, 'a hand leads the arm', cancelled=True)
        self._reaction.withdraw_resume()

    def clear(self) -> None:
        """Forget everything; the motors are off."""
        self.finish(ErrorCode.INVALID_GOAL, MOTORS_OFF)
        self.goal = self.interrupted = None
        self._reaction.new_goal()

    def fail(self, text: str) -> None:
        """The safe state: nothing will be resumed."""
        self.finish(ErrorCode.PATH_TOLERANCE_VIOLATED, f'safe state: {text}')
        self.interrupted = None

    # -- collisions ----------------------------------------------------------------------------

    def interrupt(self, now: float) -> None:
        """A reaction takes over; only the strategy `resume` leaves the goal open."""
        goal = self.goal
        if goal is not None and goal.active:
            self.interrupted = goal.interrupt(now)
            if goal.suspended and self._reaction.strategy != 'resume':
                goal.finish(ErrorCode.PATH_TOLERANCE_VIOLATED, self._reaction.explanation)
        if self.interrupted is not None and not (goal and goal.unfinished):
            self._reaction.withdraw_resume()   # its client was told: only the service drives it

    def end_given_up(self) -> None:
        """A goal that was to resume and will not has failed; its client must not wait forever."""
        goal = self.goal
        if goal is not None and goal.suspended and not self._reaction.waits_to_resume:
            goal.finish(ErrorCode.PATH_TOLERANCE_VIOLATED, self._reaction.explanation)

    def resume(self, held: Reference, now: float) -> None:
        """Back to where the trajectory was left, then drive the rest of it."""
        if self.interrupted is None:
            self._reaction.arrived()
            return
        trajectory, reached = self.interrupted
        self.interrupted = None                # the new goal knows how to be interrupted again
        speed = self._reaction.options.resume_speed
        to_path = point_to_point(held.q, trajectory.sample(reached).q, self._limits, speed=speed)
        parts: list[Trajectory] = [to_path]
        if trajectory.duration - reached > 1e-3:
            parts.append(ramped(trajectory, ramp=RESUME_RAMP, speed=speed, start=reached))
        old = self.goal
        tolerances = old.tolerances if old else self._config.tolerances(trajectory.n)
        status = old.status if old is not None and old.suspended else None
        self.goal = Goal(Chain(parts), tolerances, self._limits.joints, now, status,
                         origin=(trajectory, reached, to_path.duration, speed))
