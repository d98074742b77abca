"""Elastic joints in two steps, or both sides at once.

Two steps (thesis 000, chapter 4): the actuator side gives the springs (`actuator`), the springs'
torque then moves the links, and the load side is identified as a rigid arm with that torque,

    P^T (K delta + D ddelta) = Phi(q, dq, ddq) pi + F dq,       P = 1 + R (cable coupling).

At once: the equations of both sides, each in units of its own errors, with the springs in both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from armsense.drive.elastic_joint import ElasticJoint
from armsense.errors import UnknownName
from armsense.identify.elastic.actuators import (
    actuator_columns,
    Actuators,
    BAND,
    elastic_config,
    ElasticRecording,
    identify_actuators,
    SMOOTHING,
    TERMS,
)
from armsense.identify.estimation.base_parameters import (
    base_parameters,
    BaseEstimate,
    estimate_base,
    regrouped,
)
from armsense.identify.estimation.training import Options
from armsense.identify.identify import identify
from armsense.identify.model import IdentifiedModel, model_file
from armsense.identify.signals.filters import in_band, torque_band
from armsense.model.arm import Arm
from armsense.model.arm_config import ArmConfig
from armsense.model.model_file import DriveParameters, IdentifiedFriction, ModelFile
from armsense.types import Array

WAYS = ('steps', 'joint')


@dataclass(frozen=True)
class ElasticArm:
    """Identified drives and links."""

    actuators: Actuators
    links: IdentifiedModel
    both: BaseEstimate | None = None    # of the equations of both sides together

    def motor_torque(self, recording: ElasticRecording, cutoff: float) -> Array:
        """Motor torques that the recorded motion needs, up to `cutoff` [Hz], [Nm], (N, n)."""
        motors, joints = recording.motions(cutoff)
        a = self.actuators
        spring = self.links.torque(joints) @ np.linalg.inv(np.eye(len(a.stiffness)) + a.coupling)
        return np.asarray(a.inertia * motors.ddq + a.viscous * motors.dq + a.offset
                          + a.coulomb * np.tanh(motors.dq / SMOOTHING) + spring)

    def model_file(self) -> ModelFile:
        """For the nodes."""
        file = model_file(self.links, [], {'train_percent': self.links.train.percent}, {})
        drives, friction = {}, {}
        bearing = self.links.drive_coefficients()['viscous']
        a = self.actuators
        for k, joint in enumerate(self.links.model.joint_names):
            ratio = a.coupling[k][np.flatnonzero(a.coupling[k])]
            drives[joint] = DriveParameters(
                stiffness=float(a.stiffness[k]), damping=max(float(a.damping[k]), 0.0),
                link_damping=max(float(bearing[k]), 0.0),
                coupling_ratio=float(ratio[0]) if len(ratio) else None)
            friction[joint] = IdentifiedFriction(viscous=float(a.viscous[k]),
                                                 coulomb=float(a.coulomb[k]),
                                                 asymmetry=float(a.offset[k]))
        return replace(file, drives=drives, friction=friction)


def identify_elastic(recordings: Sequence[ElasticRecording], model: Arm,
                     options: Options | None = None, way: str = 'steps') -> ElasticArm:
    """Identify an arm with a spring in every joint.

    Args:
        recordings: Motor and joint angles, motor torques.
        model: Nominal arm with its yaml.
        options: For the load side; terms are the viscous friction of the bearings.
        way: 'steps': springs first, then links; 'joint': springs from both sides, then links.
    """
    if way not in WAYS:
        raise UnknownName('way', way, WAYS)
    actuators = identify_actuators(recordings, model)
    both = None
    if way == 'joint':
        both = identify_both_sides(recordings, model, actuators)
        value = dict(zip(both.names, both.values, strict=True))
        found = {term: np.array([value.get(f'{term}{k + 1}', old) for k, old in
                                 enumerate(getattr(actuators, term))]) for term in TERMS}
        actuators = replace(actuators, **found)  # type: ignore[arg-type]
    options = replace(options or Options(), terms=('viscous',))
    springs = actuators.springs()
    links = [r.link_side(spring_torque(r, springs)) for r in recordings]
    nominal = model.replace(armature=np.zeros(model.n))
    return ElasticArm(actuators, identify(links, nominal, options), both)


def spring_torque(recording: ElasticRecording, springs: ElasticJoint) -> Array:
    """Torque on the links from the twist of the springs [Nm], (N, n)."""
    motors, joints = recording.motions(0.499 * recording.rate)      # unfiltered
    band = torque_band(recording.motor_side())
    slow, slow_joints = recording.motions(4.0 * band)
    path = np.eye(recording.q.shape[1]) + springs.coupling
    twist = motors.q - joints.q @ path.T
    rate = slow.dq - slow_joints.dq @ path.T
    return np.asarray((springs.stiffness * twist + springs.damping * rate) @ path)


def identify_both_sides(recordings: Sequence[ElasticRecording], model: Arm,
                        first: Actuators) -> BaseEstimate:
    """Springs, friction and base parameters of the links from both sides' equations."""
    n = model.n
    names = (*(f'{term}{k + 1}' for term in TERMS for k in range(n)), *model.parameter_names,
             *(f'bearing{k + 1}' for k in range(n)))
    path = np.eye(n) + first.coupling
    columns, torques = [], []
    for recording in recordings:
        band = torque_band(recording.motor_side())
        A, y = actuator_columns(recording, _with_coupling(model, first), first.inertia, {},
                                BAND * band)
        _, joints = recording.motions(BAND * band)
        N = len(y)
        Y = model.torque_regressor_batch(joints.q, joints.dq, joints.ddq).reshape(N, n, -1)
        bearing = joints.dq[:, :, None] * np.eye(n)
        spring = A[:, :, :2 * n]                       # stiffness and damping columns
        load = np.concatenate([-np.einsum('kj,tkp->tjp', path, spring),
                               np.zeros((N, n, A.shape[2] - 2 * n)), Y, bearing], axis=2)
        motor = np.concatenate([A, np.zeros((N, n, Y.shape[2] + n))], axis=2)
        columns.append(in_band(np.concatenate([motor, load], axis=1), band, recording.rate))
        torques.append(in_band(np.concatenate([y, np.zeros_like(y)], axis=1), band,
                               recording.rate))
    drives = names[:len(TERMS) * n]
    base = base_parameters(np.concatenate(columns).reshape(-1, len(names)), names,
                           prefer=(*drives, *names[-n:], *regrouped(model.parameter_names)))
    weights = [np.ones_like(y) for y in torques]
    for _ in range(3):
        found = estimate_base(base, columns, torques, weights)
        keep = list(base.independent)
        error = np.concatenate([y - A[:, :, keep] @ found.values
                                for A, y in zip(columns, torques, strict=True)])
        weights = [np.broadcast_to(1.0 / np.mean(error**2, axis=0), y.shape) for y in torques]
    return found


def _with_coupling(model: Arm, first: Actuators) -> ArmConfig:
    """The yaml with the identified ratios of the cables."""
    config = elastic_config(model)
    joints = dict(config.joints)
    for k, (name, joint) in enumerate(config.joints.items()):
        ratio = first.coupling[k][np.flatnonzero(first.coupling[k])]
        if joint.elastic is not None and len(ratio):
            joints[name] = replace(joint, elastic=replace(joint.elastic,
                                                          coupling_ratio=float(ratio[0])))
    return replace(config, joints=joints)
