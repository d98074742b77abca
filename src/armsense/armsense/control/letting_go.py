"""An arm that has given up holds where it is, and lets go of what it presses against.

A reference that stands inside an obstacle would press on for ever. So for a moment the place to
hold is where the arm is, cycle by cycle, and the law carries nothing but the weight: what was
squeezed pushes the arm back until nothing is squeezed, and there it stays. The reference goes
there within the limits of velocity and acceleration: a wound spring that is let go at once hurls
its motor back. Only where that would take longer than a quarter of a second, for the reference is
too deep inside and the joint is slow, it begins nearer to the arm: whoever is clamped comes first.

It happens once. An arm that carries more than it was told also presses, and to let go again and
again would let it sink; only what has been let go of can be pressed against anew.
"""

from __future__ import annotations

import numpy as np

from armsense.control.active_law import ActiveLaw
from armsense.control.config import ControllerConfig
from armsense.schema import spread
from armsense.trajectory import Limits, Pursuit
from armsense.types import ArmState, Command, Reference

WAIT = 0.1      # [s] of pressing at rest
STILL = 0.05    # [rad/s] below which an arm rests
LENGTH = 0.3    # [s] of letting go, once the reference is at the arm; twice until it is there
THERE = 0.2     # of the tolerance, within which it is
NEAR = 0.01     # [s^2] times the acceleration: from so far the reference is back in 0.25 s
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
        self._pursuit: Pursuit | None = None                # leads the reference to the arm
        self._nobody = np.zeros(len(limits.torque), bool)
        # Joints whose reference begins nearer to the arm in this cycle, (n,).
        self.shortened = self._nobody
        self._armed = False
        self._pressed = self._left = 0.0                    # [s]

    @property
    def active(self) -> bool:
        """The place to hold moves with the arm or towards it."""
        return self._pursuit is not None

    def arm(self) -> None:
        """The arm has given up: whatever it presses against is to be let go of."""
        self._armed = True
        self.end()

    def end(self) -> None:
        """Somebody else leads the arm."""
        self._pressed = self._left = 0.0
        self._pursuit = None

    def begin_at(self, state: ArmState, reference: Reference) -> Reference:
        """The arm's own motion, to go on with; `lead` goes there from the reference."""
        self._laws.relax(state)
        q, dq = self._laws.law.feedback(state)
        fastest, q = self._limits.velocity, self._limits.inside(q)
        if self._pursuit is None:
            away, near = reference.q - q, NEAR * self._limits.acceleration
            self.shortened = np.abs(away) > near
            self._pursuit = Pursuit(Reference(
                q + np.clip(away, -near, near), np.where(self.shortened, 0.0, reference.dq),
                np.zeros(len(q))), self._limits)
        self._armed, self._left = False, LENGTH
        return Reference(q, np.clip(dq, -fastest, fastest), np.zeros(len(q)))

    def lead(self, reference: Reference, dt: float) -> Reference:
        """On the way to the reference, as long as the arm lets go.

        Only the place is led: an arm that sinks shall be braked, not helped.
        """
        if self._pursuit is None:
            return reference
        led = self._pursuit.step(reference, dt)
        self.shortened = self._nobody
        if self._left <= 0.0 and not reference.dq.any() and self._pursuit.rests:
            self._pursuit = None
        return reference._replace(q=led.q)

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
            if self._pursuit is not None:
                return Reference.at_rest(reference.q)
            if not self._due(reference, state, command, dt):
                return reference if reference.dq.any() else Reference.at_rest(reference.q)
            self.begin_at(state, reference)
        away = np.abs(reference.q - self._laws.law.feedback(state)[0])
        self._left -= dt if (away < THERE * self._tolerance).all() else 0.5 * dt
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
