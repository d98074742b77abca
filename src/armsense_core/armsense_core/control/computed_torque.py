"""Computed torque, also called feedback linearisation (thesis 004, eq. 2.21)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from armsense_core.control.law import Gain, Law
from armsense_core.control.types import ArmState, Command, Reference, torque_command
from armsense_core.model import ArmModel
from armsense_core.schema import quantity


@dataclass(frozen=True, kw_only=True)
class ComputedTorqueGains:
    """Gains of the error dynamics dde + K_D de + K_P e = 0."""

    kp: Gain = quantity(unit='1/s^2', low=0, high=1e5)
    kd: Gain = quantity(unit='1/s', low=0, high=1e3)
    friction: float = quantity(1.0, low=0, high=1, text='fraction of friction fed forward')


class ComputedTorque(Law):
    """u = M(q) [ddq_d + K_D (dq_d - dq) + K_P (q_d - q)] + C(q, dq) dq + g(q) + friction(dq_d).

    Friction is fed forward from the reference velocity: compensating the measured one would
    chatter at standstill. On elastic joints the law works with the motors' unloaded joint angles.
    """

    name = 'computed_torque'
    Gains = ComputedTorqueGains

    def __init__(self, model: ArmModel, gains: ComputedTorqueGains) -> None:
        super().__init__(model, gains)
        self._kp, self._kd = self.gain('kp').tolist(), self.gain('kd').tolist()
        self._friction = gains.friction
        self._rotor = self.drivetrain.rotor if self.drivetrain.rotor.any() else None

    def step(self, state: ArmState, reference: Reference, dt: float) -> Command:
        """Torque for the boards."""
        drivetrain = self.drivetrain
        q, dq = state.q, state.dq
        if drivetrain.elastic:
            q, dq = drivetrain.joint(state.theta), drivetrain.joint(state.dtheta)
        # Plain numbers: for a handful of joints a loop is faster than arrays.
        ddq = np.array([a + kd * (v - w) + kp * (p - x) for a, v, w, p, x, kd, kp in zip(
            reference.ddq.tolist(), reference.dq.tolist(), dq.tolist(), reference.q.tolist(),
            q.tolist(), self._kd, self._kp, strict=True)])
        torque = self.model.inverse_dynamics(q, dq, ddq)
        if self._rotor is not None:
            torque = drivetrain.motor_torque(torque) + self._rotor * drivetrain.motor(ddq)
        if self._friction:
            torque = drivetrain.with_friction(torque, drivetrain.motor(reference.dq),
                                              self._friction)
        return torque_command(state, torque, self.zero)
