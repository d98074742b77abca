"""One question to any arm: which torque moves the links now?

    M(q) ddq + C(q, dq) dq + g(q) = link_torque(state) + tau_ext

`make_drive` chooses by the arm's yaml. An arm may mix kinds (a rigid base joint below elastic
links); every kind answers zero for the joints that are not its own, so the answers add up.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from armsense.drive.elastic_joint import ElasticJoint, no_springs
from armsense.drive.friction import FrictionModel
from armsense.drive.strain_link import StrainLink
from armsense.model.arm import Arm
from armsense.model.arm_config import ArmConfig
from armsense.types import ArmState, Array


class RigidDrive:
    """Motor, gear and link as one body: the torque of the motor less friction moves the link.

        tau_link = K_i z eta i - tau_f(dq)

    `JointConfig.torque_per_ampere` is K_i z eta. Rotor inertia is not here: `Arm` carries it as
    armature. Joints outside the mask give zero.
    """

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
        return self.friction.link_torque(self._mask * state.tau, state.dq)

    @property
    def springs(self) -> tuple[Array, Array]:
        return no_springs(len(self._mask))


class Drive(Protocol):
    """Turns the state of the motors into the torque on the links."""

    def link_torque(self, state: ArmState) -> Array:
        """Torque on the links [Nm], (n,)."""
        ...

    @property
    def springs(self) -> tuple[Array, Array]:
        """Stiffness [Nm/rad] and damping [Nm s/rad] between motors and links, (n, n) each.

        By so much the link torque is less where a link is further on, and faster.
        """
        ...


class MixedDrive:
    """Drives of several kinds in one arm."""

    def __init__(self, parts: Sequence[Drive]) -> None:
        """Join `parts`, each of which answers zero for joints of another kind."""
        self.parts = tuple(parts)

    def link_torque(self, state: ArmState) -> Array:
        first, *others = self.parts
        torque = first.link_torque(state)
        for part in others:
            torque = torque + part.link_torque(state)
        return torque

    @property
    def springs(self) -> tuple[Array, Array]:
        stiffness, damping = zip(*(part.springs for part in self.parts), strict=True)
        return np.sum(stiffness, axis=0), np.sum(damping, axis=0)


def make_drive(config: ArmConfig, *, model: Arm | None = None) -> Drive:
    """The drive of an arm; with a model the static torque between joint and gauge is known."""
    kinds = [joint.drive for joint in config.joints.values()]
    parts: list[Drive] = []
    if 'rigid' in kinds:
        parts.append(RigidDrive.from_config(config, [kind == 'rigid' for kind in kinds]))
    if 'elastic_joint' in kinds:
        parts.append(ElasticJoint.from_config(config))
    if 'strain_link' in kinds:
        parts.append(StrainLink.from_config(config, model))
    return parts[0] if len(parts) == 1 else MixedDrive(parts)
