"""Yielding to a contact: an admittance at the place where the arm was hit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from armsense.reaction.admittance import Admittance, drag_like, inertia_like
from armsense.reaction.options import ReactionOptions
from armsense.schema import spread
from armsense.trajectory import Guard, Limits
from armsense.types import Array, Reference

REFLEX_FADE = 0.1     # [s]


class Retreats:
    """Makes the retreats of one arm."""

    def __init__(self, n: int, options: ReactionOptions, limits: Limits,
                 own_inertia: Callable[[Array], Array], guard: Guard | None) -> None:
        """As `ReactionMachine`."""
        self.options, self.limits, self.guard = options, limits, guard
        self.over = spread('reaction.overreaction', options.overreaction, n)
        self._own_inertia = own_inertia
        self._inertia, self._drag = (
            spread(f'reaction.{name}', values, n) if values else None
            for name, values in (('inertia', options.inertia), ('drag', options.drag)))
        self._stiffness = spread('reaction.stiffness', options.stiffness, n)
        self._speed = spread('reaction.retract_speed', options.retract_speed, n)
        self._distance = spread('reaction.retract_distance', options.retract_distance, n)

    def begin(self, q: Array) -> Retreat:
        """From q [rad], (n,)."""
        return Retreat(self, q, self._yielding(q))

    def _yielding(self, q: Array) -> Admittance:
        """As light as an arm at q can be, unless the options say how light."""
        own, limits = self._own_inertia(q), self.limits
        return Admittance(inertia_like(own) if self._inertia is None else self._inertia,
                          drag_like(own) if self._drag is None else self._drag,
                          self._stiffness, np.minimum(self._speed, limits.velocity),
                          (np.maximum(-self._distance, limits.lower - q),
                           np.minimum(self._distance, limits.upper - q)), limits.acceleration)


class Retreat:
    """One of them."""

    def __init__(self, made_by: Retreats, start: Array, yielding: Admittance) -> None:
        self._of, self._start, self._yielding = made_by, start, yielding
        self._zero = np.zeros(len(start))
        self.over = False     # the arm has come to rest

    def step(self, residual: Array, time: float, quiet: bool, dt: float) -> Reference:
        """Where to go now.

        Args:
            residual: External torque [Nm], (n,).
            time: Since the contact [s].
            quiet: Nothing has been felt for a while.
            dt: [s]
        """
        options, yielding = self._of.options, self._yielding
        # Fading: an end at once makes the arm brake, which would feel like a contact.
        late = (time - options.reflex_time) / REFLEX_FADE
        gain = 1.0 + (self._of.over - 1.0) * min(max(1.0 - late, 0.0), 1.0)
        before, speed = yielding.x, yielding.v
        slow = np.abs(speed).max() < options.rest_speed
        # A stop at once would feel like a contact: in the end the arm coasts.
        done = bool(time > options.timeout or (slow and quiet))
        x, v = yielding.coast(dt) if done else yielding.step(gain * residual, dt)
        if not self._room_for(before, x, v):
            x, v = yielding.brake(before, speed, dt)
        self.over = done and not v.any()
        return Reference(self._of.limits.inside(self._start + x), v, self._zero)

    def _room_for(self, before: Array, x: Array, v: Array) -> bool:
        """Neither the floor nor the arm itself is in the way, or in that of its end."""
        guard, top = self._of.guard, self._of.limits.acceleration
        return guard is None or guard.allows(self._start + before, self._start + x,
                                             0.5 * v * np.abs(v) / top)
