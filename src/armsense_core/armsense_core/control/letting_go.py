"""An arm that has given up holds where it is, and lets go of what it presses against.

A reference that stands inside an obstacle would press on for ever. So for a moment the place to
hold is where the arm is, cycle by cycle, and the law carries nothing but the weight: what was
squeezed pushes the arm back until nothing is squeezed, and there it stays. The reference goes
there smoothly: a wound spring that is let go at once hurls its motor back.

It happens once. An arm that carries more than it was told also presses, and to let go again and
again would let it sink; only what has been let go of can be pressed against anew.
"""

from __future__ import annotations

import numpy as np

from armsense_core.control.active_law import ActiveLaw
from armsense_core.control.config import ControllerConfig
from armsense_core.control.law import spread
from armsense_core.control.types import ArmState, Command, Reference
from armsense_core.trajectory import Limits

FADE = 0.1      # [s] at least, in which the gap between reference and arm closes
WAIT = 0.1      # [s] of pressing at rest
STILL = 0.05    # [rad/s] below which an arm rests
LENGTH = 0.3    # [s] of letting go
GONE = 0.5      # of the tolerances, below which nothing is pressed against any more


class LettingGo:
    """Watches an arm at rest whose goal was given up."""

    def __init__(self, config: ControllerConfig, limits: Limits, laws: ActiveLaw) -> None:
        """Prepare.

        Args:
            config: Tolerances of position and torque.
            limits: No place is held beyond them.
            laws: What is told to carry the weight alone.
        """
        self._limits, self._laws = limits, laws
        self._tolerance = spread('hold_tolerance', config.hold_tolerance, len(limits.torque))
        self._torque = config.hold_torque * limits.torque   # [Nm] (n,)
        self._gap = np.zeros(len(limits.torque))            # [rad] to close, (n,)
        self._closed = self._length = 0.0                   # [s] since it began to, until it has
        self._armed = False
        self._pressed = self._left = 0.0                    # [s]

    @property
    def active(self) -> bool:
        """The place to hold moves with the arm or towards it."""
        return self._left > 0.0 or self._closed < self._length

    def arm(self) -> None:
        """The arm has given up: whatever it presses against is to be let go of."""
        self._armed = True
        self.end()

    def end(self) -> None:
        """Somebody else leads the arm."""
        self._pressed = self._left = self._closed = self._length = 0.0

    def begin_at(self, state: ArmState, reference: Reference) -> Reference:
        """The arm's own motion, to go on with; `close_gap` leads there from the reference."""
        self._laws.relax(state)
        q, dq = self._laws.law.feedback(state)
        fastest = self._limits.velocity
        own = Reference(self._limits.inside(q), np.clip(dq, -fastest, fastest), np.zeros(len(q)))
        self._gap = reference.q - own.q
        # The smooth step of `close_gap` is at most 1.5 times as fast as a straight line.
        self._length = max(FADE, float((1.5 * np.abs(self._gap) / fastest).max()))
        self._closed = 0.0
        self._armed, self._left = False, LENGTH
        return own

    def close_gap(self, reference: Reference, dt: float) -> Reference:
        """The reference with what is left of the gap between it and the one before."""
        if self._closed >= self._length:
            return reference
        self._closed += dt
        u = min(self._closed / self._length, 1.0)
        q = reference.q + self._gap * (1.0 - u * u * (3.0 - 2.0 * u))
        return reference._replace(q=self._limits.inside(q))

    def left_behind(self, reference: Reference, state: ArmState, lag: float = 0.0) -> bool:
        """The arm is elsewhere; lag: [s] that it may follow the reference late."""
        away = np.abs(reference.q - self._laws.law.feedback(state)[0])
        return bool((away > self._tolerance + lag * np.abs(reference.dq)).any())

    def step(self, reference: Reference, state: ArmState, command: Command | None,
             dt: float) -> Reference:
        """What to hold: the reference, or where the arm is.

        Args:
            reference: Where the arm is held.
            state: Of the arm.
            command: Of the last cycle.
            dt: [s]
        """
        if self._left <= 0.0:
            if not self._due(reference, state, command, dt):
                return reference
            self.begin_at(state, reference)
        self._left -= dt
        self._laws.law.relax(state)
        return Reference.at_rest(self._limits.inside(self._laws.law.feedback(state)[0]))

    def _due(self, reference: Reference, state: ArmState, command: Command | None,
             dt: float) -> bool:
        if command is None or reference.dq.any():
            return False
        away = np.abs(reference.q - self._laws.law.feedback(state)[0]) / self._tolerance
        torque = np.abs(self._laws.pressing(command, state)) / self._torque
        size = max(float(away.max()), float(torque.max()))
        self._armed = self._armed or size < GONE
        if np.abs(state.dq).max() > STILL:           # perhaps it only comes after its reference
            dt *= 0.5
        self._pressed = self._pressed + dt if size > 1.0 else 0.0
        return self._armed and self._pressed > WAIT
