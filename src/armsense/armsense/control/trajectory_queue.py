"""The trajectory that is driven, those that wait, and what a collision leaves of a goal."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from armsense.control.config import ControllerConfig
from armsense.control.goal import Goal
from armsense.reaction.machine import ReactionMachine
from armsense.reaction.options import Phase
from armsense.trajectory import Brake, Chain, ErrorCode, Guard, Limits, point_to_point, ramped
from armsense.trajectory.limits import REST
from armsense.trajectory.reference import Trajectory
from armsense.trajectory.stopping import stop_on_path
from armsense.types import Array, Press, Reference

RESUME_RAMP = 0.3    # [s]
SOFT_STOP = 0.1      # [s]
ABRUPT = 1e3         # times the jerk limit: as good as none
SAME_PLACE = 1e-6    # [rad] between where a segment begins and where the last one has led
MOTORS_OFF = 'the motors are not enabled'
ELSEWHERE = 'the arm is led elsewhere since the goal was planned; send it again'


class Segment(NamedTuple):
    """A trajectory that leads the arm from a time on."""

    begin: float                   # [s] the controller's time
    trajectory: Trajectory
    goal: Goal | None = None       # None: it only brings the arm to rest
    strategy: str | None = None    # reaction during the goal
    press: Press | None = None     # on purpose, during the goal

    def sample(self, now: float) -> Reference:
        return self.trajectory.sample(now - self.begin)


class TrajectoryQueue:
    """Gives references as long as no reaction does; `now` is the controller's time [s]."""

    def __init__(self, config: ControllerConfig, limits: Limits, reaction: ReactionMachine,
                 guard: Guard) -> None:
        self._guard = guard
        self._config, self._limits, self._reaction = config, limits, reaction
        # Another thread plans from both: a segment is never in neither of them.
        self._now: Segment | None = None
        self._next: tuple[Segment, ...] = ()                        # in the order of their begin
        self.goal: Goal | None = None                               # the last one that began
        # What a collision left of it, and the time reached [s]; None: nothing to resume.
        self.interrupted: tuple[Trajectory, float] | None = None
        self.given_up = False       # the last goal did not end where it should
        self.abrupt = False         # the last brake does not keep jerk
        self.lost = False           # since the last look: nobody leads the arm, and it may move

    @property
    def moving(self) -> bool:
        """There is something to follow, now or later."""
        return self._now is not None or bool(self._next)

    @property
    def unfinished(self) -> bool:
        """The result of a goal is open."""
        return bool(self._next) or (self.goal is not None and self.goal.unfinished)

    @property
    def goal_waits(self) -> bool:
        """A goal has been accepted that has not begun."""
        return any(s.goal is not None and s.goal.unfinished for s in self._next)

    def leading(self, t: float) -> Segment | None:
        """What leads the arm at a time t [s] from now on; None: nothing, it rests."""
        return next((s for s in reversed(self._next) if s.begin <= t), self._now)

    def next_reference(self, held: Reference, q: Array, led: bool, now: float,
                       dt: float) -> Reference:
        """What to follow in this cycle, instead of what was `held` in the last one.

        The arm is at q [rad], (n,); where a hand leads it, what comes next begins where it stops.
        Times now and since the last cycle [s].
        """
        self._begin_next(held, now)
        segment = self._now
        if segment is None:
            if led:
                return Reference.at_rest(self._limits.inside(q))
            over = held.dq.any() or held.press is not None
            return Reference.at_rest(held.q) if over else held
        reference, t = segment.sample(now), now - segment.begin
        if segment.goal is not None:
            segment.goal.watch(t, reference, q)
            reference = reference._replace(press=segment.press)
            self._end_goal(segment.goal, q)
        else:
            reference = self._inside(reference)
            if t >= segment.trajectory.duration:
                self._now = None
        self._reaction.record(reference, dt)
        return reference

    # -- goals begin and end -------------------------------------------------------------------

    def add(self, segment: Segment) -> None:
        """Drive a segment from its time on, instead of all that would begin later."""
        self._end_waiting(segment.begin, ErrorCode.INVALID_GOAL, 'replaced by a new goal',
                          preempted=True)
        if self._reaction.phase is Phase.HOLDING:      # what waited there to go on will not
            self.finish(ErrorCode.INVALID_GOAL, 'replaced by a new goal', preempted=True)
            self.interrupted = None
            self._reaction.new_goal()
        self._next = (*self._next, segment)

    def finish(self, code: ErrorCode, text: str, *, cancelled: bool = False,
               preempted: bool = False) -> None:
        """Set the result of the goal, if it is still open."""
        if self.goal is not None and self.goal.unfinished:
            self.goal.status.finish(code, text, cancelled=cancelled, preempted=preempted)
            self._reaction.end_goal()

    def stop(self, now: float, text: str = 'cancelled') -> None:
        """Cancel all goals: come to rest on the path, unless a reaction leads the arm."""
        self._end_waiting(0.0, ErrorCode.SUCCESSFUL, text, cancelled=True)
        self.interrupted = None
        self.finish(ErrorCode.SUCCESSFUL, text, cancelled=True)
        self._reaction.withdraw_resume()
        driven = self._now
        if driven is not None and driven.goal is not None:
            self._now = Segment(now, stop_on_path(driven.trajectory, now - driven.begin,
                                                  self._limits))

    def forget_ended(self) -> None:
        """Wait no longer for goals that have been cancelled: else the arm counts as moving."""
        self._next = tuple(s for s in self._next if s.goal is None or s.goal.unfinished)

    def rest_from(self, motion: Reference, now: float, *, softly: bool = False) -> None:
        """Come to rest from a motion that is nobody's path, such as the arm's own.

        Softly: in `SOFT_STOP`, where floor and arm leave room for it. What the arm carries without
        being told pushes it when it brakes hard, like a contact.
        """
        self._end_waiting(0.0, ErrorCode.INVALID_GOAL, ELSEWHERE)
        brake, self.abrupt = Brake(motion, self._limits), False
        if softly:
            brake = self._softest(motion)
        self._now = Segment(now, brake)
        self._reaction.memory.clear()

    def _softest(self, motion: Reference) -> Brake:
        """Rest soon, sooner, or as soon as a retreat can, which knows no jerk: where is room."""
        limits = self._limits
        for kept in (limits.gentler(np.abs(motion.dq) / SOFT_STOP), limits):
            brake = Brake(motion, kept)
            if self._guard.allows_line(motion.q, brake.sample(brake.duration).q):
                return brake
        self.abrupt = True
        return Brake(motion, replace(limits, jerk=ABRUPT * limits.jerk))

    def give_to_tool(self) -> None:
        """End the goals: targets for the tool lead the arm from now on."""
        self._drop(ErrorCode.INVALID_GOAL, 'replaced by targets for the tool', preempted=True)
        self.interrupted, self.given_up = None, False
        self._reaction.new_goal()

    def give_to_hand(self) -> None:
        """End the goals: a hand leads the arm, which shall not go on by itself."""
        self._drop(ErrorCode.SUCCESSFUL, 'a hand leads the arm', cancelled=True)
        self._reaction.withdraw_resume()

    def clear(self) -> None:
        """Forget everything; the motors are off."""
        self._drop(ErrorCode.INVALID_GOAL, MOTORS_OFF)
        self.goal = self.interrupted = None
        self.given_up = self.lost = False
        self._reaction.new_goal()

    def fail(self, text: str) -> None:
        """The safe state: nothing will be resumed."""
        self._drop(ErrorCode.PATH_TOLERANCE_VIOLATED, f'safe state: {text}')
        self.interrupted = None

    # -- collisions ----------------------------------------------------------------------------

    def interrupt(self, now: float) -> None:
        """A reaction takes over; only the strategy `resume` leaves the goal open."""
        self._end_waiting(0.0, ErrorCode.INVALID_GOAL,
                          f'the controller is reacting: {self._reaction.explanation}')
        driven, self._now = self._now, None
        goal = self.goal
        if driven is not None and driven.goal is not None:
            self.interrupted = driven.goal.interrupt(now - driven.begin)
        # Also one that was suspended before: the strategy may have been changed since.
        if goal is not None and goal.unfinished and self._reaction.strategy != 'resume':
            goal.status.finish(ErrorCode.PATH_TOLERANCE_VIOLATED, self._reaction.explanation)
        if self.interrupted is not None and not (goal and goal.unfinished):
            self._reaction.withdraw_resume()   # its client was told: only the service drives it

    def end_given_up(self) -> None:
        """A goal that was to resume and will not has failed; its client must not wait forever."""
        goal = self.goal
        if goal is not None and goal.status.suspended and not self._reaction.waits_to_resume:
            goal.status.finish(ErrorCode.PATH_TOLERANCE_VIOLATED, self._reaction.explanation)

    def resume(self, held: Reference, now: float) -> None:
        """Back to where the trajectory was left, then drive the rest of it."""
        if self.interrupted is None:
            self._reaction.arrived()
            return
        trajectory, reached = self.interrupted
        path = trajectory.sample(reached).q
        if not self._guard.allows_line(held.q, path):
            self._reaction.refuse_resume('the way back to the path is not free: the floor, or the '
                                         'arm itself, is in the way')
            self.end_given_up()
            return
        self.interrupted = None                # the new goal knows how to be interrupted again
        speed = self._reaction.options.resume_speed
        to_path = point_to_point(held.q, path, self._limits, speed=speed)
        parts: list[Trajectory] = [to_path]
        if trajectory.duration - reached > 1e-3:
            parts.append(ramped(trajectory, ramp=RESUME_RAMP, speed=speed, start=reached))
        old = self.goal
        tolerances = old.tolerances if old else self._config.tolerances(trajectory.n)
        status = old.status if old is not None and old.status.suspended else None
        self.goal = Goal(Chain(parts), tolerances, self._limits.joints, status,
                         origin=(trajectory, reached, to_path.duration, speed))
        self.goal.status.suspended = False
        self._now = Segment(now, self.goal.trajectory, self.goal)

    # -- inside --------------------------------------------------------------------------------

    def _begin_next(self, held: Reference, now: float) -> None:
        """Begin the segments whose time has come, where the arm is led to their beginning."""
        while self._next and self._next[0].begin <= now:
            segment, rest = self._next[0], self._next[1:]
            here = held if self._now is None else self._now.sample(segment.begin)
            if segment.goal is not None and not segment.goal.unfinished:
                pass                                     # cancelled before it began
            elif _joined(here, segment.trajectory.sample(0.0)):
                self._begin(segment)
            elif segment.goal is not None:
                segment.goal.status.finish(ErrorCode.INVALID_GOAL, ELSEWHERE)
            self._next = rest

    def _begin(self, segment: Segment) -> None:
        self.abrupt = False
        self.finish(ErrorCode.INVALID_GOAL, 'replaced by a new goal', preempted=True)
        self._now = segment
        if segment.goal is not None:
            self._reaction.new_goal(segment.strategy)
            self.goal, self.interrupted, self.given_up = segment.goal, None, False

    def _end_goal(self, goal: Goal, q: Array) -> None:
        """What follows from a goal that has ended in this cycle, if it has."""
        if goal.unfinished:
            return
        self._now = None
        self._reaction.arrived()
        self._reaction.end_goal()
        away = np.abs(goal.trajectory.sample(goal.trajectory.duration).q - q)
        watched = self._config.tolerances(len(q)).goal               # 0: not watched
        if not goal.status.succeeded or ((away > watched) & (watched > 0.0)).any():
            self.given_up = self.lost = True

    def _drop(self, code: ErrorCode, text: str, *, cancelled: bool = False,
              preempted: bool = False) -> None:
        """End all goals; nothing leads the arm any more."""
        self._end_waiting(0.0, code, text, cancelled=cancelled, preempted=preempted)
        self.finish(code, text, cancelled=cancelled, preempted=preempted)
        self._now = None

    def _end_waiting(self, begin: float, code: ErrorCode, text: str, *, cancelled: bool = False,
                     preempted: bool = False) -> None:
        """End what has not begun, and would at a time [s] or later."""
        for segment in self._next:
            if segment.begin >= begin and segment.goal is not None and segment.goal.unfinished:
                segment.goal.status.finish(code, text, cancelled=cancelled, preempted=preempted)
        self._next = tuple(s for s in self._next if s.begin < begin)

    def _inside(self, reference: Reference) -> Reference:
        """Within the limits of position: who brakes there stops there."""
        q = self._limits.inside(reference.q)
        dq, ddq = (np.where(q == reference.q, x, 0.0) for x in reference[1:3])
        return Reference(q, dq, ddq)


def _joined(here: Reference, there: Reference) -> bool:
    """One motion goes on where the other has led to."""
    return bool(np.abs(here.q - there.q).max() <= SAME_PLACE
                and np.abs(here.dq - there.dq).max() <= REST)
