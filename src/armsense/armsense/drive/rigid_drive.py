"""Motor, gear and link as one body: the torque of the motor less friction moves the link.

    tau_link = K_i z eta i - tau_f(dq)

`JointConfig.torque_per_ampere` is K_i z eta. Rotor inertia is not here: `Arm` carries it as
armature.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from armsense.drive.friction import FrictionModel
from armsense.model.arm_config import ArmConfig
from armsense.types import ArmState, Array


class RigidDrive:
    """Rigid drives of an arm; joints outside the mask give zero."""

    def __init__(self, joints: ArrayLike, friction: FrictionModel) -> None:
        """Drive of the joints in a mask, (n,), with their friction."""
        self._mask = np.asarray(joints, float)
        self.friction = friction.only(self._mask)

    @classmethod
    def from_config(cls, config: ArmConfig, joints: ArrayLike | None = None,
                    friction: FrictionModel | None = None) -> RigidDrive:
        """Drives of an arm; `joints` (n,) masks those that are rigid. None: all."""
        return cls(np.ones(config.n) if joints is None else joints,
                   FrictionModel.from_config(config) if friction is None else friction)

    def link_torque(self, state: ArmState) -> Array:
        """Torque on the links, friction removed [Nm], (n,)."""
        return self.friction.link_torque(self._mask * state.tau, state.dq)
