"""An identified model as `model.yaml`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import nnls

from armsense_core.identify.friction_columns import STATIC
from armsense_core.identify.identified_model import IdentifiedModel
from armsense_core.model.arm_config import FrictionConfig
from armsense_core.model.model_file import DriveParameters, ModelFile, Provenance

SPEEDS = 40    # of the grid on which the friction curve is fitted


def model_file(model: IdentifiedModel, files: Sequence[Path], errors: dict[str, Any]) -> ModelFile:
    """Links, drives and friction for the nodes; richer drive terms become the nearest curve."""
    shown = {name: float(errors[key]) for name, key in
             (('train', 'train_percent'), ('validation', 'validation_percent'))
             if errors.get(key) is not None}
    drives = {}
    coefficients = model.drive_coefficients()
    if 'inertia' in coefficients:
        for k, joint in enumerate(model.model.joint_names):
            inertia = float(max(coefficients['inertia'][k], 0.0))
            drives[joint] = DriveParameters(rotor_inertia=inertia / _gear(model, joint)**2)
    return ModelFile.create(model.model, model.parameters,
                            Provenance.now('physically consistent least squares', files, shown),
                            drives=drives, friction=friction(model))


def _gear(model: IdentifiedModel, joint: str) -> float:
    """Gear ratio of a joint; robots without an arm file have their inertia on the joint side."""
    config = model.model.config
    return config.joints[joint].gear_ratio if config is not None else 1.0


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
