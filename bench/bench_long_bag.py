"""Identification from a long bag: memory and time.

    python -m bench.bench_long_bag [--minutes 60] [--rate 1000] [--json]

A bag of joint states of the arm `seven` is written, read and identified in this process; the peak
of its resident memory counts everything, the interpreter included.
"""

from __future__ import annotations

import argparse
from pathlib import Path
import resource
import sys
import tempfile
import time

import numpy as np
from rich.console import Console

from armsense.identify.identify import identify, Options
from armsense.identify.robot_file import SourceConfig
from armsense.identify.signals.recording import Recording
from armsense.model import Arm
from armsense.recordings.bag_reader import read_bag
from armsense.types import Array
from bench.long_bag import write_long_bag
from bench.report import emit
from bench.synthetic import fourier_motion

GOAL_MB = 2000.0
NOISE = 0.2          # [Nm]
PERIOD = 30.0        # [s]; each period is another motion


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or '').splitlines()[0])
    parser.add_argument('--minutes', type=float, default=60.0)
    parser.add_argument('--rate', type=float, default=1000.0)
    parser.add_argument('--json', action='store_true')
    arguments = parser.parse_args()
    nominal = Arm.load('seven').replace(armature=np.zeros(7))
    true = nominal.replace(parameters=1.15 * nominal.parameters)
    console = Console(stderr=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / 'long.db3'
        count = write_long_bag(path, nominal.joint_names, 60.0 * arguments.minutes,
                               arguments.rate, lambda t: _sample(true, t))
        size = path.stat().st_size / 1e6
        start = time.perf_counter()
        with console.status('reading') as status:
            signals = read_bag(path, SourceConfig(), nominal.joint_names,
                               lambda share: status.update(f'reading {100.0 * share:.0f} %'))
            read = time.perf_counter() - start
            recording = Recording(signals.t, signals.position, signals.effort, signals.velocity,
                                  signals.name)
            found = identify([recording], nominal, Options(gravity=nominal.gravity),
                             lambda step, share: status.update(f'{step} {100.0 * share:.0f} %'))
    total = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    result = {'minutes': arguments.minutes, 'messages': count, 'bag_mb': round(size, 1),
              'peak_mb': round(peak, 1), 'read_s': round(read, 1), 'total_s': round(total, 1),
              'train_percent': round(found.train.percent, 3), 'feasible': found.feasible,
              'largest_mass_error_percent':
                  round(100.0 * float(np.abs(found.masses / true.masses - 1.0).max()), 2)}
    emit('A long bag', ('what', 'value', 'goal', ''),
         [('peak memory [MB]', peak, GOAL_MB, f'{count} messages, {size:.0f} MB'),
          ('reading [s]', read, None, ''), ('in all [s]', total, None, ''),
          ('training error [%]', found.train.percent, None, f'consistent {found.feasible}')],
         result, arguments.json, list(found.notes))
    return 0 if peak <= GOAL_MB else 1


def _sample(arm: Arm, t: Array) -> tuple[Array, Array, Array]:
    """Motion and torques, a new Fourier series in every period."""
    parts = []
    for number in np.unique(t // PERIOD).astype(int):
        own = t[t // PERIOD == number]
        parts.append(fourier_motion(arm, own, 1000 + number, PERIOD))
    q, dq, ddq = (np.concatenate(part) for part in zip(*parts, strict=True))
    tau = arm.inverse_dynamics_batch(q, dq, ddq) + 0.5 * dq + 1.0 * np.tanh(dq / 0.01)
    rng = np.random.default_rng(int(1000.0 * t[0]))
    return q, dq, tau + NOISE * rng.standard_normal(q.shape)


if __name__ == '__main__':
    sys.exit(main())
