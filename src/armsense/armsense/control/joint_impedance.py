"""Joint impedance: the arm answers an external torque like springs and dampers at its joints."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from armsense.control.law import Gain, Law
from armsense.model import Arm
from armsense.schema import quantity
from armsense.types import ArmState, Command, Reference


@dataclass(frozen=True, kw_only=True)
class JointImpedanceGains:
    """What a hand feels."""

    stiffness: Gain = quantity(unit='Nm/rad', low=0, high=1e7)
    damping_ratio: Gain = quantity(unit='1', low=0, high=5)
    friction: float = quantity(0.8, low=0, high=1, text='fraction of friction fed forward')


class JointImpedance(Law):
    """M(q) dde + D de + K e = tau_ext with D = 2 zeta sqrt(K M_ii(q)), inertia left as it is.

    Stiffness and damping run on the boards; the rest is fed forward, so a free arm tracks.
    """

    name = 'joint_impedance'
    Gains = JointImpedanceGains

    def __init__(self, model: Arm, gains: JointImpedanceGains) -> None:
        super().__init__(model, gains)
        self._stiffness = self.gain('stiffness')
        self._factor = 4.0 * self.gain('damping_ratio') ** 2 * self._stiffness   # D^2 / M_ii
        self._offset = self._factor * self.drivetrain.rotor   # D^2 of the rotors
        self._friction = gains.friction
        self._has_rotor = bool(self.drivetrain.rotor.any())
        self._rotor = np.diag(self.drivetrain.rotor) @ self.drivetrain.path   # (n, n)

    def step(self, state: ArmState, reference: Reference, dt: float) -> Command:
        """Reference, stiffness and damping for the boards, feed-forward torque."""
        drivetrain, model, q = self.drivetrain, self.model, state.q
        square = self._factor * model.mass_matrix(q).diagonal()
        torque = drivetrain.motor_torque(model.inverse_dynamics(q, state.dq, reference.ddq))
        velocity = drivetrain.motor(reference.dq)
        if self._has_rotor:
            square += self._offset
            torque = torque + self._rotor.dot(reference.ddq)
        if self._friction:
            torque = drivetrain.with_friction(torque, velocity, self._friction)
        return Command(drivetrain.motor(reference.q), velocity, torque, self._stiffness,
                       np.sqrt(square, square), self.zero)
