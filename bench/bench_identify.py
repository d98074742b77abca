"""Identification: bag to model, conic program against general methods, FIGAROH, excitation.

    python -m bench.bench_identify [--parts bag sdp figaroh excitation] [--seeds 20] [--json]

bag: 20 s at 1 kHz of the simulated laas4, written as a bag, read, identified; best of three.
sdp: the semidefinite program on that recording (80,000 x 48) against SLSQP from many starts and
simulated annealing, same cost and constraints; and the program's share in every real recording.
figaroh: the same work by FIGAROH from PyPI, in an environment of its own under out/, with results
that must agree: the regressor, base parameters, and a TX40 from its files to base parameters.
excitation: see `bench excitation`.

One BLAS thread throughout. Ratios are of processor time. Real recordings are looked up in
../shared/data beside the repository, or where --data or ARMSENSE_DATA says.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
import shutil
import subprocess
import sys
import time
from typing import Any

import numpy as np

from armsense.errors import ArmsenseError
from armsense.identify.estimation.feasible import link_bounds, solve_feasible
from armsense.identify.robot_file import RobotFile
from armsense.jobs.identify_job import run, Setup
from bench.figaroh_comparison import (
    best,
    compare_base,
    compare_regressor,
    compare_tx40,
    Compared,
    Figaroh,
)
from bench.identify_bag import write_bag
from bench.one_thread import one_thread
from bench.papers.comparison_annealing import solve_annealing
from bench.papers.comparison_slsqp import ComparisonProblem, solve_slsqp, TOLERANCE
from bench.papers.thesis_004_model import Data, record, regressor
from bench.report import emit

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / 'out' / 'bench_identify'
PARTS = ('bag', 'sdp', 'figaroh', 'excitation')
KEYS = ('bag_to_model_s', 'sdp_s', 'sdp_vs_slsqp', 'regressor_vs_figaroh', 'base_vs_figaroh',
        'tx40_vs_figaroh', 'excitation_s', 'excitation_feasible')
# Robots with one recording or several of one kind, and the files to train with.
RECORDINGS = {'ur10e': '*30sec*', 'panda_gaz2019': '', 'panda_rosbag': '', 'ur10_rosbag': '',
              'tx40': ''}
REPEATS, STARTS = 3, 10
Row = tuple[Any, ...]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--parts', nargs='+', choices=PARTS, default=list(PARTS))
    parser.add_argument('--seeds', type=int, default=20, help='of the excitation part')
    parser.add_argument('--data', type=Path, default=Path(
        os.environ.get('ARMSENSE_DATA', ROOT.parent / 'shared' / 'data')))
    parser.add_argument('--json', action='store_true')
    arguments = parser.parse_args()
    one_thread('bench.bench_identify')
    result: dict[str, Any] = dict.fromkeys(KEYS)
    rows: list[Row] = []
    notes: list[str] = []
    data = record() if {'bag', 'sdp'} & set(arguments.parts) else None
    if 'bag' in arguments.parts and data is not None:
        measure_bag(data, result, rows)
    if 'sdp' in arguments.parts and data is not None:
        measure_sdp(data, arguments.data, result, rows, notes)
    if 'figaroh' in arguments.parts:
        measure_figaroh(arguments.data, result, rows, notes)
    if 'excitation' in arguments.parts:
        measure_excitation(arguments.seeds, result, rows)
    notes.append(f'load average at the end {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores')
    emit('Identification', ('what', 'here', 'goal', 'remark'), rows, result, arguments.json, notes)
    return 0


def measure_bag(data: Data, result: dict[str, Any], rows: list[Row]) -> None:
    """Bag on disk to a consistent model."""
    shutil.rmtree(OUT / 'bag', ignore_errors=True)
    bag = write_bag(OUT / 'bag', data.identification)
    wall, cpu = [], []
    for _ in range(REPEATS):
        clock = time.perf_counter(), time.process_time()
        report = run(Setup.of_arm('laas4'), [bag]).result
        wall.append(time.perf_counter() - clock[0])
        cpu.append(time.process_time() - clock[1])
    result |= {'bag_to_model_s': round(min(wall), 3), 'bag_to_model_cpu_s': round(min(cpu), 3)}
    rows += [('bag to model, 20 s at 1 kHz, 4 joints [s]', min(wall), '<= 3',
              f'error {report["train_percent"]:.2f} %, consistent {report["feasible"]}'),
             ('the same, processor [s]', min(cpu), '', '')]


def measure_sdp(data: Data, folder: Path, result: dict[str, Any], rows: list[Row],
                notes: list[str]) -> None:
    """The conic program against general methods, and in every real recording."""
    W, tau = regressor(data.nominal, data.identification), data.identification.tau.ravel()
    given: Any = (W.T @ W, W.T @ tau, data.nominal.parameters, link_bounds(data.nominal),
             np.arange(40, 48))
    sdp, theta = best(lambda: solve_feasible(*given))
    cost = float(theta @ given[0] @ theta - 2.0 * given[1] @ theta)
    problem = ComparisonProblem(*given)
    ratios = []
    for name, method in (('SLSQP', lambda: solve_slsqp(problem, STARTS)),
                         ('annealing', lambda: solve_annealing(problem))):
        start = time.process_time()
        found = method()
        took = time.process_time() - start
        lower = cost <= found.cost + 1e-6 * abs(cost) or found.violation > TOLERANCE
        ratios.append(took / sdp if lower else 0.0)
        rows.append((f'{name} over semidefinite program [times]', took / sdp, '>= 100',
                     f'{took:.2f} s, cost {found.cost - cost:+.3g} above'))
    seconds = {'laas4': sdp, **sdp_seconds(folder, notes)}
    result |= {'sdp_s': round(max(seconds.values()), 4), 'sdp_vs_slsqp': round(min(ratios), 1),
               'sdp_by_recording_s': {k: round(v, 4) for k, v in seconds.items()}}
    rows.append(('semidefinite program, slowest recording [s]', max(seconds.values()), '<= 0.5',
                 ', '.join(f'{k} {v:.3f}' for k, v in seconds.items())))


def sdp_seconds(folder: Path, notes: list[str]) -> dict[str, float]:
    """Seconds of the last, consistent fit in every real recording."""
    found = {}
    for name, pattern in RECORDINGS.items():
        place = folder / name
        if not place.is_dir():
            notes.append(f'{name}: no recordings in {place}, left out')
            continue
        robot = RobotFile.read(ROOT / 'bench' / 'robots' / f'{name}.yaml')
        files = sorted(place.glob(pattern)) if pattern else [place]
        try:
            report = run(Setup.of_robot(robot, files[0]), files[:1]).result
            found[name] = float(report['step_seconds']['consistent model'])
        except ArmsenseError as error:
            notes.append(f'{name}: {error}')
    return found


def measure_figaroh(folder: Path, result: dict[str, Any], rows: list[Row],
                    notes: list[str]) -> None:
    """FIGAROH on the same data; nulls where it is not installed."""
    figaroh = Figaroh(ROOT / 'out' / 'figaroh')
    problem = figaroh.install()
    if problem:
        notes.append(problem)
        return
    jobs: dict[str, tuple[str, float, Any]] = {
        'regressor_vs_figaroh': ('regressor', 4, lambda: compare_regressor(figaroh)),
        'base_vs_figaroh': ('base parameters', 50, lambda: compare_base(figaroh))}
    place = folder / 'tx40'
    if place.is_dir():
        robot = RobotFile.read(ROOT / 'bench' / 'robots' / 'tx40.yaml')
        jobs['tx40_vs_figaroh'] = ('TX40, files to base parameters', 10,
                                   lambda: compare_tx40(figaroh, place, robot))
    else:
        notes.append(f'tx40: no recordings in {place}, left out')
    for key, (name, goal, job) in jobs.items():
        found: Compared = job()
        result[key] = round(found.ratio, 1)
        agree = 'same result' if found.agree else 'RESULTS DIFFER'
        rows.append((f'{name} against FIGAROH [times faster]', found.ratio, f'>= {goal}',
                     f'{found.theirs:.3f} s and {found.ours:.3f} s; {agree}; {found.remark}'))


def measure_excitation(seeds: int, result: dict[str, Any], rows: list[Row]) -> None:
    """The excitation benchmark, in a process of its own."""
    command = [sys.executable, '-m', 'bench.bench_excitation', '--seeds', str(seeds), '--json']
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT)
    found = json.loads(done.stdout.splitlines()[-1])
    result |= {key: found[key] for key in ('excitation_s', 'excitation_feasible')}
    rows += [('excitation, slower arm, median [s]', found['excitation_s'], '<= 20', ''),
             ('excitation, feasible', found['excitation_feasible'], '19/20', '')]


if __name__ == '__main__':
    sys.exit(main())
