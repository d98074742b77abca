"""Identify a robot's dynamics: recording in, model out.

For example:

    identify BAG|CSV... --robot ROBOT.yaml --out model.yaml [--validate FILE...] [--json]
    identify BAG --arm laas4 --out model.yaml
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
import json
from pathlib import Path
import sys
import time
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from armsense_core.errors import ArmsenseError
from armsense_core.identify.identified_model import IdentifiedModel
from armsense_core.identify.identify import identify
from armsense_core.identify.model_output import model_file
from armsense_core.identify.recording import Recording
from armsense_core.identify.robot_file import RobotFile, SourceConfig
from armsense_core.model.arm_config import ArmConfig
from armsense_identification.reader import read_recording


def parser() -> argparse.ArgumentParser:
    out = argparse.ArgumentParser(prog='armsense identify',
                                  description=(__doc__ or '').splitlines()[0])
    out.add_argument('data', nargs='+', type=Path, help='bags, csv files or folders to train with')
    which = out.add_mutually_exclusive_group(required=True)
    which.add_argument('--robot', type=Path, help='robot file (yaml) of a robot of your own')
    which.add_argument('--arm', help='an arm of this repository, by name')
    out.add_argument('--out', type=Path, help='model file to write (yaml)')
    out.add_argument('--validate', nargs='+', type=Path, default=[], help='other recordings')
    out.add_argument('--json', action='store_true', help='one JSON object as the last line')
    return out


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; errors are one line."""
    options = parser().parse_args(arguments)
    try:
        robot = RobotFile.read(options.robot) if options.robot else arm_robot(options.arm)
        model, result = run(robot, options.data, options.validate)
        if options.out:
            gears = arm_gears(options.arm) if options.arm else None
            model_file(model, options.data, result, gears).write(options.out)
    except ArmsenseError as error:
        print(f'identify: {error}', file=sys.stderr)
        return 1
    _show(model, result, sys.stderr if options.json else sys.stdout)
    if options.json:
        print(json.dumps(result))
    return 0


def arm_robot(arm: str) -> RobotFile:
    """Robot file of an arm of this repository."""
    config = ArmConfig.load(arm)
    return RobotFile(robot=config.arm, urdf=config.urdf, joints=tuple(config.joints),
                     source=SourceConfig(topic='/motor_states'), gravity=config.gravity,
                     folder=str(config.folder or ''))


def arm_gears(arm: str) -> dict[str, float]:
    """Gear ratios of an arm of this repository."""
    return {name: joint.gear_ratio for name, joint in ArmConfig.load(arm).joints.items()}


def run(robot: RobotFile, data: Sequence[Path], validate: Sequence[Path] = (),
        ) -> tuple[IdentifiedModel, dict[str, Any]]:
    """Identify and validate; the result as plain data."""
    start = time.perf_counter()
    notes: list[str] = []

    def read(path: Path) -> Recording:
        recording, remarks = read_recording(path, robot)
        notes.extend(remarks)
        return recording

    recordings = [read(path) for path in data]
    training = [part for recording in recordings for part in robot.training(recording)]
    model = identify(training, robot.model(data[0]), robot.options())
    unseen = [part for path in validate for part in robot.validation(read(path), False)]
    if not validate and robot.windows.validate:
        unseen = [part for recording in recordings for part in robot.validation(recording, True)]
    return model, report(model, unseen, notes, time.perf_counter() - start)


def report(model: IdentifiedModel, unseen: Sequence[Recording], notes: Sequence[str],
           seconds: float) -> dict[str, Any]:
    """What programs read."""
    joints = model.model.joint_names
    result: dict[str, Any] = {
        'train_percent': _round(model.train.percent),
        'validation_percent': None,
        'cross_validated_percent': _round(model.cross_validated_percent),
        'unconstrained_train_percent': _round(model.unconstrained_percent),
        'gravity': [_round(g) for g in model.gravity],
        'masses_kg': dict(zip(model.model.link_names, map(_round, model.masses), strict=True)),
        'mass_factors': [_round(f) for f in model.mass_factors],
        'feasible': model.feasible,
        'seconds': _round(seconds),
        'cutoff_hz': _round(model.cutoff),
        'motion_cutoff_hz': _round(model.motion_cutoff),
        'velocity': model.velocity,
        'delays_ms': {'velocity': _round(1e3 * model.velocity_delay),
                      'torque': _round(1e3 * model.torque_delay)},
        'drive': {term: [_round(c) for c in values]
                  for term, values in model.drive_coefficients().items()},
        'smoothing': model.drive.smoothing,
        'ripple': [{'joint': joints[r.line.torque], 'with': joints[r.line.source],
                    'waves_per_turn': _round(2.0 * np.pi * r.line.waves)} for r in model.ripples],
        'kept_nominal': list(model.kept),
        'notes': [*notes, *model.notes],
        'step_seconds': model.seconds}
    if unseen:
        result |= pooled(model, unseen)
    return result


def pooled(model: IdentifiedModel, recordings: Sequence[Recording]) -> dict[str, Any]:
    """Errors over several recordings together."""
    filtered, raw = [], []
    for recording in recordings:
        prediction = model.predict(recording)
        filtered.append(prediction.band(model.cutoff))
        raw.append((prediction.measured, prediction.predicted))

    def percent(pairs: list[tuple[Any, Any]]) -> Any:
        error = sum(np.sum(np.square(m - p), axis=0) for m, p in pairs)
        power = sum(np.sum(np.square(m), axis=0) for m, _ in pairs)
        return error, power

    error, power = percent(filtered)
    error_raw, power_raw = percent(raw)
    return {'validation_percent': _round(100.0 * np.sqrt(error.sum() / power.sum())),
            'validation_joint_percent': [_round(x) for x in 100.0 * np.sqrt(error / power)],
            'validation_raw_percent': _round(100.0 * np.sqrt(error_raw.sum() / power_raw.sum()))}


def _show(model: IdentifiedModel, result: dict[str, Any], stream: Any) -> None:
    console = Console(file=stream, highlight=False)
    table = Table(title=f'{model.model.name}: torque error up to {model.cutoff:.1f} Hz')
    for heading in ('joint', 'train %', 'validation %', 'mass [kg]', 'over URDF'):
        table.add_column(heading, justify='left' if heading == 'joint' else 'right')
    unseen = result.get('validation_joint_percent') or [None] * model.model.n
    for name, train, other, mass, factor in zip(
            model.model.joint_names, model.train.joint_percent, unseen, model.masses,
            model.mass_factors, strict=True):
        table.add_row(name, f'{train:.2f}', '-' if other is None else f'{other:.2f}',
                      f'{mass:.3f}', f'{factor:.2f}')
    total = result['validation_percent']
    table.add_row('all', f'{model.train.percent:.2f}', '-' if total is None else f'{total:.2f}',
                  f'{model.masses.sum():.3f}', '')
    console.print(table)
    console.print(f'gravity {np.round(model.gravity, 3).tolist()} m/s^2; drive terms '
                  f'{", ".join(model.drive.terms)}; physically consistent: {model.feasible}')
    for note in result['notes']:
        console.print(f'note: {note}')


def _round(value: float) -> float:
    return float(f'{float(value):.6g}')


if __name__ == '__main__':
    sys.exit(main())
