"""The state machine of reactions; `docs/reactions.md` has its diagram."""

from collections.abc import Callable

import numpy as np

from armsense.errors import BadValue
from armsense.reaction.options import Directive, known_strategy, Phase, ReactionOptions
from armsense.reaction.retreat import Retreat
from armsense.reaction.ways import PathMemory, way_to_clearance
from armsense.schema import spread
from armsense.trajectory import Brake, Chain, Guard, Limits, QuinticSpline
from armsense.types import all_finite, ArmState, Array, Collision, Reference

RETREATS = ('retract', 'resume')   # strategies that begin with one
ROUNDING = 1e-9       # relative, of two products that are meant to be equal
LEFT_BEHIND = 0.3     # [rad] of an arm that does not follow on the way back: something holds it


class ReactionMachine:
    """Decides what happens from a collision until the arm is on its way again."""

    def __init__(self, n: int, options: ReactionOptions, limits: Limits,
                 own_inertia: Callable[[Array], Array], release: Array,
                 guard: Guard | None = None) -> None:
        """Prepare for n joints; `release` as in `agree_with`, without guard nothing is in the way.

        `own_inertia` is that of the joints, rotors included, at q [rad]: [kg m^2], (n,) -> (n,).
        """
        self._guard = guard
        self.options = options
        self._chosen = options.strategy
        self._of_goal: str | None = None          # strategy of the present goal alone
        self._active = options.strategy           # of the reaction that runs
        self.phase = Phase.TRACKING
        self.explanation = ''
        self.memory = PathMemory(options.memory)
        self._limits = limits
        self.agree_with(release)
        self._retreat = Retreat(n, options, limits, own_inertia, guard)
        self._none = np.zeros(n)
        self._all = np.ones(n, bool)
        self._begun = False                       # a reaction, in this cycle
        self._led = False                         # the place to hold still moves
        self._contact = self._hold = self._none   # [rad] (n,)
        self._impulse = self._none                # [Nm s] of the contact so far, (n,)
        self._way_back: Chain | None = None
        self._way_out: QuinticSpline | None = None
        self._brake: Brake | None = None          # on the way out, which is not driven further
        self._time = self._quiet_for = 0.0        # [s] in this phase, without residual
        self._still_for = 0.0                     # [s] without motion
        self._attempts = 0
        self._resume_wanted = False
        self._waited = 0.0                        # [s] to resume, since the arm was last driven

    def agree_with(self, release: Array) -> None:
        """Call no residual quiet that the detector takes for a contact that lasts [Nm], (n,)."""
        quiet = (spread('reaction.quiet', self.options.quiet, len(release))
                 if self.options.quiet else release)
        for joint, value, limit in zip(self._limits.joints, quiet.tolist(), release.tolist(),
                                       strict=True):
            if value > limit * (1.0 + ROUNDING):
                raise BadValue(f'reaction.quiet of {joint}', value, f'at most {limit:.4g} Nm, '
                               'where the detector calls a contact ended (hysteresis times '
                               'threshold)')
        self._quiet = quiet                       # [Nm] (n,)

    # -- what others ask for -------------------------------------------------------------------

    @property
    def strategy(self) -> str:
        """For the next collision."""
        return self._of_goal or self._chosen

    def strategy_of(self, own: str | None) -> str:
        """For the collisions of a goal that brings its own strategy, or none."""
        return own or self._chosen

    @property
    def waits_to_resume(self) -> bool:
        """The arm will go on by itself as soon as it may."""
        return self._resume_wanted

    def choose(self, strategy: str) -> None:
        """Strategy for the collisions to come, where a goal brings none."""
        self._chosen = known_strategy(strategy)

    def fault(self, text: str) -> None:
        """To the safe state, until `clear`."""
        if self.phase is not Phase.SAFE:
            self._enter(Phase.SAFE, text)

    def clear(self, state: ArmState) -> None:
        """Leave the safe state; the arm holds where it is."""
        if self.phase is Phase.SAFE:
            self._rest_at(state.q, 'the fault was cleared')

    def new_goal(self, strategy: str | None = None) -> None:
        """A new trajectory (or hold), perhaps with its own strategy, ends a hold."""
        self._of_goal = None if strategy is None else known_strategy(strategy)
        if self.phase is not Phase.SAFE:
            self._attempts, self._resume_wanted = 0, False
            self.memory.clear()
            self._enter(Phase.TRACKING, '')

    def end_goal(self) -> None:
        """The goal is over, and with it its own strategy."""
        self._of_goal = None

    def request_resume(self) -> None:
        """Verify and then go on with the interrupted trajectory."""
        if self.phase not in (Phase.HOLDING, Phase.REACTING):
            raise BadValue('resume in phase', self.phase.value, 'holding or reacting')
        self._attempts, self._resume_wanted, self._waited = 0, True, 0.0

    def withdraw_resume(self) -> None:
        """Do not go on by itself: hold, or rest where the arm is on its way."""
        self._resume_wanted = False
        if self.phase is Phase.VERIFYING:
            self._leave_way_out('the resumption was withdrawn')
        self.arrived()

    def refuse_resume(self, why: str) -> None:
        """The way back to the path cannot be driven: go on holding."""
        if self.phase is Phase.RESUMING:
            self._rest_at(self._hold, why)

    def led_to(self, q: Array) -> None:
        """A hand has led the arm to q [rad], (n,): hold there from now on."""
        if self.phase is Phase.HOLDING:
            before, self._hold = self._hold, self._limits.inside(q)
            self._led = bool((self._hold != before).any())

    def arrived(self) -> None:
        """The rest of the trajectory has been driven."""
        if self.phase is Phase.RESUMING:
            self._enter(Phase.TRACKING, '')

    def record(self, reference: Reference, dt: float) -> None:
        """Remember what was driven."""
        self.memory.record(reference, dt)

    # -- one cycle -----------------------------------------------------------------------------

    def step(self, state: ArmState, residual: Array | None, collision: Collision | None,
             dt: float, lasting: str = '') -> Directive:
        """What to follow now; arguments as of `MotionCycle.step`. Nothing resumes in contact."""
        if self.phase is Phase.SAFE:
            return Directive(self.phase)
        self._time += dt
        self._waited = self._waited + dt if self._resume_wanted else 0.0
        if residual is not None and not all_finite(residual):
            residual = None
        loud = residual is None or (np.abs(residual) > self._quiet).any()
        self._quiet_for = 0.0 if loud else self._quiet_for + dt
        still = np.abs(state.dq).max() < self.options.rest_speed
        self._still_for = self._still_for + dt if still else 0.0
        self._begun = False
        if collision is not None and self.strategy != 'ignore':
            self._begin(state, collision)
        if self.phase is Phase.TRACKING:
            return Directive(self.phase)
        if self.phase is Phase.REACTING:
            felt = self._none if residual is None else residual
            self._impulse = self._impulse + felt * dt
            directive = self._react(state, felt, dt)
            return directive._replace(anew=self._all) if self._begun else directive
        if self.phase is Phase.HOLDING:
            return self._hold_still(lasting)
        if self.phase is Phase.VERIFYING:
            return self._verify(residual, lasting)
        return Directive(Phase.RESUMING)

    # -- inside --------------------------------------------------------------------------------

    def _begin(self, state: ArmState, collision: Collision) -> None:
        if self.phase is Phase.REACTING and self._active != 'retrace':
            return                                  # already yielding to this contact
        again = self.phase is Phase.REACTING        # hit on the way back: stop there
        self._begun = True
        self._contact = np.array(state.q)
        self._impulse = self._none
        self._quiet_for = self._still_for = 0.0     # a detector may be finer than `quiet`
        self._hold = self._limits.inside(self._contact)
        self._way_back = None
        self._active = 'stop' if again else self.strategy
        self._resume_wanted = self._active == 'resume'
        if self._active == 'retrace':
            self._way_back = self.memory.backwards(self.options.retrace_speed, self._limits)
        elif self._active in RETREATS:
            self._retreat.begin(self._hold)
        self.memory.clear()                         # what comes next begins somewhere else
        self._enter(Phase.REACTING,
                    f'{self._active}: contact at {collision.link} ({collision.joint})')

    def _react(self, state: ArmState, residual: Array, dt: float) -> Directive:
        if self._active == 'float':
            return self._float(state)
        if self._active in RETREATS:
            return self._retract(residual, dt)
        if self._way_back is not None:
            now = self._way_back.sample(self._time)
            if np.abs(now.q - state.q).max() > LEFT_BEHIND:
                return self._rest_at_arm(state, 'left behind on the way back')
            if self._time >= self._way_back.duration:
                return self._rest_at(now.q, 'back on the path')
            return Directive(self.phase, now)
        return self._stop(state)

    def _stop(self, state: ArmState) -> Directive:
        """Back to the point of contact; a joint that has yielded further stays there."""
        yielded = (state.q - self._contact) * self._impulse > 0.0
        # The first moments may have misread the push, while the arm ran on into the obstacle.
        stays = (self._hold - self._contact) * self._impulse > 0.0
        place = np.where(yielded, state.q, np.where(stays, self._hold, self._contact))
        before, self._hold = self._hold, self._limits.inside(place)
        anew = self._hold != before
        # More than quiet_time: also without one a reaction lasts a cycle, and others notice it.
        if self._time > self.options.timeout or self._still_for > self.options.quiet_time:
            return self._rest_at(self._hold, 'stopped')._replace(anew=anew)
        return Directive(self.phase, Reference.at_rest(self._hold), anew)

    def _retract(self, residual: Array, dt: float) -> Directive:
        quiet = self._quiet_for > self.options.quiet_time
        now = self._retreat.step(residual, self._time, quiet, dt)
        return self._rest_at(now.q, 'retracted') if self._retreat.over else Directive(
            self.phase, now)

    def _float(self, state: ArmState) -> Directive:
        limit = self.options.float_time
        still = self._quiet_for > max(limit, self.options.quiet_time) and (
            np.abs(state.dq).max() < self.options.rest_speed)
        if still and (limit > 0.0 or self._resume_wanted):
            return self._rest_at_arm(state, 'left alone')
        return Directive(self.phase, Reference.at_rest(self._limits.inside(state.q)), self._all,
                         law='float')

    def _hold_still(self, lasting: str) -> Directive:
        quiet = self._quiet_for >= self.options.quiet_time and not lasting and not self._led
        if self._resume_wanted and self._waited > self.options.resume_timeout:
            self._resume_wanted = False             # a client waits for the end of its goal
            self.explanation = (f'gave up after {self._waited:.0f} s of waiting to resume: '
                                f'{lasting or "the residual does not stay quiet"}')
        elif self._resume_wanted and quiet:
            if self._attempts < self.options.attempts:
                self._begin_verifying()
            else:
                self._resume_wanted = False
                self.explanation = f'gave up after {self._attempts} resumptions'
        return self._stay()

    def _begin_verifying(self) -> None:
        way = self._way_out = way_to_clearance(self._hold, self._contact, self._impulse,
                                               self.options, self._limits)
        if way is not None and self._guard is not None and not self._guard.allows_line(
                self._hold, way.sample(way.duration).q):
            self._resume_wanted = False
            self.explanation = 'there is no room to regain clearance'
        else:
            self._enter(Phase.VERIFYING, 'residual is quiet; regaining clearance')

    def _verify(self, residual: Array | None, lasting: str) -> Directive:
        """Regain clearance; then be quiet for a while. A moving arm also feels its friction."""
        options, loud = self.options, self.options.quiet_moving * self._quiet
        if residual is None or (np.abs(residual) > loud).any():
            return self._leave_way_out('contact again while verifying')
        if lasting:
            return self._leave_way_out(lasting)
        if self._way_out is not None and self._time <= self._way_out.duration:
            now = self._way_out.sample(self._time)
            self._hold, self._quiet_for = now.q, 0.0
            return Directive(self.phase, now)
        if self._quiet_for >= options.quiet_time:
            self._attempts += 1
            self._resume_wanted = False
            self._enter(Phase.RESUMING, f'resuming at {options.resume_speed:.0%} of the speed')
            return Directive(self.phase, Reference.at_rest(self._hold), resume=True)
        if self._time > options.timeout + (self._way_out.duration if self._way_out else 0.0):
            return self._rest_at(self._hold, 'the residual did not become quiet')
        return Directive(self.phase, Reference.at_rest(self._hold))

    def _leave_way_out(self, text: str) -> Directive:
        """Hold; an arm on its way out brakes before, within its limits."""
        way, time = self._way_out, self._time
        self._rest_at(self._hold, text)
        if way is not None and time < way.duration:
            self._brake = Brake(way.sample(time), self._limits)
        return self._stay()

    def _stay(self) -> Directive:
        """At the place to hold, or on the last bit of the way there."""
        brake = self._brake
        if brake is None:
            return Directive(self.phase, Reference.at_rest(self._hold))
        now = brake.sample(self._time)
        self._hold = self._limits.inside(now.q)
        if self._time >= brake.duration:
            self._brake = None
        return Directive(self.phase, now._replace(q=self._hold))

    def _rest_at_arm(self, state: ArmState, text: str) -> Directive:
        return self._rest_at(state.q, text)._replace(anew=self._all)

    def _rest_at(self, q: Array, text: str) -> Directive:
        self._hold = self._limits.inside(q)
        self._enter(Phase.HOLDING, text)
        return Directive(self.phase, Reference.at_rest(self._hold))

    def _enter(self, phase: Phase, text: str) -> None:
        self.phase, self.explanation = phase, text
        self._time, self._led, self._brake = 0.0, False, None
