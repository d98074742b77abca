"""Time and feasibility of D-optimal, collision-aware excitations for laas4 and UR10.

    python -m bench.bench_excitation [--seeds 20] [--arms laas4 ur10] [--json]

Each seed is one design with default options on one thread. A design counts as feasible when it
took at most 20 s and an independent check on a fine grid finds no broken limit: positions,
velocities, accelerations, jerks and torques every 2 ms, exact collision shapes every 10 ms. The
UR10 comes from PyPI's `example-robot-data` (installed, or unpacked in $ARMSENSE_ROBOT_DATA).
"""

from __future__ import annotations

import argparse
from dataclasses import replace
import os
import statistics
import sys
import time
from typing import Any, NamedTuple

import numpy as np

from armsense.excite import Constraints, design_excitation, DesignOptions, Excitation
from armsense.model import Arm
from armsense.trajectory import check_motion, Clearance
from bench import ur10
from bench.one_thread import one_thread
from bench.report import emit

ARMS = ('laas4', 'ur10')
TIME_LIMIT = 20.0     # [s] that a design may take


class Case(NamedTuple):
    model: Arm
    constraints: Constraints
    start: np.ndarray


class Run(NamedTuple):
    seconds: float        # wall clock
    cpu_seconds: float    # of this process
    gain: float           # of -log det over the best random guess
    log_det: float
    condition: float
    broken: list[str]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--seeds', type=int, default=20)
    parser.add_argument('--arms', nargs='+', choices=ARMS, default=ARMS)
    parser.add_argument('--json', action='store_true')
    arguments = parser.parse_args()
    one_thread('bench.bench_excitation')
    options, notes = DesignOptions(), []
    runs: dict[str, list[Run]] = {}
    for arm in arguments.arms:
        case = _case(arm, notes)
        if case is not None:
            runs[arm] = [_measure(case, replace(options, seed=seed), f'{arm} {seed}')
                         for seed in range(1, arguments.seeds + 1)]
    notes.append(f'{options.kind}, {options.harmonics} harmonics, 10 s, {options.criterion}, '
                 f'{options.starts} starts, one thread; load average at the end '
                 f'{os.getloadavg()[0]:.1f} on {os.cpu_count()} cores')
    emit('Excitation design', ('arm', 's', 'CPU s', 'slowest s', 'gain', 'log det', 'condition',
                               'feasible'),
         [_row(arm, found) for arm, found in runs.items()], _result(runs), arguments.json, notes)


def _case(arm: str, notes: list[str]) -> Case | None:
    if arm == 'laas4':
        model = Arm.load(arm)
        return Case(model, Constraints.of(model), np.array(model.config.home))
    folder = ur10.find_folder()
    if folder is None:
        notes.append(f'ur10: left out, {ur10.PACKAGE} is not installed '
                     f'(pip install {ur10.PACKAGE}, or set ARMSENSE_ROBOT_DATA)')
        return None
    overhang = ur10.largest_overhang(folder)
    notes.append('ur10: cylinders for links, meshes '
                 + ('absent' if overhang is None else f'stick out by {1e3 * overhang:.1f} mm'))
    model = ur10.load(folder)
    constraints = Constraints.of(model, self_distance=ur10.SELF_DISTANCE)
    limits = replace(constraints.limits, acceleration=np.full(model.n, 0.9 * ur10.ACCELERATION))
    return Case(model, replace(constraints, limits=limits), ur10.HOME)


def _measure(case: Case, options: DesignOptions, label: str) -> Run:
    wall, cpu = time.perf_counter(), time.process_time()
    design = design_excitation(case.model, options, case.constraints, start=case.start)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    quality = design.excitation.quality
    run = Run(wall, cpu, design.first_objective - design.objective, quality.log_det,
              quality.condition_number, _broken(case, design.excitation))
    sys.stderr.write(f'{label}: {wall:.1f} s, CPU {cpu:.1f} s, log det {quality.log_det:.1f}'
                     f'{", " + run.broken[0] if run.broken else ""}\n')
    return run


def _broken(case: Case, excitation: Excitation) -> list[str]:
    motion = excitation.trajectory(1)
    constraints = case.constraints
    shapes = Clearance(case.model, floor=constraints.floor,
                       self_distance=constraints.self_distance)
    return [str(v) for v in (*check_motion(motion, constraints.limits, case.model, step=0.002),
                             *shapes.check(motion, step=0.01))]


def _good(runs: list[Run]) -> int:
    return sum(not run.broken and run.seconds <= TIME_LIMIT for run in runs)


def _median(runs: list[Run], field: str) -> float:
    return statistics.median(getattr(run, field) for run in runs)


def _row(arm: str, runs: list[Run]) -> tuple[Any, ...]:
    return (arm, _median(runs, 'seconds'), _median(runs, 'cpu_seconds'),
            max(run.seconds for run in runs), _median(runs, 'gain'), _median(runs, 'log_det'),
            _median(runs, 'condition'), f'{_good(runs)}/{len(runs)}')


def _result(runs: dict[str, list[Run]]) -> dict[str, Any]:
    """The slower arm's median and the worse arm's count stand for all."""
    arms = {arm: {'seconds': round(_median(found, 'seconds'), 2),
                  'cpu_seconds': round(_median(found, 'cpu_seconds'), 2),
                  'slowest_seconds': round(max(run.seconds for run in found), 2),
                  'gain': round(_median(found, 'gain'), 1),
                  'log_det': round(_median(found, 'log_det'), 1),
                  'condition_number': round(_median(found, 'condition'), 1),
                  'feasible': f'{_good(found)}/{len(found)}'}
            for arm, found in runs.items()}
    worst = min(runs.values(), key=_good) if runs else []
    return {'excitation_s': max((arm['seconds'] for arm in arms.values()), default=None),
            'excitation_feasible': f'{_good(worst)}/{len(worst)}' if worst else None, **arms}


if __name__ == '__main__':
    main()
