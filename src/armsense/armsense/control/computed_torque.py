"""Computed torque, also called feedback linearisation (thesis 004, eq. 2.21)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from armsense.control.law import Gain, Law
from armsense.model import Arm
from armsense.schema import quantity
from armsense.types import ArmState, Command, Reference, torque_command


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

    All but the inverse dynamics and the sign of the friction is linear, so two matrix products
    do it: a NumPy call on a handful of numbers costs half as much as the inverse dynamics.
    """

    name = 'computed_torque'
    Gains = ComputedTorqueGains

    def __init__(self, model: Arm, gains: ComputedTorqueGains) -> None:
        super().__init__(model, gains)
        n, drivetrain = model.n, self.drivetrain
        rows = drivetrain.friction_rows(gains.friction)
        self._plain = rows is not None
        viscous, coulomb, sharp = np.array(rows or [(0.0, 0.0, 0.0)] * n).T
        P = drivetrain.path
        inverse, kp, kd = np.linalg.inv(P), np.diag(self.gain('kp')), np.diag(self.gain('kd'))
        zero, rotor = np.zeros((n, n)), np.diag(drivetrain.rotor) @ P * drivetrain.elastic
        # Of [q_d, dq_d, ddq_d, motor angle, motor velocity], (5 n, 5 n):
        self._inputs = np.block([
            [zero, zero, zero, inverse, zero],                        # q
            [zero, zero, zero, zero, inverse],                        # dq
            [kp, kd, np.eye(n), -kp @ inverse, -kd @ inverse],        # acceleration
            [zero, P, zero, zero, zero],                              # motor velocity, wanted
            [zero, sharp[:, None] * P, zero, zero, zero]])            # for the sign of friction
        # Of [acceleration, wanted velocity, sign, joint torque], (n, 4 n):
        self._outputs = np.hstack([rotor, np.diag(viscous), np.diag(coulomb), inverse.T])
        work = np.zeros(6 * n)
        self._q, self._dq, self._ddq, self._wanted, self._sign, self._torque = work.reshape(6, n)
        self._linear, self._terms = work[:5 * n], work[2 * n:]
        self.set_model(model)

    def set_model(self, model: Arm) -> None:
        """Go on with other inertias; rotors that the links carry along count with them."""
        super().set_model(model)
        self._dynamics = model
        if not self.drivetrain.elastic and self.drivetrain.rotor.any():
            self._dynamics = model.replace(armature=model.armature + self.drivetrain.rotor)

    def step(self, state: ArmState, reference: Reference, dt: float) -> Command:
        """Torque for the boards."""
        q, dq, theta, dtheta, _, _ = state
        if self.drivetrain.elastic:
            q, dq = theta, dtheta
        self._inputs.dot(np.concatenate((reference.q, reference.dq, reference.ddq, q, dq)),
                         self._linear)
        np.tanh(self._sign, self._sign)
        self._torque[:] = self._dynamics.inverse_dynamics(self._q, self._dq, self._ddq)
        torque = self._outputs.dot(self._terms)
        if not self._plain:
            torque = self.drivetrain.with_friction(torque, self._wanted, self.gains.friction)
        return torque_command(state, torque, self.zero)
