"""Yielding to a contact: velocity away from it, from the residual (paper 001, eq. 18).

    m dv/dt + f v + k integral(v) = k_o r

Thesis 000, eq. 5.1 is the special case m = k = 0, k_o / f = K_R: q_d = q_col + integral(K_R r).

How light an arm can pretend to be: its observer knows the velocity only T late, so a torque tau
that accelerates a joint looks like a push against it, r = -(1 - exp(-s T)) tau. The law answers
the admittance with tau = M K_D v. Around this loop the gain stays below k_o K_D T M / m: an arm
that yields as if it had a small part of its inertia M trembles, one with m = M does not as long
as k_o K_D T < 1.
"""

from collections.abc import Callable

import numpy as np

from armsense.reaction.options import ReactionOptions
from armsense.schema import spread
from armsense.trajectory import Guard, Limits
from armsense.trajectory.stopping import approach_speed
from armsense.types import Array, Reference

LIGHTEST = 0.05       # [kg m^2] noise moves what is lighter
LEAST_DRAG = 5.0      # [Nm s/rad] likewise
SLOWING = 20.0        # [1/s] drag over inertia
COASTING = 10.0       # [1/s] to rest at the end: a load that nobody told pushes when it brakes
LAST = 0.5            # [rad/s^2] of it at least, so that it ends
EARLIER = 0.9         # of the acceleration, towards the end: cycles are not infinitely short
REFLEX_FADE = 0.1     # [s]


class Admittance:
    """Every joint yields to its residual like a mass with friction and a spring.

    Integrated implicitly, so it is stable for every m >= 0, f > 0, k >= 0 and every dt.
    """

    def __init__(self, inertia: Array, drag: Array, stiffness: Array, speed: Array,
                 way: tuple[Array, Array], acceleration: Array) -> None:
        """Inertia m [kg m^2], drag f [Nm s/rad] and stiffness k [Nm/rad], (n,) each.

        Largest velocity [rad/s] and acceleration [rad/s^2]; lowest, <= 0, and highest way, >= 0
        [rad].
        """
        self._m, self._f, self._k = inertia, drag, stiffness
        self._speed, self._way, self._acceleration = speed, way, acceleration
        self.x = np.zeros(len(self._f))   # [rad] way since the contact
        self.v = np.zeros(len(self._f))   # [rad/s] mean of the last cycle
        self._last = self._apart = 0.0    # [s] last cycle; from middle to middle of the last two

    def step(self, torque: Array, dt: float) -> tuple[Array, Array]:
        """Way [rad] and velocity [rad/s] under k_o r [Nm], (n,) each."""
        self._begin(dt)
        v = (self._m * self.v + dt * (torque - self._k * self.x)) / (
            self._m + dt * self._f + dt * dt * self._k) if dt > 0.0 else self.v
        # Slower towards the end of the way: a stop at once would feel like a contact.
        low, high = self._way
        v = np.maximum(v, -np.minimum(self._speed, self._approach(self.x - low)))
        v = np.minimum(v, np.minimum(self._speed, self._approach(high - self.x)))
        return self._go_on(v, dt)

    def coast(self, dt: float) -> tuple[Array, Array]:
        """Come to rest gently, without a spring that pulls back."""
        self._begin(dt)
        slowing = dt * np.maximum(COASTING * np.abs(self.v), LAST)
        return self._go_on(np.sign(self.v) * np.maximum(np.abs(self.v) - slowing, 0.0), dt)

    def brake(self, x: Array, v: Array, dt: float) -> tuple[Array, Array]:
        """Slow down from a way [rad] and a velocity [rad/s] in this cycle instead, (n,) each."""
        self.x, self.v = x, v
        return self._go_on(np.zeros(len(v)), dt)

    def _begin(self, dt: float) -> None:
        """Velocities are those in the middle of their cycles, and a late cycle is longer."""
        self._apart = 0.5 * (dt + (self._last or dt))
        self._last = dt

    def _go_on(self, wanted: Array, dt: float) -> tuple[Array, Array]:
        """At this velocity [rad/s], (n,), as far as the acceleration allows."""
        change = self._acceleration * self._apart
        v = np.minimum(np.maximum(wanted, self.v - change), self.v + change)
        x = self.x + dt * v
        inside = np.minimum(np.maximum(x, self._way[0]), self._way[1])
        self.v = np.where(inside == x, v, 0.0)
        self.x = inside
        return self.x, self.v

    def _approach(self, distance: Array) -> Array:
        return approach_speed(distance, EARLIER * self._acceleration, COASTING)


class Retreat:
    """From where an arm was hit, as light as it can be there unless the options say how light."""

    def __init__(self, n: int, options: ReactionOptions, limits: Limits,
                 own_inertia: Callable[[Array], Array], guard: Guard | None) -> None:
        """As `ReactionMachine`."""
        self._options, self._limits, self._guard = options, limits, guard
        self._own_inertia = own_inertia
        self._inertia, self._drag = (
            spread(f'reaction.{name}', values, n) if values else None
            for name, values in (('inertia', options.inertia), ('drag', options.drag)))
        self._overreaction, self._stiffness, self._speed, self._distance = (
            spread(f'reaction.{name}', getattr(options, name), n)
            for name in ('overreaction', 'stiffness', 'retract_speed', 'retract_distance'))
        self._zero = np.zeros(n)
        self.over = False     # the arm has come to rest

    def begin(self, q: Array) -> None:
        """From q [rad], (n,)."""
        own, limits = self._own_inertia(q), self._limits
        self._start, self.over = q, False
        self._yielding = Admittance(
            np.maximum(own, LIGHTEST) if self._inertia is None else self._inertia,
            np.maximum(SLOWING * own, LEAST_DRAG) if self._drag is None else self._drag,
            self._stiffness, np.minimum(self._speed, limits.velocity),
            (np.maximum(-self._distance, limits.lower - q),
             np.minimum(self._distance, limits.upper - q)), limits.acceleration)

    def step(self, residual: Array, time: float, quiet: bool, dt: float) -> Reference:
        """Where to go now, at a time since the contact [s], under an external torque [Nm], (n,).

        Quiet: nothing has been felt for a while.
        """
        options, yielding = self._options, self._yielding
        # Fading: an end at once makes the arm brake, which would feel like a contact.
        late = (time - options.reflex_time) / REFLEX_FADE
        gain = 1.0 + (self._overreaction - 1.0) * min(max(1.0 - late, 0.0), 1.0)
        before, speed = yielding.x, yielding.v
        slow = np.abs(speed).max() < options.rest_speed
        # A stop at once would feel like a contact: in the end the arm coasts.
        done = bool(time > options.timeout or (slow and quiet))
        x, v = yielding.coast(dt) if done else yielding.step(gain * residual, dt)
        if not self._room_for(before, x, v):
            x, v = yielding.brake(before, speed, dt)
        self.over = done and not v.any()
        return Reference(self._limits.inside(self._start + x), v, self._zero)

    def _room_for(self, before: Array, x: Array, v: Array) -> bool:
        """Neither the floor nor the arm itself is in the way, or in that of its end."""
        guard, top = self._guard, self._limits.acceleration
        return guard is None or guard.allows(self._start + before, self._start + x,
                                             0.5 * v * np.abs(v) / top)
