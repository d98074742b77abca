"""Kinematic control of joint motion (thesis 004, section 2.5.2, fig. 2.6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from armsense.control.law import Gain, Law
from armsense.control.velocity_loop import VelocityLoop
from armsense.model import Arm
from armsense.schema import quantity
from armsense.types import ArmState, Array, Command, Reference


@dataclass(frozen=True, kw_only=True)
class KinematicJointGains:
    """Outer loop on the position error, inner loop on the velocity error."""

    position: Gain = quantity(unit='1/s', low=0, high=200, text='K of the error decay')
    proportional: Gain = quantity(unit='Nm s/rad', low=0, high=1e6)
    integral: Gain = quantity(unit='Nm/rad', low=0, high=1e7)


class KinematicJoint(Law):
    """dq = dq_d + K (q_d - q), followed by the velocity loop; the error decays with exp(-K t)."""

    name = 'kinematic_joint'
    Gains: ClassVar[type] = KinematicJointGains

    def __init__(self, model: Arm, gains: Any) -> None:
        super().__init__(model, gains)
        self._K = self.gain('position').tolist()
        self._coupled = self.drivetrain.elastic
        self._loop = VelocityLoop(self.gain('proportional'), self.gain('integral'),
                                  model.effort_limits, model.velocity_limits, self.zero)

    def reset(self, state: ArmState) -> None:
        """Start without integral."""
        self._loop.reset(state)

    def halt(self, state: ArmState) -> None:
        """Keep of the integral what carries the arm."""
        self._loop.reset(state, self.weight(state))

    def feedback(self, state: ArmState) -> tuple[Array, Array]:
        """The joints, not the motors: [rad], [rad/s], (n,) each."""
        return state.q, state.dq

    def step(self, state: ArmState, reference: Reference, dt: float) -> Command:
        """Velocity for the boards."""
        velocity = self.velocity(state, reference)
        if self._coupled:
            velocity = self.drivetrain.motor(np.array(velocity)).tolist()
        return self._loop.command(state, velocity, self.zero, dt)

    def velocity(self, state: ArmState, reference: Reference) -> list[float]:
        """Joint velocity that shall be driven [rad/s], n numbers."""
        return [v + k * (p - x) for v, k, p, x in zip(
            reference.dq.tolist(), self._K, reference.q.tolist(), state.q.tolist(), strict=True)]
