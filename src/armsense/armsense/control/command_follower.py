"""An arm that follows a stream of joint positions, as ros2_control's controllers send them.

A collision freezes the reference where the arm is, until `resume`: whoever sends the positions
knows nothing of collisions, and would drive on into the obstacle. So does a fault, such as a
state that holds no numbers; meanwhile the arm brakes.

Positions may come late or several at once. A point runs evenly towards the newest one, in the time
that positions take to come, and the arm is led after that point within its limits of velocity and
half its acceleration, smoothly: 40 ms behind the point, itself one pause behind. Who sends nothing
more has died or has nothing to say: the arm comes to rest at the last position. Velocities that
are sent do not count: they cannot contradict the positions then.
"""

from collections.abc import Sequence
import math

import numpy as np

from armsense.control.law import Law
from armsense.control.limiter import Limiter
from armsense.errors import ArmsenseError, BadValue
from armsense.model import Arm
from armsense.trajectory import Limits, Pursuit
from armsense.types import ArmState, Array, Command, Reference

REACH = 0.2   # [rad] from where the arm is led to the next position it is sent to
PAUSE = 0.2   # [s] a position after a longer one begins anew, an earlier one goes on
CATCH_UP = 0.1   # [s] less time to get to a position, per second in which they come sooner
GENTLE = 0.5     # of the acceleration limit: a stream is as rough as its sender
BEGIN_AGAIN = 'Deactivate and activate the trajectory controller: it begins where the arm is'
SMOOTH = 0.02    # [s] of each of two low passes: what jerks the arm is felt as a contact


class EvenPoint:
    """Runs evenly to the newest of the positions that come, however they come."""

    def __init__(self, q: Array) -> None:
        self._q = self._goal = q            # [rad] (n,)
        self._age = self._span = self._left = 0.0   # [s] of the goal, and to get there

    def send(self, goal: Array) -> None:
        """Go on to this position [rad], (n,); of several at once the last one counts."""
        if self._age <= PAUSE:
            self._span = max(self._age, self._span - CATCH_UP * self._age)
        self._goal, self._age, self._left = goal, 0.0, self._span

    def step(self, dt: float) -> Reference:
        """The point after dt [s], > 0."""
        self._age += dt
        before, self._left = self._q, self._left - dt
        self._q = before + (self._goal - before) * dt / max(self._left + dt, dt)
        return Reference(self._q, (self._q - before) / dt, np.zeros(len(before)))


class CommandFollower:
    """One law, one reference."""

    def __init__(self, model: Arm, law: Law) -> None:
        self._law = law
        self._names = model.joint_names
        self._limits = Limits.of(model)
        self._limiter = Limiter(model, self._limits)
        self._reference: Reference | None = None   # None: begin where the arm is
        self.frozen = False
        self.fault = ''                   # why the arm brakes or braked; until `resume`

    def send(self, names: Sequence[str], position: Sequence[float]) -> None:
        """Take the newest position, joints in any order; what is wrong leaves the old one.

        Positions beyond the arm's limits are taken as the limits. Too few joints, values that are
        no numbers and places further than `REACH` from where the arm is led are errors.
        """
        missing = [name for name in self._names if name not in names]
        if missing or len(position) != len(names):
            raise ArmsenseError(f'a position of every joint is needed; missing: '
                                f'{", ".join(missing) or "some positions"}')
        order = [list(names).index(name) for name in self._names]
        q = np.array([position[k] for k in order], float)
        if not np.isfinite(q).all():
            raise BadValue('commanded position', q.tolist(), 'finite')
        if self.frozen or self._reference is None:
            return
        distance = np.abs(q - self._reference.q)
        if distance.max() > REACH:
            joint = self._names[int(distance.argmax())]
            raise ArmsenseError(f'{joint} is sent {distance.max():.2f} rad away at once; stay '
                                f'within {REACH} rad of where the arm is led. A target of before '
                                f'a pause? {BEGIN_AGAIN}')
        self._point.send(self._limits.inside(q))

    def step(self, state: ArmState, collision: bool, dt: float) -> Command:
        """Command for this cycle; a collision freezes the reference."""
        if not (state.finite and math.isfinite(dt) and dt >= 0.0):
            return self._brake(state, f'state or time step ({dt} s) is no number')
        self.frozen = self.frozen or collision
        if self._reference is None:
            self._law.reset(state)
        elif collision:
            self._law.halt(state)
        if self._reference is None or collision:
            self._reference = self._begin_at(self._limits.inside(state.q))
        self._reference = reference = self._lead(self._reference, dt)
        limited = self._limiter.apply(self._law.step(state, reference, dt), state)
        return self._brake(state, limited.reason) if limited.reason else limited.command

    def rest(self) -> None:
        """The motors are off: begin anew where the arm will be."""
        self._reference = None

    def resume(self) -> None:
        """Follow again, from a reference near the arm."""
        self.frozen, self.fault = False, ''

    @property
    def held(self) -> Array | None:
        """Where the arm shall be now [rad], (n,)."""
        return None if self._reference is None else self._reference.q

    def _begin_at(self, q: Array) -> Reference:
        rest = Reference.at_rest(q)
        self._point, self._smooth = EvenPoint(q), q
        self._pursuit = Pursuit(rest, self._limits.gentler(GENTLE * self._limits.acceleration))
        return rest

    def _lead(self, before: Reference, dt: float) -> Reference:
        """After the point, through low passes: they keep the limits of what they are given."""
        if dt == 0.0:
            return before
        led, share = self._pursuit.step(self._point.step(dt), dt), -math.expm1(-dt / SMOOTH)
        self._smooth = self._smooth + share * (led.q - self._smooth)
        q = before.q + share * (self._smooth - before.q)
        return before._replace(q=q, dq=(q - before.q) / dt)

    def _brake(self, state: ArmState, why: str) -> Command:
        self.frozen, self.fault = True, why
        self.rest()
        return self._limiter.damping(state)
