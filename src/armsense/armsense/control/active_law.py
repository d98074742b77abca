"""The law that answers now, and how another one or another model takes over."""

from __future__ import annotations

from armsense.control.config import ControllerConfig
from armsense.control.law import Law
from armsense.control.switcher import Switcher
from armsense.model import ArmModel
from armsense.trajectory import Limits
from armsense.types import ArmState, Array, board_torque, Command, Reference

INSTANT = 1e-6   # [s] steps of two laws that answer the same instant


class ActiveLaw:
    """One of the laws of an arm; each is made when it is first asked for."""

    def __init__(self, config: ControllerConfig, model: ArmModel, limits: Limits,
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

    def set_model(self, model: ArmModel, state: ArmState, reference: Reference) -> None:
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
