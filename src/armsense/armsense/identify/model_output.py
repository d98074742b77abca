"""An identified model as `model.yaml`, term by term, and the torques that such a file predicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from armsense.drive.friction import FrictionModel
from armsense.identify.identified_model import IdentifiedModel
from armsense.identify.ripple import Line, ripple_columns
from armsense.model.arm_model import ArmModel
from armsense.model.model_file import (
    Covariance,
    DriveParameters,
    IdentifiedCoupling,
    IdentifiedFriction,
    ModelFile,
    Provenance,
    RippleLine,
    Timing,
)
from armsense.types import Array

FIELDS = {'offset': 'asymmetry'}    # of the friction block, where they differ from the term


def model_file(model: IdentifiedModel, files: Sequence[Path], errors: dict[str, Any],
               gears: Mapping[str, float] | None = None) -> ModelFile:
    """The model file of what was identified.

    Nodes use links, drives, friction (that of coupled shafts too) and gravity. Timing, ripples and
    the inertia of coupled shafts are for `file_torque` alone: no observer or law knows them.

    Args:
        model: What was identified.
        files: What it rests on.
        errors: Torque errors [%] as the command reports them.
        gears: Gear ratio of each joint; None: rotor inertias are those of the joint side.
    """
    shown = {name: float(errors[key]) for name, key in
             (('train', 'train_percent'), ('validation', 'validation_percent'))
             if errors.get(key) is not None}
    joints = model.model.joint_names
    # Where no rotor was identified, its inertia is part of the links: the file must say zero.
    inertia = _coefficients(model, 'inertia')
    drives = {joint: DriveParameters(rotor_inertia=max(float(J), 0.0)
                                     / (1.0 if gears is None else gears[joint])**2)
              for joint, J in zip(joints, inertia, strict=False)
              if gears is None or joint in gears}
    blocks = _friction_blocks(model)
    couplings = tuple(
        IdentifiedCoupling(ratios=tuple(map(float, ratios)), inertia=max(float(J), 0.0),
                           friction=block)
        for ratios, J, block in zip(model.drive.axes[model.model.n:], inertia[model.model.n:],
                                    blocks[model.model.n:], strict=True))
    return ModelFile.create(
        model.model, model.parameters,
        Provenance.now(method(model), files, shown),
        drives=drives, friction=dict(zip(joints, blocks, strict=False)), couplings=couplings,
        gravity=tuple(map(float, model.gravity)),
        timing=Timing(torque_delay=model.torque_delay, velocity_delay=model.velocity_delay),
        ripples=tuple(RippleLine(joint=joints[r.line.torque], angle_of=joints[r.line.source],
                                 waves=r.line.waves,
                                 coefficients=tuple(map(float, r.coefficients)))
                      for r in model.ripples),
        covariance=_covariance(model))


def method(model: IdentifiedModel) -> str:
    """How the parameters were estimated, in words."""
    if model.estimator == 'consistent':
        return 'physically consistent least squares'
    return f'{model.estimator}, then the nearest links that can exist'


def file_torque(file: ModelFile, nominal: ArmModel, q: Array, dq: Array, ddq: Array) -> Array:
    """Motor torques of a motion by an arm with this file, without delays [Nm], (N, n)."""
    arm = file.apply(nominal)
    link = arm.inverse_dynamics_batch(q, dq, ddq)
    for coupling in file.couplings:
        s = np.array(coupling.ratios)
        link += coupling.inertia * np.outer(ddq @ s, s)
    torque = link + file_friction(file, nominal.joint_names).torque(dq, link)
    for ripple in file.ripples:
        joint, source = (arm.joint_names.index(x) for x in (ripple.joint, ripple.angle_of))
        line = Line(joint, source, ripple.waves, len(ripple.coefficients) // 2 - 1)
        torque[:, joint] += ripple_columns(q, dq, line) @ np.array(ripple.coefficients)
    return np.asarray(torque)


def file_friction(file: ModelFile, joint_names: Sequence[str]) -> FrictionModel:
    """Friction of a model file alone, with its coupled shafts."""
    blocks = [file.friction.get(name, IdentifiedFriction()) for name in joint_names]
    if not file.couplings:
        return FrictionModel.from_joints(blocks)
    axes = np.vstack([np.eye(len(blocks)), [c.ratios for c in file.couplings]])
    return FrictionModel.from_joints([*blocks, *(c.friction for c in file.couplings)], axes)


def _coefficients(model: IdentifiedModel, term: str) -> Array:
    """Of one term by drive axis; zero where the model does without."""
    found = model.drive_coefficients()
    return found[term] if term in found else np.zeros(len(model.drive.axes))


def _friction_blocks(model: IdentifiedModel) -> list[IdentifiedFriction]:
    """One per drive axis."""
    terms = {FIELDS.get(term, term): values
             for term, values in model.drive_coefficients().items() if term != 'inertia'}
    return [IdentifiedFriction(stribeck_velocity=model.drive.stribeck_velocity,
                               smoothing=model.drive.smoothing,
                               **{name: float(values[k]) for name, values in terms.items()})
            for k in range(len(model.drive.axes))]


def _covariance(model: IdentifiedModel) -> Covariance | None:
    if model.base is None:
        return None
    return Covariance(names=model.base.names,
                      matrix=tuple(tuple(map(float, row)) for row in model.base.covariance))
