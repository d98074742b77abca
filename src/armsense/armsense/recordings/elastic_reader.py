"""Runs with encoders on both sides of the gears, from MATLAB files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import io

from armsense import schema
from armsense.errors import ArmsenseError, BadValue, UnknownName
from armsense.identify.elasticity import EncoderRun, identify_stiffness, Stiffness
from armsense.schema import quantity


@dataclass(frozen=True, kw_only=True)
class ElasticRobotFile:
    """Where the signals stand, and what the data sheet says of the drives."""

    robot: str
    structure: str
    motor_angle: str
    link_angle: str
    motor_torque: str
    rate: float = quantity(unit='Hz', above=0)
    gear_ratios: tuple[float, ...] = quantity(above=0)
    rotor_inertias: tuple[float, ...] = quantity(unit='kg m^2', low=0)

    @classmethod
    def read(cls, path: str | Path) -> ElasticRobotFile:
        path = Path(path)
        robot = schema.load(cls, schema.read_yaml(path), path.name)
        if len(robot.rotor_inertias) != len(robot.gear_ratios):
            raise BadValue(f'{path.name}: number of rotor inertias', len(robot.rotor_inertias),
                           f'{len(robot.gear_ratios)}, one per gear ratio')
        return robot


def read_runs(path: Path, robot: ElasticRobotFile) -> list[EncoderRun]:
    """One run of every axis."""
    try:
        content = io.loadmat(path, squeeze_me=True, struct_as_record=False)
    except (OSError, ValueError, TypeError) as error:
        raise ArmsenseError(f'cannot read {path}: {error}') from error
    if robot.structure not in content:
        known = [key for key in content if not key.startswith('_')]
        raise UnknownName('structure', robot.structure, known, path.name)
    record: Any = content[robot.structure]
    signals = []
    for name in (robot.motor_angle, robot.link_angle, robot.motor_torque):
        if not hasattr(record, name):
            raise UnknownName('field', name, record._fieldnames, path.name)
        signals.append(np.asarray(getattr(record, name), float))
    motor, link, torque = signals
    return [EncoderRun(np.deg2rad(motor[k]), np.deg2rad(link[k]), u * torque[k], robot.rate)
            for k, u in enumerate(robot.gear_ratios)]


def stiffnesses(files: Sequence[Path], robot: ElasticRobotFile) -> list[Stiffness]:
    """Stiffness of every axis over all runs."""
    runs = [read_runs(path, robot) for path in files]
    return [identify_stiffness([run[k] for run in runs], J * u * u)
            for k, (u, J) in enumerate(zip(robot.gear_ratios, robot.rotor_inertias, strict=True))]
