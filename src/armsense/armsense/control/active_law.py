"""The law that answers now, and how another one or another model takes over."""

from __future__ import annotations

import numpy as np

from armsense.control.config import ControllerConfig
from armsense.control.law import Law
from armsense.model import Arm
from armsense.trajectory import Limits
from armsense.types import ArmState, Array, board_torque, Command, constant, Reference


class Switcher:
    """Adds what the old law gave more than the new one, and lets it fade.

    At the change the torque is that of the old law, `duration` later that of the new one. The
    fade follows 1 - 3 u^2 + 2 u^3 and is prolonged where it would change the torque by more than
    `step` of the limit per cycle.
    """

    def __init__(self, torque_limit: Array, duration: float = 0.3, step: float = 0.02) -> None:
        """Prepare.

        Args:
            torque_limit: [Nm] (n,)
            duration: Of the fade [s].
            step: Largest change of the fading part per cycle, as a fraction of the limit.
        """
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


INSTANT = 1e-6   # [s] steps of two laws that answer the same instant


class ActiveLaw:
    """One of the laws of an arm; each is made when it is first asked for."""

    def __init__(self, config: ControllerConfig, model: Arm, limits: Limits,
                 name: str) -> None:
        """Prepare.

        Args:
            config: Gains of the laws.
            model: The arm.
            limits: Of the arm.
            name: Of the first law.
        """
        self._config, self.model = config, model
        self._made: dict[str, Law] = {}
        self.switcher = Switcher(limits.torque, config.switch_time)
        self.law = self.find(name)

    def find(self, name: str) -> Law:
        """A law by name."""
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
