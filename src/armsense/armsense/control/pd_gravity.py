"""PD with gravity compensation (thesis 004, eq. 2.14), and floating without the PD."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from armsense.control.law import Gain, Law
from armsense.model import Arm
from armsense.schema import quantity
from armsense.types import ArmState, Command, Reference


@dataclass(frozen=True, kw_only=True)
class PdGravityGains:
    """PD on the position error."""

    kp: Gain = quantity(unit='Nm/rad', low=0, high=1e7)
    kd: Gain = quantity(unit='Nm s/rad', low=0, high=1e6)


class PdGravity(Law):
    """u = g(q) + K_P (q_d - q) + K_D (dq_d - dq); the PD runs on the boards."""

    name = 'pd_gravity'
    Gains = PdGravityGains

    def __init__(self, model: Arm, gains: PdGravityGains) -> None:
        super().__init__(model, gains)
        self._kp, self._kd = self.gain('kp'), self.gain('kd')

    def step(self, state: ArmState, reference: Reference, dt: float) -> Command:
        """Gravity torque, reference and gains."""
        motor = self.drivetrain.motor
        return Command(motor(reference.q), motor(reference.dq), self.weight(state), self._kp,
                       self._kd, self.zero)


@dataclass(frozen=True, kw_only=True)
class FloatGains:
    """Hand guiding."""

    kd: Gain = quantity(unit='Nm s/rad', low=0, high=1e6, text='drag against drifting')
    friction: float = quantity(0.0, low=0, high=0.9, text='fraction of friction taken off')
    speed: float = quantity(1.0, unit='rad/s', above=0, text='beyond it the joints are braked')


class Float(Law):
    """Gravity compensation with a little drag: the arm stays where a hand leaves it.

    A load that was told and is not there, or the other way round, drives the arm. So the speed of
    a motor beyond `speed` is braked with the joint's `safe_damping`.
    """

    name = 'float'
    Gains = FloatGains

    def __init__(self, model: Arm, gains: FloatGains) -> None:
        super().__init__(model, gains)
        self._kd = self.gain('kd')
        self._brake = np.array([joint.safe_damping for joint in model.config.joints.values()])

    def step(self, state: ArmState, reference: Reference, dt: float) -> Command:
        """Gravity torque and drag; the reference is not followed."""
        torque, fraction = self.weight(state), self.gains.friction
        if fraction:
            torque = self.drivetrain.with_friction(torque, state.dtheta, fraction)
        kd, speed = self._kd, np.abs(state.dtheta)
        if speed.max() > self.gains.speed:
            over = np.maximum(speed - self.gains.speed, 0.0)
            kd = kd + self._brake * over / np.maximum(speed, 1e-9)
        return Command(state.theta, self.zero, torque, self.zero, kd, self.zero)
