"""Motor, gear and link as one body: current to joint torque and back.

    tau = K_i z eta i - tau_f(dq),      K_i = 3/2 1/sqrt(3) 60/(2 pi) 1/K_v

K_i [Nm/A] from the motor's speed constant K_v [rpm/V] is thesis 004, eq. 4.3 (derived in its
section A.1); z is the gear ratio, eta its efficiency. Rotor inertia is not here: `ArmModel`
carries it as armature.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from armsense.drive.friction import FrictionModel
from armsense.drive.reading import DriveReading
from armsense.errors import BadValue
from armsense.model.arm_config import ArmConfig
from armsense.types import Array


class MotorCurrent(NamedTuple):
    """Currents that make a torque."""

    current: Array     # [A] within the limits, (n,)
    saturated: bool    # the torque asked for needs more current than a limit allows


def torque_constant(kv: float) -> float:
    """Torque per quadrature current [Nm/A] of a motor with speed constant `kv` [rpm/V]."""
    if not (math.isfinite(kv) and kv > 0.0):
        raise BadValue('kv', kv, '> 0 rpm/V')
    return 1.5 / math.sqrt(3.0) * 60.0 / (2.0 * math.pi) / kv


class RigidDrive:
    """Rigid drives of an arm; joints outside the mask give zero."""

    def __init__(self, torque_per_ampere: ArrayLike, current_limit: ArrayLike,
                 friction: FrictionModel) -> None:
        """Drive from joint-side numbers.

        Args:
            torque_per_ampere: K_i z eta [Nm/A], (n,).
            current_limit: [A], (n,).
            friction: Friction of the joints.
        """
        self.torque_per_ampere = np.asarray(torque_per_ampere, float)
        self.current_limit = np.asarray(current_limit, float)
        self.friction = friction

    @classmethod
    def from_config(cls, config: ArmConfig, joints: ArrayLike | None = None,
                    friction: FrictionModel | None = None) -> RigidDrive:
        """Drives of an arm; `joints` (n,) masks those that are rigid. None: all."""
        mask = np.ones(config.n) if joints is None else np.asarray(joints, float)
        gain = np.array([joint.torque_per_ampere for joint in config.joints.values()])
        limit = np.array([joint.current_limit for joint in config.joints.values()])
        model = friction if friction is not None else FrictionModel.from_config(config)
        return cls(gain * mask, limit, model.only(mask))

    def link_torque(self, reading: DriveReading) -> Array:
        """Torque on the links, friction removed [Nm], (n,)."""
        return self.friction.link_torque(self.torque_per_ampere * reading.current,
                                         reading.joint_velocity)

    def motor_current(self, torque: Array, dq: Array | None = None) -> MotorCurrent:
        """Currents for a torque [Nm] on the links, cut at the limits.

        Args:
            torque: Asked for, (n,).
            dq: Joint velocity [rad/s], (n,); friction is compensated where it is given.
        """
        if dq is not None:
            torque = torque + self.friction.torque(dq, torque)
        gain = np.where(self.torque_per_ampere > 0.0, self.torque_per_ampere, np.inf)
        wanted = torque / gain
        current = np.clip(wanted, -self.current_limit, self.current_limit)
        return MotorCurrent(current, bool((current != wanted).any()))
