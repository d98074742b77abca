"""The law that answers now: how another takes over, and how an arm that gives up lets go."""

import numpy as np

from armsense.control.config import ControllerConfig
from armsense.control.law import Law
from armsense.model import Arm
from armsense.schema import spread
from armsense.trajectory import Limits, Pursuit
from armsense.types import ArmState, Array, board_torque, Command, constant, Reference

INSTANT = 1e-6  # [s] steps of two laws that answer the same instant
WAIT = 0.1      # [s] of pressing at rest, before an arm lets go
STILL = 0.05    # [rad/s] below which an arm rests
LENGTH = 0.3    # [s] of letting go, once the reference is at the arm; twice until it is there
THERE = 0.2     # of the tolerance, within which it is
NEAR = 0.01     # [s^2] times the acceleration: from so far the reference is back in 0.25 s
GONE = 0.5      # of the tolerances, below which nothing is pressed against any more


class Switcher:
    """Adds what the old law gave more than the new one, and lets it fade.

    At the change the torque is that of the old law, `duration` later that of the new one. The
    fade follows 1 - 3 u^2 + 2 u^3 and is prolonged where it would change the torque by more than
    `step` of the limit per cycle.
    """

    def __init__(self, torque_limit: Array, duration: float = 0.3, step: float = 0.02) -> None:
        """Fade in a time [s], at most by `step` of the limit [Nm], (n,), in each cycle."""
        self._limit, self._duration, self._step = torque_limit, duration, step
        self._none = constant(np.zeros(len(torque_limit)))
        self._difference = self._none   # [Nm] (n,)
        self._time = self._length = 0.0

    @property
    def active(self) -> bool:
        return self._time < self._length

    @property
    def bias(self) -> Array:
        """What is added now [Nm], (n,)."""
        if not self.active:
            return self._none
        u = self._time / self._length
        return self._difference * (1.0 - u * u * (3.0 - 2.0 * u))

    def start(self, old_torque: Array, new_torque: Array, dt: float) -> None:
        """Begin a fade between the torques [Nm], (n,) that both give at the same state."""
        self._difference = np.asarray(old_torque - new_torque)
        share = float(np.max(np.abs(self._difference) / self._limit))
        self._length = max(self._duration, 1.5 * share * dt / self._step)
        self._time = 0.0

    def cancel(self) -> None:
        """Drop what is left of a fade; a reaction must not be softened."""
        self._time = self._length = 0.0

    def apply(self, command: Command, dt: float) -> Command:
        """The command with what is left of the fade; advances it by dt [s]."""
        if not self.active:
            return command
        command = command._replace(torque=command.torque + self.bias)
        self._time += dt
        return command


class ActiveLaw:
    """One of the laws of an arm; each is made when it is first asked for."""

    def __init__(self, config: ControllerConfig, model: Arm, limits: Limits, name: str) -> None:
        """Begin with the law of this name."""
        self._config, self.model = config, model
        self._made: dict[str, Law] = {}
        self.switcher = Switcher(limits.torque, config.switch_time)
        self.law = self.find(name)

    def find(self, name: str) -> Law:
        if name not in self._made:
            self._made[name] = self._config.make(name, self.model)
        return self._made[name]

    def joint_inertia(self, q: Array) -> Array:
        """Of the joints, rotors and payload included, at q [rad]: [kg m^2], (n,) -> (n,)."""
        inertia: Array = self.model.mass_matrix(q).diagonal() + self.law.drivetrain.rotor
        return inertia

    def change(self, law: Law, state: ArmState, reference: Reference) -> None:
        """Let a law take over; the torque at this state stays for the moment."""
        old = board_torque(self.law.step(state, reference, INSTANT), state) + self.switcher.bias
        if law is not self.law:
            law.reset(state)
        law.set_model(self.model)
        new = board_torque(law.step(state, reference, INSTANT), state)
        self.switcher.start(old, new, 1e-3)
        self.law = law

    def take_over(self, law: Law, state: ArmState) -> None:
        """Let a law begin at once, as a reaction must, or where there is nothing to go on with."""
        self.switcher.cancel()
        law.reset(state)
        self.law = law

    def set_model(self, model: Arm, state: ArmState, reference: Reference) -> None:
        """Go on with other inertias, without a jump of torque."""
        self.model = model
        self.change(self.law, state, reference)
        for law in list(self._made.values()):        # the other thread may find one more
            law.set_model(model)

    def relax(self, state: ArmState) -> None:
        """The arm lets go of what it presses against: only its weight is carried."""
        self.switcher.cancel()
        self.law.relax(state)

    def pressing(self, command: Command, state: ArmState) -> Array:
        """Torque of a command at a state beyond the arm's weight [Nm], (n,)."""
        return board_torque(command, state) - self.law.weight(state)

    def halt(self, state: ArmState) -> None:
        """A reaction begins: drop what still drives the arm into the contact."""
        self.switcher.cancel()
        self.law.halt(state)


class LettingGo:
    """An arm that has given up holds where it is, and lets go of what it presses against.

    A reference that stands inside an obstacle would press on for ever. So for a moment the place
    to hold is where the arm is, cycle by cycle, and the law carries nothing but the weight: what
    was squeezed pushes the arm back until nothing is squeezed, and there it stays. The reference
    goes there within the limits of velocity and acceleration: a wound spring that is let go at
    once hurls its motor back. Only where that would take longer than a quarter of a second, for
    the reference is too deep inside and the joint is slow, it begins nearer to the arm: whoever is
    clamped comes first.

    It happens once. An arm that carries more than it was told also presses, and to let go again
    and again would let it sink; only what has been let go of can be pressed against anew.
    """

    def __init__(self, config: ControllerConfig, limits: Limits, laws: ActiveLaw) -> None:
        """Tolerances of position and torque are those of `config`; no place beyond `limits`."""
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
        """What to hold, dt [s] after the last command: the reference, or where the arm is."""
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
