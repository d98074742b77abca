"""One question to any arm: which torque moves the links now?

    M(q) ddq + C(q, dq) dq + g(q) = link_torque(state) + tau_ext

`make_drive` chooses by the arm's yaml. An arm may mix kinds (a rigid base joint below elastic
links); every kind answers zero for the joints that are not its own, so the answers add up.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from armsense.drive.elastic_joint import ElasticJoint
from armsense.drive.friction import FrictionModel
from armsense.drive.rigid_drive import RigidDrive
from armsense.drive.strain_link import StrainLink
from armsense.model.arm import Arm
from armsense.model.arm_config import ArmConfig
from armsense.types import ArmState, Array

__all__ = ['Drive', 'MixedDrive', 'make_drive']


class Drive(Protocol):
    """Turns the state of the motors into the torque on the links."""

    def link_torque(self, state: ArmState) -> Array:
        """Torque on the links [Nm], (n,)."""
        ...


class MixedDrive:
    """Drives of several kinds in one arm."""

    def __init__(self, parts: Sequence[Drive]) -> None:
        """Join `parts`, each of which answers zero for joints of another kind."""
        self.parts = tuple(parts)

    def link_torque(self, state: ArmState) -> Array:
        """Torque on the links [Nm], (n,)."""
        first, *others = self.parts
        torque = first.link_torque(state)
        for part in others:
            torque = torque + part.link_torque(state)
        return torque


def make_drive(config: ArmConfig, *, model: Arm | None = None,
               friction: FrictionModel | None = None) -> Drive:
    """The drive of an arm.

    Args:
        config: The arm.
        model: Rigid-body model, for the static torque between joint and strain gauge.
        friction: Identified friction; None: as in the yaml.
    """
    kinds = [joint.drive for joint in config.joints.values()]
    parts: list[Drive] = []
    if 'rigid' in kinds:
        mask = np.array([kind == 'rigid' for kind in kinds])
        parts.append(RigidDrive.from_config(config, mask, friction))
    if 'elastic_joint' in kinds:
        parts.append(ElasticJoint.from_config(config))
    if 'strain_link' in kinds:
        parts.append(StrainLink.from_config(config, model))
    return parts[0] if len(parts) == 1 else MixedDrive(parts)
