"""Elastic joints in two steps (thesis 000, chapter 4): springs from the motors, then the links.

Recordings have encoders on both sides of the springs. `actuators` finds the springs. Their torque
moves the links, and the load side is identified as a rigid arm with that torque,

    P^T (K delta + D ddelta) = Phi(q, dq, ddq) pi + F dq,       P = 1 + R (cable coupling).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from armsense.drive.elastic_joint import ElasticJoint
from armsense.identify.elastic.actuators import Actuators, identify_actuators, Term
from armsense.identify.elastic.recording import ElasticRecording
from armsense.identify.estimation.training import Options
from armsense.identify.identify import identify
from armsense.identify.model import IdentifiedModel, model_file
from armsense.model.arm import Arm
from armsense.model.model_file import DriveParameters, IdentifiedFriction, ModelFile
from armsense.types import Array


@dataclass(frozen=True)
class ElasticArm:
    """Identified drives and links."""

    actuators: Actuators
    links: IdentifiedModel

    def model_file(self) -> ModelFile:
        """For the nodes."""
        file = model_file(self.links, [], {'train_percent': self.links.train.percent}, {})
        drives, friction = {}, {}
        bearing = self.links.drive_coefficients()['viscous']
        a = self.actuators
        for k, joint in enumerate(self.links.model.joint_names):
            ratio = a.coupling[k][np.flatnonzero(a.coupling[k])]
            drives[joint] = DriveParameters(
                stiffness=float(a.stiffness[k]), damping=float(a.damping[k]),
                link_damping=max(float(bearing[k]), 0.0),
                coupling_ratio=float(ratio[0]) if len(ratio) else None)
            friction[joint] = IdentifiedFriction(viscous=float(a.viscous[k]),
                                                 coulomb=float(a.coulomb[k]),
                                                 asymmetry=float(a.offset[k]))
        return replace(file, drives=drives, friction=friction)


def identify_elastic(recordings: Sequence[ElasticRecording], model: Arm,
                     options: Options | None = None,
                     extra: Mapping[str, Term] | None = None) -> ElasticArm:
    """Identify an arm with a spring in every joint, see `identify_actuators`."""
    actuators = identify_actuators(recordings, model, extra)
    return identify_links(recordings, model, actuators, options)


def identify_links(recordings: Sequence[ElasticRecording], model: Arm, actuators: Actuators,
                   options: Options | None = None) -> ElasticArm:
    """Second step of two: the load side, moved by the springs.

    Args:
        recordings: Motor and joint angles, motor torques.
        model: Nominal arm with its yaml.
        actuators: Of the first step.
        options: For the load side; terms are the viscous friction of the bearings.
    """
    options = replace(options or Options(), terms=('viscous',))
    springs = actuators.springs()
    links = [r.link_side(spring_torque(r, springs)) for r in
             (recording.averaged() for recording in recordings)]
    nominal = model.replace(armature=np.zeros(model.n))
    return ElasticArm(actuators, identify(links, nominal, options))


def spring_torque(recording: ElasticRecording, springs: ElasticJoint) -> Array:
    """Torque on the links from the twist of the springs [Nm], (N, n)."""
    motors, joints = recording.motions(0.499 * recording.rate)      # unfiltered
    slow, slow_joints = recording.motions(4.0 * recording.band)
    path = np.eye(recording.q.shape[1]) + springs.coupling
    twist = motors.q - joints.q @ path.T
    rate = slow.dq - slow_joints.dq @ path.T
    return np.asarray((springs.stiffness * twist + springs.damping * rate) @ path)
