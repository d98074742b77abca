"""Computed torque, also called feedback linearisation (thesis 004, eq. 2.21)."""

from __future__ import annotations

from dataclasses import dataclass
from math import tanh

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
        self._rows = self.drivetrain.friction_rows(gains.friction)
        self._rotor = np.diag(self.drivetrain.rotor) @ self.drivetrain.path   # (n, n)
        self.set_model(model)

    def set_model(self, model: ArmModel) -> None:
        """Go on with other inertias; rotors that the links carry along count with them."""
        super().set_model(model)
        self._dynamics = model
        if not self.drivetrain.elastic and self.drivetrain.rotor.any():
            self._dynamics = model.replace(armature=model.armature + self.drivetrain.rotor)

    def step(self, state: ArmState, reference: Reference, dt: float) -> Command:
        """Torque for the boards."""
        drivetrain = self.drivetrain
        q, dq, wanted = state.q, state.dq, reference.dq
        if drivetrain.elastic:
            q, dq = drivetrain.joint(state.theta), drivetrain.joint(state.dtheta)
        speeds = wanted.tolist()
        # Plain numbers: for a handful of joints a loop is faster than arrays.
        ddq = np.array([a + kd * (v - w) + kp * (p - x) for a, v, w, p, x, kd, kp in zip(
            reference.ddq.tolist(), speeds, dq.tolist(), reference.q.tolist(), q.tolist(),
            self._kd, self._kp, strict=True)])
        torque = self._dynamics.inverse_dynamics(q, dq, ddq)
        if drivetrain.elastic:
            torque = drivetrain.motor_torque(torque) + self._rotor.dot(ddq)
            wanted = drivetrain.motor(wanted)
            speeds = wanted.tolist()
        if self._rows is None:
            torque = drivetrain.with_friction(torque, wanted, self.gains.friction)
        else:
            torque = np.array([tau + coulomb * tanh(v * sharp) + viscous * v
                               for tau, v, (viscous, coulomb, sharp) in zip(
                                   torque.tolist(), speeds, self._rows, strict=True)])
        return torque_command(state, torque, self.zero)
