"""An arm that follows a stream of joint positions, as ros2_control's controllers send them.

A collision freezes the reference where the arm is, until `resume`: whoever sends the positions
knows nothing of collisions, and would drive on into the obstacle. So does a fault, such as a
state that holds no numbers; meanwhile the arm brakes.

A velocity counts until the next position is due. Who sends nothing more has died or has nothing
to say: the arm comes to rest at the last position.
"""

from __future__ import annotations

from collections.abc import Sequence
import math

import numpy as np

from armsense.control.law import Law
from armsense.control.limiter import Limiter
from armsense.errors import ArmsenseError, BadValue
from armsense.model import Arm
from armsense.trajectory import Limits
from armsense.types import ArmState, Array, Command, Reference

REACH = 0.2                # [rad] from where the arm is led to the next position it is sent to
LATE = 2.5                 # times the pause between the last two positions: none comes any more
SOONEST, LATEST = 0.02, 0.2   # [s] within which that is said


class CommandFollower:
    """One law, one reference."""

    def __init__(self, model: Arm, law: Law) -> None:
        """Prepare.

        Args:
            model: The arm.
            law: Bound to the arm; it follows positions and velocities.
        """
        self._law = law
        self._names = model.joint_names
        self._limits = Limits.of(model)
        self._limiter = Limiter(model, self._limits)
        self._reference: Reference | None = None
        self._goal: Array | None = None   # [rad] (n,) the newest position, where it leads to
        self._age, self._patience = 0.0, LATEST   # [s] of the newest position, and how old it gets
        self.frozen = False
        self.fault = ''                   # why the arm brakes or braked; until `resume`

    def send(self, names: Sequence[str], position: Sequence[float],
             velocity: Sequence[float] = ()) -> None:
        """Take the newest reference, joints in any order; what is wrong leaves the old one.

        Positions and velocities beyond the arm's limits are taken as the limits.

        Raises:
            ArmsenseError: A joint is missing, a value is no number, or a position is further
                than `REACH` from where the arm is led.
        """
        missing = [name for name in self._names if name not in names]
        if missing or len(position) != len(names):
            raise ArmsenseError(f'a position of every joint is needed; missing: '
                                f'{", ".join(missing) or "some positions"}')
        order = [list(names).index(name) for name in self._names]
        q = np.array([position[k] for k in order], float)
        speeds = [velocity[k] for k in order] if len(velocity) == len(names) else 0.0
        dq = np.nan_to_num(np.broadcast_to(np.array(speeds, float), q.shape), posinf=0, neginf=0)
        if not np.isfinite(q).all():
            raise BadValue('commanded position', q.tolist(), 'finite')
        if self.frozen or self._reference is None:
            return
        distance = np.abs(q - self._reference.q)
        if distance.max() > REACH:
            joint = self._names[int(distance.argmax())]
            raise ArmsenseError(f'{joint} is sent {distance.max():.2f} rad away at once; stay '
                                f'within {REACH} rad of where the arm is led')
        self._patience = min(max(LATE * self._age, SOONEST), LATEST)
        self._age = 0.0
        self._goal = self._limits.inside(q)
        fastest = self._limits.velocity
        dq = np.where(self._goal == q, np.clip(dq, -fastest, fastest), 0.0)
        self._reference = self._reference._replace(dq=dq)

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
            self._reference, self._goal = Reference.at_rest(self._limits.inside(state.q)), None
        self._reference = reference = self._approach(self._reference, dt)
        limited = self._limiter.apply(self._law.step(state, reference, dt), state)
        return self._brake(state, limited.reason) if limited.reason else limited.command

    def rest(self) -> None:
        """The motors are off: begin anew where the arm will be."""
        self._reference = self._goal = None

    def resume(self) -> None:
        """Follow again, from a reference near the arm."""
        self.frozen, self.fault = False, ''

    @property
    def held(self) -> Array | None:
        """Where the arm shall be now [rad], (n,)."""
        return None if self._reference is None else self._reference.q

    def _approach(self, reference: Reference, dt: float) -> Reference:
        """Towards the newest position, no faster than the joints may move."""
        self._age += dt
        if self._goal is None:
            return reference
        way = self._limits.velocity * dt
        q, dq = reference.q + np.clip(self._goal - reference.q, -way, way), reference.dq
        if self._age > self._patience and dq.any():
            slower = self._limits.acceleration * dt
            dq = dq - np.clip(dq, -slower, slower)
        return reference._replace(q=q, dq=dq)

    def _brake(self, state: ArmState, why: str) -> Command:
        self.frozen, self.fault = True, why
        self.rest()
        return self._limiter.damping(state)
