"""One step of control: trajectory or reaction, law, limits. All of it in the loop's thread."""

from collections import deque
from collections.abc import Callable
import math

import numpy as np

from armsense.control.active_law import ActiveLaw, LettingGo
from armsense.control.config import ControllerConfig
from armsense.control.dynamic import Float
from armsense.control.goal import Goal, GoalStatus, Terms
from armsense.control.law import Law
from armsense.control.limiter import Limiter, too_heavy
from armsense.control.task_space import Force
from armsense.control.tool_lead import ToolLead
from armsense.control.trajectory_queue import MOTORS_OFF, Segment, TrajectoryQueue
from armsense.model import Arm
from armsense.reaction.machine import ReactionMachine
from armsense.reaction.options import Directive, Phase
from armsense.task import Servo, TaskKinematics
from armsense.trajectory import Clearance, ErrorCode, Guard, Limits
from armsense.types import ArmState, Array, Collision, Command, Reference

NO_TERMS = Terms()
LAG = 0.1   # [s] by which an arm in motion may be late without having been left behind
REMEDY = ('take it away, tell what the arm carries (set_payload), zero the load cells if their '
          'load has changed, or allow it for one goal (contact=allowed)')


class MotionCycle:
    """What `MotionController` does in every cycle, and the requests that it serves there."""

    def __init__(self, model: Arm, config: ControllerConfig, law: str, release: Array) -> None:
        """As `MotionController`."""
        self.config = config
        self.limits = Limits.of(model)
        self.law_name = law                          # chosen; a reaction may use another
        self._laws = ActiveLaw(config, model.replace(), self.limits, law)
        guard = Guard(Clearance(model, floor=config.floor, self_distance=config.self_distance))
        self.reaction = ReactionMachine(model.n, config.reaction, self.limits,
                                        self._laws.joint_inertia, release, guard)
        self._queue = TrajectoryQueue(config, self.limits, self.reaction, guard)
        self._letting_go = LettingGo(config, self.limits, self._laws)
        self._limiter = Limiter(model, self.limits)
        kinematics = TaskKinematics(self._laws.model, config.target_directions)
        self._tool = ToolLead(Servo(kinematics, self.limits, guard), config.target_timeout)
        self._requests: deque[Callable[[], None]] = deque()   # of the other thread
        self._accepted: deque[Goal] = deque()        # there, and not taken yet
        self.overtakings = 0                         # what was asked for before the last is void
        self._overtaken_by = ''
        self.time = self._last_time = 0.0            # [s] of this and the last step
        self.state: ArmState | None = None
        self.reference: Reference | None = None      # what was followed last
        # Cycles in which it began anew, joint by joint; else it keeps velocity and acceleration.
        self.restarts = np.zeros(model.n, int)
        self.planned = False                         # it is of a plan, which also keeps jerk
        self._yielded = False                        # it was where the arm is, in some joint
        self.saturated = False
        self.lasting = ''                            # contact that lasts, in words
        self._command: Command | None = None         # of the last step

    @property
    def phase(self) -> Phase:
        return self.reaction.phase

    def step(self, state: ArmState, residual: Array | None = None,
             collision: Collision | None = None, dt: float = 0.001,
             lasting: str = '') -> Command:
        """Answer one state, `dt` [s] after the last one.

        The external torque [Nm], (n,), None: unknown; a collision that began in this cycle; a
        contact that lasts, in words.
        """
        self.lasting = lasting
        fault = self._fault(state, dt)
        if fault:
            self._fail(fault)
            return self._limiter.damping(state)
        self.state = state
        self._last_time, self.time = self.time, self.time + dt
        if self.reference is None:
            self._start_at(state)
        while self._requests:
            self._requests.popleft()()
        if self.phase is Phase.SAFE:
            return self._limiter.damping(state)
        return self._drive(state, residual, collision, dt)

    def rest(self) -> None:
        """The motors are off: start anew where the arm then is. Only for the loop's thread."""
        self._refuse_accepted(MOTORS_OFF)            # not to be driven when they are on again
        self._overtake(MOTORS_OFF)
        self._tool.stop(MOTORS_OFF)
        self._queue.clear()
        self._letting_go.arm()
        self.reference = self._command = None
        self.lasting = ''

    def _drive(self, state: ArmState, residual: Array | None, collision: Collision | None,
               dt: float) -> Command:
        led = self.law_name == Float.name
        self._heed_targets(led)
        before = self.phase
        if led:   # the hand that leads the arm is no collision
            collision = None
            self.reaction.led_to(state.q)
        directive = self.reaction.step(state, residual, collision, dt, self.lasting)
        self._yielded = led or (directive.anew is not None and bool(directive.anew.any()))
        if self._yielded:
            self.restarts = self.restarts + (True if led else directive.anew)
        if directive.phase is not before:
            self._follow_phase(directive, state)
        elif directive.phase is Phase.HOLDING:
            self._queue.end_given_up()
        reference = directive.reference or self._next_reference(state, led, dt)
        if not led and (directive.phase is Phase.HOLDING or (
                directive.reference is None and self._queue.given_up)):
            reference = self._let_go(reference, state, dt)
            self.reaction.led_to(reference.q)
        elif self._letting_go.active:
            self._letting_go.end()
        self._use_law(directive, state, reference)
        self.planned = directive.reference is None and not (
            led or self._letting_go.active or self._queue.abrupt or self._tool.leads)
        self.reference = reference
        laws = self._laws
        laws.law.feel(residual)
        command = laws.switcher.apply(laws.law.step(state, reference, dt), dt)
        limited = self._limiter.apply(command, state)
        self.saturated = limited.saturated
        if limited.reason:
            self._fail(limited.reason)
        self._command = limited.command
        return limited.command

    def _next_reference(self, state: ArmState, led: bool, dt: float) -> Reference:
        """Of targets for the tool or the queue; an arm that was lost is led from where it is."""
        assert self.reference is not None
        queue = self._queue
        if self._tool.leads:
            reference = self._tool.step(dt)
            self.reaction.record(reference, dt)
            return reference
        reference = queue.next_reference(self.reference, state.q, led, self.time, dt)
        if queue.lost:
            queue.lost = False
            reference = self._start_from(state)
        return reference

    def _heed_targets(self, led: bool) -> None:
        """Begin to follow targets for the tool, or come to rest where none comes any more."""
        tool, now = self._tool, self.time
        tool.look(now)
        if tool.leads and tool.silent(now):
            tool.stop('')
            self._give_up('no target for the tool comes any more', anew=True)
        elif tool.waits(now):
            assert self.reference is not None
            if why := 'a hand leads the arm' if led else self._why_not(NO_TERMS):
                return tool.stop(why)
            self._overtake('targets for the tool lead the arm')
            self._queue.give_to_tool()
            tool.begin(self.reference)

    def _let_go(self, reference: Reference, state: ArmState, dt: float) -> Reference:
        letting_go = self._letting_go
        if not self._queue.moving:
            reference = letting_go.step(reference, state, self._command, dt)
        self.restarts = self.restarts + letting_go.shortened
        return letting_go.lead(reference, dt)

    def _start_from(self, state: ArmState) -> Reference:
        """Lead the arm to rest from its own motion, and let go of what it presses against."""
        assert self.reference is not None
        motion = self._letting_go.begin_at(state, self.reference)
        self._queue.rest_from(motion, self.time)
        return motion

    def _follow_phase(self, directive: Directive, state: ArmState) -> None:
        """Law and goal follow the reaction into its new phase."""
        if directive.phase is Phase.REACTING:
            self._laws.halt(state)
            self._letting_go.arm()
            self._overtake(f'the controller is reacting: {self.reaction.explanation}')
            self._tool.stop(self._overtaken_by)
            self._queue.interrupt(self.time)
        if directive.resume:
            assert directive.reference is not None
            self._queue.resume(directive.reference, self.time)

    def _use_law(self, directive: Directive, state: ArmState, reference: Reference) -> None:
        law = self._laws.find(directive.law or self.law_name)
        if law is self._laws.law:
            return
        if directive.phase is Phase.REACTING:
            self._laws.take_over(law, state)
        else:
            self._laws.change(law, state, reference)

    def _fault(self, state: ArmState, dt: float) -> str:
        if not math.isfinite(dt) or dt < 0.0:
            return f'time step {dt} s'
        if dt > self.config.max_gap:
            return f'no state for {dt:.3f} s'
        if not state.finite:
            return 'the state holds values that are no numbers'
        if state.strain is not None and not np.isfinite(
                state.strain[self._laws.law.drivetrain.strained]).all():
            return 'a strain is no number'
        return ''

    def _fail(self, text: str) -> None:
        self.reaction.fault(text)
        self._refuse_accepted(text)
        self._overtake(text)
        self._tool.stop(text)
        self._queue.fail(text)

    def _refuse_accepted(self, why: str) -> None:
        while self._accepted:
            self._accepted.popleft().status.finish(ErrorCode.INVALID_GOAL, why)

    def _overtake(self, why: str) -> None:
        """What is being planned shall not begin."""
        self._overtaken_by = why
        self.overtakings += 1

    def _start_at(self, state: ArmState) -> None:
        self.reference = Reference.at_rest(self.limits.inside(state.q))
        self.restarts = self.restarts + 1
        self._laws.take_over(self._laws.law, state)
        self._check_weight(state)

    def _check_weight(self, state: ArmState) -> None:
        """Do not drive a load that was told while nobody knew where the arm is."""
        if why := too_heavy(self._laws.model, self.limits, state.q):
            self._fail(f'the payload that was told: {why}')

    # -- requests ------------------------------------------------------------------------------

    @property
    def _present(self) -> tuple[ArmState, Reference]:
        """Of this step, which has set both before it serves requests."""
        assert self.state is not None
        assert self.reference is not None
        return self.state, self.reference

    def _take_goal(self, goal: Goal, terms: Terms, begin: float | None, planned: int) -> None:
        """Drive a goal from a time [s] on, None: now, unless something has come between.

        It was planned from rest then; `planned` are the overtakings when its planning began.
        """
        if goal in self._accepted:
            self._accepted.remove(goal)
        if not goal.unfinished:                      # cancelled, or ended with the motors
            return
        if why := self._why_not(terms):
            goal.status.finish(ErrorCode.INVALID_GOAL, why)
        elif planned != self.overtakings:
            goal.status.finish(ErrorCode.INVALID_GOAL, self._overtaken_by)
        else:
            self._queue.add(Segment(max(begin or 0.0, self._last_time), goal.trajectory, goal,
                                     terms.reaction, terms.press))

    def _take_stop(self, segment: Segment, planned: int) -> None:
        """Stop for a goal that is being planned."""
        if planned == self.overtakings and segment.begin >= self._last_time:
            self._queue.add(segment)

    def _why_not(self, terms: Terms) -> str:
        """Why no goal with these terms can be driven now; empty: one can."""
        if self.phase in (Phase.SAFE, Phase.REACTING, Phase.VERIFYING):
            return f'the controller is {self.phase.value}: {self.reaction.explanation}'
        if self._letting_go.active:                  # where it will be is not known yet
            return 'the arm lets go of what it pressed against; try again in a moment'
        if terms.press is not None and self.law_name != Force.name:
            return f'to press needs the law {Force.name}; it is {self.law_name}'
        lasting = self.lasting                       # one reading: two threads
        reacts = self.reaction.strategy_of(terms.reaction) != 'ignore'
        if lasting and reacts and not terms.allow_lasting:
            return f'{lasting}; {REMEDY}'
        return ''

    def _stop(self, status: GoalStatus | None) -> None:
        goal = self._queue.goal
        if status is None or (goal is not None and goal.status is status):
            if status is not None and self._queue.goal_waits:
                return                               # replaced in a moment; that one goes on
            if self._tool.leads:
                self._give_up('cancelled', anew=True)
            elif self._queue.unfinished:
                self._give_up('cancelled', leads=self.phase in (Phase.TRACKING, Phase.RESUMING))
        elif status.active:                          # planned or waiting; it never begins
            status.finish(ErrorCode.SUCCESSFUL, 'cancelled', cancelled=True)
            self._queue.forget_ended()

    def _begin_hold(self) -> None:
        if self.phase is not Phase.SAFE:
            _, reference = self._present
            led = self._tool.leads or self.phase in (Phase.REACTING, Phase.VERIFYING) or (
                self.phase is Phase.HOLDING and bool(reference.dq.any()))
            self._give_up('the arm was told to hold', anew=led)
            self.reaction.new_goal()

    def _give_up(self, text: str, *, leads: bool = True, anew: bool = False) -> None:
        """Come to rest: on the path, or from its own motion where the arm was left behind.

        `leads=False`: a reaction leads the arm, and goes on; `anew`: not on a path, since a
        reaction has led it, or the arm itself.
        """
        state, reference = self._present
        queue = self._queue
        self._tool.stop(text)
        again = queue.given_up and not queue.moving   # it would sink once more
        queue.stop(self.time, text)
        queue.given_up = True
        if not (again or self._letting_go.active):      # on its way, it goes on
            self._letting_go.arm()
        behind = self._letting_go.left_behind(reference, state, LAG)
        if leads and anew and not (behind or self._yielded):
            queue.rest_from(reference, self._last_time, softly=True)   # nothing to let go of
        elif leads and (anew or (behind and not again)):
            self._start_from(state)

    def _clear(self) -> None:
        if self.phase is not Phase.SAFE:             # nothing to clear, and much to disturb
            return
        state, _ = self._present
        self.reaction.clear(state)
        self.reaction.new_goal()
        self._start_at(state)

    def _begin_switch(self, law: Law) -> None:
        self.law_name = law.name
        if law.name == Float.name:
            self._overtake('a hand leads the arm')
            self._tool.stop(self._overtaken_by)
            self._queue.give_to_hand()
        if law is not self._laws.law and self.phase is not Phase.SAFE:
            self._laws.change(law, *self._present)

    def _begin_model(self, model: Arm) -> None:
        state, reference = self._present
        self._laws.set_model(model, state, reference)
        self._check_weight(state)
