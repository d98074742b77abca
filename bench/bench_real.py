"""Held-out torque error on recordings of real robots, in percent.

    python -m bench.bench_real [--data FOLDER] [--only ur10e tx40] [--json]

Each robot is identified from its training part and judged on the rest, with the robot files in
bench/robots and nothing else. The recordings are not part of the repository: they are looked up
in ../shared/data beside it. Errors are pooled over the joints and low-pass filtered unless `raw`
is said.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
import sys
from typing import Any

import numpy as np

from armsense.errors import ArmsenseError
from armsense.identify.payload import identify_payload
from armsense.identify.robot_file import RobotFile
from armsense.jobs.identify_job import pooled, run, Setup
from armsense.recordings.reader import read_recording
from bench.encoder_stiffness import ElasticRobotFile, stiffnesses
from bench.report import emit

ROOT = Path(__file__).resolve().parents[1]
Row = tuple[str, float | None, float | None, str]    # what, error, goal, remark


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or '').splitlines()[0])
    parser.add_argument('--data', type=Path, default=ROOT.parent / 'shared' / 'data')
    parser.add_argument('--only', nargs='+', choices=sorted(ROBOTS), default=sorted(ROBOTS))
    parser.add_argument('--json', action='store_true')
    arguments = parser.parse_args()
    result: dict[str, Any] = {}
    rows: list[Row] = []
    notes = []
    for name in arguments.only:
        folder = arguments.data / name
        if not folder.is_dir():
            notes.append(f'{name}: no recordings in {folder}, skipped')
            result[name] = None
            continue
        try:
            result[name], lines = ROBOTS[name](name, folder)
        except ArmsenseError as error:
            notes.append(f'{name}: {error}')
            result[name] = None
            continue
        rows += lines
    emit('Real robots, held-out torque error', ('recording', 'error %', 'goal %', ''), rows,
         result, arguments.json, notes)
    return 0 if all(value is not None for value in result.values()) else 1


def _robot(name: str) -> RobotFile:
    return RobotFile.read(ROOT / 'bench' / 'robots' / f'{name}.yaml')


def _remark(report: dict[str, Any]) -> str:
    factors = report['mass_factors']
    cost = report['train_percent'] - report['unconstrained_train_percent']
    return (f'{report["seconds"]:.1f} s, consistent {report["feasible"]} (+{cost:.2f}), masses '
            f'{min(factors):.2f}-{max(factors):.2f} of URDF')


def split(name: str, folder: Path, goal: float) -> tuple[dict[str, Any], list[Row]]:
    """One recording, training and validation windows."""
    report = run(Setup.of_robot(_robot(name), folder), [folder]).result
    return report, [(name, report['validation_percent'], goal, _remark(report))]


def panda_gaz2019(name: str, folder: Path) -> tuple[Any, list[Row]]:
    report, rows = split(name, folder, 0.85)
    rows.append((f'{name} raw', report['validation_raw_percent'], 2.5, ''))
    return {'filtered': _two(report['validation_percent']),
            'raw': _two(report['validation_raw_percent'])}, rows


def single(goal: float) -> Callable[[str, Path], tuple[Any, list[Row]]]:
    def measure(name: str, folder: Path) -> tuple[Any, list[Row]]:
        report, rows = split(name, folder, goal)
        return _two(report['validation_percent']), rows
    return measure


def ur10e(name: str, folder: Path) -> tuple[Any, list[Row]]:
    robot = _robot(name)
    data = folder / 'ur-20_02_10-30sec_12harm.csv'
    setup = Setup.of_robot(robot, data)
    job = run(setup, [data])
    model, report = job.model, job.result
    errors: dict[str, dict[str, Any]] = {}
    unseen = {'40s': '*40sec*', '50s': '*50sec*', '20s': '*20sec*', 'ptp': '*ptp*'}
    for key, pattern in unseen.items():
        recording, _ = read_recording(next(folder.glob(pattern)), setup.origin)
        errors[key] = pooled(model, robot.validation(recording, False))
    result: dict[str, Any] = {key: _two(error['validation_percent'])
                              for key, error in errors.items()}
    joints = [np.mean(errors[key]['validation_joint_percent']) for key in ('40s', '50s')]
    result['mean_joint'] = _two(float(np.mean(joints)))
    pair = (folder / f'ur-20_01_31-{which}.csv' for which in ('load', 'unload'))
    loaded, empty = (_moving(read_recording(path, setup.origin)[0]) for path in pair)
    payload = identify_payload(model, loaded, empty)
    result['payload_kg'] = [round(x, 2) for x in (payload.mass, *payload.interval)]
    mean = 0.5 * (result['40s'] + result['50s'])
    return result, [
        (f'{name} 40 s and 50 s', mean, 3.3, _remark(report)),
        (f'{name} mean over joints', result['mean_joint'], 5.5, '40 s and 50 s'),
        (f'{name} point to point', result['ptp'], 4.9, f'20 s: {result["20s"]:.2f} %'),
        (f'{name} payload', None, None,
         f'{payload.mass:.2f} kg, 95 % in {payload.interval[0]:.2f} to {payload.interval[1]:.2f}')]


def _moving(recording: Any) -> Any:
    """Without the rest before and after the motion."""
    moving = np.flatnonzero(np.abs(recording.dq).max(axis=1) > 0.01)
    return recording.rows(int(moving[0]), int(moving[-1]))


def kr300_flex(name: str, folder: Path) -> tuple[Any, list[Row]]:
    robot = ElasticRobotFile.read(ROOT / 'bench' / 'robots' / f'{name}.yaml')
    axes = stiffnesses(sorted(folder.glob('*.mat')), robot)
    spread = max(axis.spread_percent for axis in axes)
    rows: list[Row] = [
        (f'{name} axis {k + 1}', axis.spread_percent, 10.0,
         f'{axis.value / 1e6:.2f} MNm/rad, 95 % in {axis.interval[0] / 1e6:.2f} to '
         f'{axis.interval[1] / 1e6:.2f}; spread over three runs') for k, axis in enumerate(axes)]
    intervals = [[float(f'{x:.4g}') for x in axis.interval] for axis in axes]
    return {'stiffness_spread_percent': _two(spread),
            'stiffness_Nm_per_rad': [float(f'{axis.value:.4g}') for axis in axes],
            'interval_Nm_per_rad': intervals}, rows


def _two(value: float) -> float:
    return round(float(value), 3)


ROBOTS: dict[str, Callable[[str, Path], tuple[Any, list[Row]]]] = {
    'ur10e': ur10e, 'panda_gaz2019': panda_gaz2019, 'panda_rosbag': single(1.8),
    'ur10_rosbag': single(7.0), 'tx40': single(13.0), 'kr300_flex': kr300_flex}


if __name__ == '__main__':
    sys.exit(main())
