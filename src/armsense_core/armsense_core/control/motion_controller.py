"""Trajectory, law, reaction and limits in one step; the controller nodes wrap it thinly.

`step` belongs to the thread of the control loop. All other methods may be called from one other
thread: they plan there, with a model of their own, and leave what they decided in a queue that the
next `step` empties.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
import math

import numpy as np
from numpy.typing import ArrayLike

from armsense_core.control.config import ControllerConfig
from armsense_core.control.goal import Goal, GoalRefused, GoalStatus
from armsense_core.control.law import Law
from armsense_core.control.limiter import Limiter
from armsense_core.control.pd_gravity import Float
from armsense_core.control.planner import Planner
from armsense_core.control.switcher import Switcher
from armsense_core.control.types import ArmState, Array, board_torque, Command, Reference
from armsense_core.errors import ArmsenseError
from armsense_core.model import ArmModel
from armsense_core.reaction.machine import (
    Collision,
    Directive,
    known_strategy,
    Phase,
    ReactionMachine,
)
from armsense_core.trajectory import (
    Brake,
    Chain,
    Clearance,
    ErrorCode,
    Limits,
    point_to_point,
    ramped,
    stop_on_path,
    Tolerances,
    Trajectory,
)

RESUME_RAMP = 0.3   # [s]


class MotionController:
    """Drives one arm."""

    def __init__(self, model: ArmModel, config: ControllerConfig | None = None,
                 law: str | None = None) -> None:
        """Prepare an arm.

        Args:
            model: The arm.
            config: Its controllers.yaml block; None: loaded by the arm's name.
            law: Active law; None: that of the configuration.
        """
        self.config = config or ControllerConfig.of(model)
        self.limits = Limits.of(model)
        self.law_name = law or self.config.law
        self._base_model = model
        self._model = model.replace()                # of the loop's thread
        self._planner = Planner(model.replace(), self.limits, Clearance(
            model, floor=self.config.floor, self_distance=self.config.self_distance))
        self._laws: dict[str, Law] = {}
        self._law = self._find_law(self.law_name)
        self._limiter = Limiter(model, self.limits)
        self._switcher = Switcher(self.limits.torque, self.config.switch_time)
        self.reaction = ReactionMachine(model.n, self.config.reaction, self.limits)
        self._requests: deque[Callable[[], None]] = deque()
        self._goal: Goal | None = None
        self._suspended: tuple[Trajectory, float] | None = None   # and the time reached
        self.time = self._last_time = 0.0            # [s] of this and the last step
        self.state: ArmState | None = None
        self.reference: Reference | None = None      # what was followed last
        self.saturated = False

    # -- goals ---------------------------------------------------------------------------------

    def follow(self, trajectory: Trajectory, tolerances: Tolerances | None = None,
               reaction: str | None = None) -> GoalStatus:
        """Check a trajectory and drive it from the next step on.

        Args:
            trajectory: It must begin where the arm is led now.
            tolerances: None: those of the configuration.
            reaction: Strategy during this goal; None: as chosen before.

        Raises:
            GoalRefused: With code and text; nothing moves.
        """
        now = self._ready()
        self._planner.check(trajectory, now)
        return self._accept(trajectory, tolerances, reaction)

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
        self._planner.check(trajectory, now)
        return self._accept(trajectory, tolerances, reaction, start)

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

    def cancel(self) -> None:
        """Stop smoothly on the path and hold."""
        self._requests.append(self._stop)

    def hold(self) -> None:
        """Stop smoothly and hold; also ends floating and a hold after a collision."""
        self._requests.append(self._begin_hold)

    def resume(self) -> None:
        """Verify after a collision, then drive the rest of the trajectory."""
        if self._suspended is None:
            raise ArmsenseError('there is no interrupted trajectory to resume')
        if self.law_name == Float.name:
            raise ArmsenseError('a hand leads the arm: switch to another law before resuming')
        self.reaction.request_resume()

    def switch(self, law: str) -> None:
        """Change the law without a jump of torque."""
        new = self._find_law(law)
        self._requests.append(lambda: self._begin_switch(law, new))

    def set_payload(self, mass: float, center: ArrayLike = (0.0, 0.0, 0.0),
                    inertia: ArrayLike | None = None) -> None:
        """What the tool carries (as `ArmModel.with_payload`), without a jump of torque."""
        model = self._base_model.with_payload(mass, center, inertia)
        self._planner.model = model.replace()
        self._requests.append(lambda: self._begin_model(model))

    def rest(self) -> None:
        """The motors are off: start anew where the arm then is. Only for the loop's thread."""
        if self._goal is not None and self._goal.unfinished:
            self._goal.finish(ErrorCode.INVALID_GOAL, 'the motors are not enabled')
        self._goal = self._suspended = self.reference = None
        self.reaction.new_goal()

    def clear_fault(self) -> None:
        """Leave the safe state and hold where the arm is."""
        self._requests.append(self._clear)

    # -- status --------------------------------------------------------------------------------

    @property
    def status(self) -> GoalStatus | None:
        """Of the last goal; None: there was none."""
        return None if self._goal is None else self._goal.status

    @property
    def phase(self) -> Phase:
        return self.reaction.phase

    @property
    def explanation(self) -> str:
        """Why the reaction is in its phase."""
        return self.reaction.explanation

    @property
    def moving(self) -> bool:
        """A trajectory is being driven."""
        return self._goal is not None and self._goal.active

    # -- one cycle -----------------------------------------------------------------------------

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
            self.reference = Reference.at_rest(self._inside(state.q))
            self._law.reset(state)
        while self._requests:
            self._requests.popleft()()
        if self.phase is Phase.SAFE:
            return self._limiter.damping(state)
        return self._drive(state, residual, collision, dt)

    def _drive(self, state: ArmState, residual: Array | None, collision: Collision | None,
               dt: float) -> Command:
        before = self.phase
        if self.law_name == Float.name:   # the hand that leads the arm is no collision
            collision = None
            self.reaction.led_to(state.q)
        directive = self.reaction.step(state, residual, collision, dt)
        if directive.phase is not before:
            self._follow_phase(before, directive)
        elif directive.phase is Phase.HOLDING:
            self._end_given_up()
        reference = directive.reference or self._next_reference(state, dt)
        self._use_law(directive.law or self.law_name, state, directive)
        self.reference = reference
        command = self._switcher.apply(self._law.step(state, reference, dt), dt)
        limited = self._limiter.apply(command, state)
        self.saturated = limited.saturated
        if limited.reason:
            self._fail(limited.reason)
        return limited.command

    # -- references ----------------------------------------------------------------------------

    def _next_reference(self, state: ArmState, dt: float) -> Reference:
        goal = self._goal
        if goal is None or not goal.active:
            assert self.reference is not None
            if self.law_name == Float.name:   # a hand leads: what comes next begins where it stops
                return Reference.at_rest(self._inside(state.q))
            if self.reference.dq.any():
                return Reference.at_rest(self.reference.q)
            return self.reference
        reference = goal.advance(self.time, state.q)
        self.reaction.record(reference, dt)
        if not goal.active:
            self.reaction.arrived()
            if goal.status.code is ErrorCode.PATH_TOLERANCE_VIOLATED:
                self._brake(reference)
        return reference

    def _follow_phase(self, before: Phase, directive: Directive) -> None:
        """Goal and trajectory follow the reaction into its new phase."""
        if directive.phase is Phase.REACTING:
            self._switcher.cancel()
            assert self.state is not None
            self._law.halt(self.state)
            if self._goal is not None and self._goal.active:
                self._suspended = self._goal.interrupt(self.time)
                if self.reaction.strategy != 'resume':
                    self._goal.finish(ErrorCode.PATH_TOLERANCE_VIOLATED, self.explanation)
        if directive.resume:
            self._resume_now(directive)

    def _end_given_up(self) -> None:
        """A goal that was to resume and will not has failed; its client must not wait forever."""
        goal = self._goal
        if goal is not None and goal.suspended and not self.reaction.waits_to_resume:
            goal.finish(ErrorCode.PATH_TOLERANCE_VIOLATED, self.explanation)

    def _resume_now(self, directive: Directive) -> None:
        assert directive.reference is not None
        if self._suspended is None:
            self.reaction.arrived()
            return
        trajectory, reached = self._suspended
        speed = self.reaction.options.resume_speed
        to_path = point_to_point(directive.reference.q, trajectory.sample(reached).q, self.limits,
                                 speed=speed)
        parts: list[Trajectory] = [to_path]
        if trajectory.duration - reached > 1e-3:
            parts.append(ramped(trajectory, ramp=RESUME_RAMP, speed=speed, start=reached))
        old = self._goal
        tolerances = old.tolerances if old else self.config.tolerances(trajectory.n)
        status = old.status if old is not None and old.suspended else None
        self._goal = Goal(Chain(parts), tolerances, self.limits.joints, self.time, status,
                          origin=(trajectory, reached, to_path.duration, speed))

    def _brake(self, reference: Reference) -> None:
        """Bring a motion to rest off the trajectory; the goal's status stays."""
        assert self._goal is not None
        self._goal.replace(Brake(reference, self.limits), self.time)

    # -- requests, in the loop's thread --------------------------------------------------------

    def _begin_goal(self, goal: Goal, reaction: str | None, start: float | None) -> None:
        if self._goal is not None and self._goal.unfinished:
            self._goal.finish(ErrorCode.INVALID_GOAL, 'replaced by a new goal', preempted=True)
        self.reaction.new_goal(reaction)
        self._suspended = None
        assert self.reference is not None
        goal.begin(self._last_time if start is None else start, self.reference)
        self._goal = goal

    def _stop(self) -> None:
        if self._goal is None or not self._goal.unfinished:
            return
        self._suspended = None
        if not self._goal.active:   # a reaction leads the arm
            self._goal.finish(ErrorCode.SUCCESSFUL, 'cancelled', cancelled=True)
            return
        trajectory, t = self._goal.trajectory, self.time - self._goal.start
        self._goal.finish(ErrorCode.SUCCESSFUL, 'cancelled', cancelled=True)
        self._goal.replace(stop_on_path(trajectory, t, self.limits), self.time)

    def _begin_hold(self) -> None:
        if self.phase is Phase.SAFE:
            return
        if self.phase is not Phase.TRACKING:
            assert self.state is not None
            self.reference = Reference.at_rest(self._inside(self.state.q))
        self._stop()
        self.reaction.new_goal()

    def _clear(self) -> None:
        if self.state is not None and self.state.finite:
            self.reaction.clear(self.state)
            self.reaction.new_goal()
            self.reference = Reference.at_rest(self._inside(self.state.q))
            self._law.reset(self.state)

    def _begin_switch(self, name: str, law: Law) -> None:
        self.law_name = name
        if name == Float.name and self._goal is not None and self._goal.unfinished:
            self._goal.finish(ErrorCode.SUCCESSFUL, 'a hand leads the arm', cancelled=True)
        if law is not self._law and self.phase is not Phase.SAFE:
            self._change(law, self._law.model)

    def _begin_model(self, model: ArmModel) -> None:
        self._model = model
        self._change(self._law, model)
        for law in self._laws.values():
            law.set_model(model)

    # -- laws ----------------------------------------------------------------------------------

    def _find_law(self, name: str) -> Law:
        if name not in self._laws:
            self._laws[name] = self.config.make(name, self._model)
        return self._laws[name]

    def _use_law(self, name: str, state: ArmState, directive: Directive) -> None:
        law = self._find_law(name)
        if law is self._law:
            return
        if directive.phase is Phase.REACTING:   # a reaction takes over at once
            self._switcher.cancel()
            law.reset(state)
            self._law = law
        else:
            self._change(law, law.model)

    def _change(self, law: Law, model: ArmModel) -> None:
        """Let another law or model take over; the torque at this state stays for the moment."""
        state, reference = self.state, self.reference
        if state is None or reference is None:
            self._law = law
            return
        dt = 1e-6   # both laws answer the same instant
        old = board_torque(self._law.step(state, reference, dt), state) + self._switcher.bias
        if law is not self._law:
            law.reset(state)
        law.set_model(model)
        new = board_torque(law.step(state, reference, dt), state)
        self._switcher.start(old, new, 1e-3)
        self._law = law

    # -- checks --------------------------------------------------------------------------------

    def _fault(self, state: ArmState, dt: float) -> str:
        if not math.isfinite(dt) or dt < 0.0:
            return f'time step {dt} s'
        if dt > self.config.max_gap:
            return f'no state for {dt:.3f} s'
        if not state.finite:
            return 'the state holds values that are no numbers'
        if state.strain is not None and not np.isfinite(
                state.strain[self._law.drivetrain.strained]).all():
            return 'a strain is no number'
        return ''

    def _fail(self, text: str) -> None:
        self.reaction.fault(text)
        if self._goal is not None and self._goal.unfinished:
            self._goal.finish(ErrorCode.PATH_TOLERANCE_VIOLATED, f'safe state: {text}')
        self._suspended = None

    def _ready(self) -> Reference:
        """The reference that a new goal starts from."""
        if self.reference is None:
            raise GoalRefused(ErrorCode.INVALID_GOAL, 'no state of the arm has arrived yet')
        if self.phase in (Phase.SAFE, Phase.REACTING, Phase.VERIFYING):
            raise GoalRefused(ErrorCode.INVALID_GOAL,
                              f'the controller is {self.phase.value}: {self.explanation}')
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
        self._requests.append(lambda: self._begin_goal(goal, reaction, start))
        return goal.status

    def _inside(self, q: Array) -> Array:
        return np.minimum(np.maximum(q, self.limits.lower), self.limits.upper)
