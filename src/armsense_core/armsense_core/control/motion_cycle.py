"""One step of control: trajectory or reaction, law, limits. All of it in the loop's thread."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
import math

import numpy as np

from armsense_core.control.active_law import ActiveLaw
from armsense_core.control.config import ControllerConfig
from armsense_core.control.course import Course, MOTORS_OFF
from armsense_core.control.goal import Goal, GoalStatus
from armsense_core.control.law import Law
from armsense_core.control.limiter import Limiter
from armsense_core.control.pd_gravity import Float
from armsense_core.control.types import ArmState, Array, Command, Reference
from armsense_core.model import ArmModel
from armsense_core.reaction.machine import Collision, Directive, Phase, ReactionMachine
from armsense_core.trajectory import ErrorCode, Limits


class MotionCycle:
    """What `MotionController` does in every cycle, and the requests that it serves there."""

    def __init__(self, model: ArmModel, config: ControllerConfig, law: str) -> None:
        """Prepare an arm.

        Args:
            model: The arm.
            config: Its controllers.yaml block.
            law: Active law.
        """
        self.config = config
        self.limits = Limits.of(model)
        self.law_name = law                          # chosen; a reaction may use another
        self._laws = ActiveLaw(config, model.replace(), self.limits, law)
        self.reaction = ReactionMachine(model.n, config.reaction, self.limits,
                                        self._laws.joint_inertia)
        self._course = Course(config, self.limits, self.reaction)
        self._limiter = Limiter(model, self.limits)
        self._requests: deque[Callable[[], None]] = deque()   # of the other thread
        self._accepted: deque[Goal] = deque()        # there, and not begun yet
        self.time = self._last_time = 0.0            # [s] of this and the last step
        self.state: ArmState | None = None
        self.reference: Reference | None = None      # what was followed last
        self.saturated = False

    @property
    def phase(self) -> Phase:
        return self.reaction.phase

    def step(self, state: ArmState, residual: Array | None = None,
             collision: Collision | None = None, dt: float = 0.001) -> Command:
        """Answer one state.

        Args:
            state: Of the arm.
            residual: External torque [Nm], (n,); None: unknown.
            collision: One that began in this cycle.
            dt: Time since the last step [s].
        """
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
        self._course.clear()
        self.reference = None

    def _drive(self, state: ArmState, residual: Array | None, collision: Collision | None,
               dt: float) -> Command:
        before = self.phase
        led = self.law_name == Float.name
        if led:   # the hand that leads the arm is no collision
            collision = None
            self.reaction.led_to(state.q)
        directive = self.reaction.step(state, residual, collision, dt)
        if directive.phase is not before:
            self._follow_phase(directive, state)
        elif directive.phase is Phase.HOLDING:
            self._course.end_given_up()
        assert self.reference is not None
        reference = directive.reference or self._course.next_reference(
            self.reference, state.q, led, self.time, dt)
        self._use_law(directive, state)
        self.reference = reference
        laws = self._laws
        command = laws.switcher.apply(laws.law.step(state, reference, dt), dt)
        limited = self._limiter.apply(command, state)
        self.saturated = limited.saturated
        if limited.reason:
            self._fail(limited.reason)
        return limited.command

    def _follow_phase(self, directive: Directive, state: ArmState) -> None:
        """Law and goal follow the reaction into its new phase."""
        if directive.phase is Phase.REACTING:
            self._laws.halt(state)
            self._course.interrupt(self.time)
        if directive.resume:
            assert directive.reference is not None
            self._course.resume(directive.reference, self.time)

    def _use_law(self, directive: Directive, state: ArmState) -> None:
        law = self._laws.find(directive.law or self.law_name)
        if law is self._laws.law:
            return
        if directive.phase is Phase.REACTING:
            self._laws.take_over(law, state)
        else:
            self._laws.change(law, *self._present)

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
        self._course.fail(text)

    def _refuse_accepted(self, why: str) -> None:
        while self._accepted:
            self._accepted.popleft().finish(ErrorCode.INVALID_GOAL, why)

    def _start_at(self, state: ArmState) -> None:
        self.reference = Reference.at_rest(self.limits.inside(state.q))
        self._laws.take_over(self._laws.law, state)

    # -- requests ------------------------------------------------------------------------------

    @property
    def _present(self) -> tuple[ArmState, Reference]:
        """Of this step, which has set both before it serves requests."""
        assert self.state is not None
        assert self.reference is not None
        return self.state, self.reference

    def _begin_goal(self, goal: Goal, strategy: str | None, start: float | None) -> None:
        if not goal.unfinished:
            return
        self._accepted.popleft()
        if self._busy:                               # since it was accepted
            goal.finish(ErrorCode.INVALID_GOAL, self._busy)
            return
        self._course.begin(goal, strategy, self._last_time if start is None else start,
                           self._present[1])

    @property
    def _busy(self) -> str:
        """Why no goal can be driven now; empty: one can."""
        if self.phase in (Phase.SAFE, Phase.REACTING, Phase.VERIFYING):
            return f'the controller is {self.phase.value}: {self.reaction.explanation}'
        return ''

    def _stop(self, status: GoalStatus | None) -> None:
        goal = self._course.goal
        if status is None or (goal is not None and goal.status is status):
            self._course.stop(self.time)

    def _begin_hold(self) -> None:
        if self.phase is Phase.SAFE:
            return
        if self.phase is not Phase.TRACKING:
            self.reference = Reference.at_rest(self.limits.inside(self._present[0].q))
        self._course.hold(self.time)
        self.reaction.new_goal()

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
            self._course.give_to_hand()
        if law is not self._laws.law and self.phase is not Phase.SAFE:
            self._laws.change(law, *self._present)

    def _begin_model(self, model: ArmModel) -> None:
        self._laws.set_model(model, *self._present)
