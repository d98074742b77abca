"""Elastic joints from both sides at once: equations of motors and links, with the springs in both.

Each equation counts in units of its own errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from armsense.identify.elastic.actuators import (
    actuator_columns,
    Actuators,
    elastic_config,
    identify_actuators,
    TERMS,
)
from armsense.identify.elastic.arm import ElasticArm, identify_links
from armsense.identify.elastic.recording import BAND, ElasticRecording, SMOOTHING
from armsense.identify.estimation.base_parameters import (
    base_parameters,
    BaseEstimate,
    estimate_base,
    regrouped,
)
from armsense.identify.estimation.training import Options
from armsense.identify.signals.filters import in_band, torque_band
from armsense.model.arm import Arm
from armsense.model.arm_config import ArmConfig
from armsense.types import Array


def identify_together(recordings: Sequence[ElasticRecording], model: Arm,
                      options: Options | None = None) -> tuple[ElasticArm, BaseEstimate]:
    """Springs from both sides, then links; the estimate of both sides beside it."""
    actuators = identify_actuators(recordings, model)
    both = identify_both_sides(recordings, model, actuators)
    value = dict(zip(both.names, both.values, strict=True))
    found = {term: np.array([value.get(f'{term}{k + 1}', old) for k, old in
                             enumerate(getattr(actuators, term))]) for term in TERMS}
    actuators = replace(actuators, **found)  # type: ignore[arg-type]
    return identify_links(recordings, model, actuators, options), both


def motor_torque(arm: ElasticArm, recording: ElasticRecording, cutoff: float) -> Array:
    """Motor torques that the recorded motion needs, up to `cutoff` [Hz], [Nm], (N, n)."""
    motors, joints = recording.motions(cutoff)
    a = arm.actuators
    spring = arm.links.torque(joints) @ np.linalg.inv(np.eye(len(a.stiffness)) + a.coupling)
    return np.asarray(a.inertia * motors.ddq + a.viscous * motors.dq + a.offset
                      + a.coulomb * np.tanh(motors.dq / SMOOTHING) + spring)


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
        A, y = actuator_columns(recording, _with_coupling(model, first), first.inertia,
                                BAND * band, {}, {})
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
