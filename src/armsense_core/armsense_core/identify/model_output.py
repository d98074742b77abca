"""An identified model as `model.yaml`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import nnls

from armsense_core.identify.friction_columns import STATIC
from armsense_core.identify.identified_model import IdentifiedModel
from armsense_core.model.arm_config import FrictionConfig
from armsense_core.model.model_file import DriveParameters, ModelFile, Provenance

SPEEDS = 40    # of the grid on which the friction curve is fitted


def model_file(model: IdentifiedModel, files: Sequence[Path], errors: dict[str, Any],
               gears: Mapping[str, float] | None = None) -> ModelFile:
    """Links, drives and friction for the nodes; richer drive terms become the nearest curve.

    Args:
        model: What was identified.
        files: What it rests on.
        errors: Torque errors [%] as the command reports them.
        gears: Gear ratio of each joint; None: rotor inertias are those of the joint side.
    """
    shown = {name: float(errors[key]) for name, key in
             (('train', 'train_percent'), ('validation', 'validation_percent'))
             if errors.get(key) is not None}
    drives = {}
    coefficients = model.drive_coefficients()
    if 'inertia' in coefficients:
        for k, joint in enumerate(model.model.joint_names):
            inertia = float(max(coefficients['inertia'][k], 0.0))
            gear = (gears or {}).get(joint, 1.0)
            drives[joint] = DriveParameters(rotor_inertia=inertia / gear**2)
    return ModelFile.create(model.model, model.parameters,
                            Provenance.now('physically consistent least squares', files, shown),
                            drives=drives, friction=friction(model))


def friction(model: IdentifiedModel, top_speed: float = 2.0) -> dict[str, FrictionConfig]:
    """Viscous, Coulomb and Stribeck friction nearest to the identified curves, by joint."""
    v = np.linspace(0.02, 1.0, SPEEDS) * top_speed                       # [rad/s]
    shape = np.exp(-np.square(v / model.drive.stribeck_velocity))
    out = {}
    for k, joint in enumerate(model.model.joint_names):
        curve = np.zeros(SPEEDS)
        offset = 0.0
        for term, values in model.drive_coefficients().items():
            if term in STATIC:
                curve += values[k] * model.drive.characteristic(term, v, v, v)
            elif term == 'offset':
                offset = float(values[k])
        viscous, coulomb, stribeck = nnls(np.stack([v, np.ones_like(v), shape], axis=1), curve)[0]
        out[joint] = FrictionConfig(
            viscous=float(viscous), coulomb=float(coulomb), stribeck=float(stribeck),
            stribeck_velocity=model.drive.stribeck_velocity, smoothing=model.drive.smoothing,
            asymmetry=offset)
    return out
