"""Inner damping of link oscillations from strain (paper 001, sections 2-3)."""

from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np

from armsense_core.control.kinematic_joint import KinematicJoint
from armsense_core.control.law import Gain
from armsense_core.control.types import ArmState, Array, Command, Reference
from armsense_core.errors import ArmsenseError
from armsense_core.model import ArmModel
from armsense_core.schema import quantity


@dataclass(frozen=True, kw_only=True)
class OscillationDampingGains:
    """Joint position loop, velocity loop and strain feedback."""

    position: Gain = quantity(unit='1/s', low=0, high=200, text='K of the error decay')
    proportional: Gain = quantity(unit='Nm s/rad', low=0, high=1e6)
    integral: Gain = quantity(unit='Nm/rad', low=0, high=1e7)
    strain: Gain = quantity(unit='rad/s', low=0, high=1e5, text='joint velocity per strain')
    mean_time: float = quantity(1.0, unit='s', above=0, text='over which the mean strain is taken')


class OscillationDamping(KinematicJoint):
    """dq = dq_d + K (q_d - q) - k_e (strain - mean strain), gravity fed forward.

    A link that lags behind its joint has positive strain. Slowing the joint by an amount
    proportional to it makes the joint's acceleration proportional to the rate of bending, which is
    a damping force for the link. The mean, which gravity and payload cause, is removed so that the
    joint does not give way to them.
    """

    name = 'oscillation_damping'
    Gains = OscillationDampingGains

    def __init__(self, model: ArmModel, gains: OscillationDampingGains) -> None:
        super().__init__(model, gains)
        if not self.drivetrain.strained.any():
            raise ArmsenseError(f'{self.name} needs strain gauges; {model.name} has none')
        self._k = np.where(self.drivetrain.strained, self.gain('strain'), 0.0)
        self._mean: Array | None = None

    def reset(self, state: ArmState) -> None:
        """Take the present strain as the mean."""
        super().reset(state)
        self._mean = None

    def step(self, state: ArmState, reference: Reference, dt: float) -> Command:
        """Velocity for the boards and gravity torque."""
        velocity = self.velocity(state, reference, dt)
        gravity = self.model.gravity_torque(state.q)
        return self._loop.command(state, velocity, gravity, dt)

    def velocity(self, state: ArmState, reference: Reference, dt: float) -> Array:
        """Joint velocity that shall be driven [rad/s], (n,)."""
        return super().velocity(state, reference, dt) - self._k * self.mean_free(state, dt)

    def mean_free(self, state: ArmState, dt: float) -> Array:
        """Strain without its moving average, (n,); zero without a gauge."""
        if state.strain is None:
            raise ArmsenseError(f'{self.name} needs strain readings; the state has none')
        strain = np.where(self.drivetrain.strained, state.strain, 0.0)
        if self._mean is None:
            self._mean = strain
        self._mean = self._mean + (1.0 - math.exp(-dt / self.gains.mean_time)) * (
            strain - self._mean)
        return np.asarray(strain - self._mean)
