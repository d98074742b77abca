"""The interface of all control laws, and how gains are given."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from armsense.control.drivetrain import Drivetrain
from armsense.model import Arm
from armsense.schema import spread
from armsense.types import ArmState, Array, Command, constant, Reference

Gain = tuple[float, ...]   # one number per joint, or a single one for all


class Law(ABC):
    """State and reference in, command out; one cycle per `step`.

    A law is a frozen dataclass of gains (`Gains`, with ranges), `step`, `reset` if it remembers
    anything, and `halt` if what it remembers carries the arm. `control.laws.LAWS` names it,
    `config/controllers.yaml` sets it.
    """

    name: ClassVar[str]
    Gains: ClassVar[type]

    def __init__(self, model: Arm, gains: Any) -> None:
        """Bind a law to an arm; gains: instance of its `Gains`."""
        self.model = model
        self.gains = gains
        self.drivetrain = Drivetrain(model)
        self.zero = constant(np.zeros(model.n))

    def set_model(self, model: Arm) -> None:
        """Go on with other inertias (a payload)."""
        self.model = model

    def reset(self, state: ArmState) -> None:  # noqa: B027 (most laws remember nothing)
        """Forget the past; called when the law takes over."""

    def halt(self, state: ArmState) -> None:
        """Called when a reaction begins: drop what still drives the arm into the contact.

        The weight of the arm stays: dropping it, too, would let the arm fall.
        """
        self.reset(state)

    def relax(self, state: ArmState) -> None:
        """Called while the arm lets go of what it presses against: keep its weight alone."""
        self.halt(state)

    def feel(self, residual: Array | None) -> None:  # noqa: B027 (most laws do not)
        """Hear of the external torque [Nm], (n,), before each step; None: unknown."""

    def feedback(self, state: ArmState) -> tuple[Array, Array]:
        """What the law compares the reference with: [rad], [rad/s], (n,) each."""
        return self.drivetrain.joint(state.theta), self.drivetrain.joint(state.dtheta)

    @abstractmethod
    def step(self, state: ArmState, reference: Reference, dt: float) -> Command:
        """Command for this cycle, dt [s] after the last one."""

    def weight(self, state: ArmState) -> Array:
        """Motor torque that carries the arm at rest [Nm], (n,)."""
        return self.drivetrain.motor_torque(self.model.gravity_torque(state.q))

    def gain(self, name: str) -> Array:
        """A gain of the yaml as a read-only array, (n,)."""
        return constant(spread(f'{self.name}.{name}', getattr(self.gains, name), self.model.n))
