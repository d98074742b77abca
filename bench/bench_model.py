"""Cost of the batch regressor against the bare Pinocchio calls it needs.

    python -m bench.bench_model [--arm laas4] [--samples 20000] [--json]

Both run in turn, several times; the ratio is that of the medians, so that a busy machine hits both
alike.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
import statistics
import time

import numpy as np
import pinocchio as pin

from armsense.model import Arm
from bench.report import emit


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--arm', default='laas4')
    parser.add_argument('--samples', type=int, default=20_000)
    parser.add_argument('--repeat', type=int, default=11)
    parser.add_argument('--json', action='store_true')
    arguments = parser.parse_args()
    bare, ours = measure(Arm.load(arguments.arm), arguments.samples, arguments.repeat)
    emit(f'Batch regressor: {arguments.arm}, {arguments.samples} samples',
         ('', 'ms', 'ratio'),
         [('bare Pinocchio calls', bare * 1e3, 1.0), ('batch', ours * 1e3, ours / bare)],
         {'regressor_ratio': round(ours / bare, 3), 'samples': arguments.samples,
          'arm': arguments.arm}, arguments.json)


def measure(model: Arm, samples: int, repeat: int) -> tuple[float, float]:
    """Median seconds of the bare calls and of the batch."""
    q, dq, ddq = np.random.default_rng(0).uniform(-1.0, 1.0, (3, samples, model.n))
    inner, data = model._model, model._data

    def bare() -> None:
        regressor = pin.computeJointTorqueRegressor
        for a, b, c in zip(q, dq, ddq, strict=True):
            regressor(inner, data, a, b, c)

    def batch() -> None:
        model.torque_regressor_batch(q, dq, ddq)

    times: list[tuple[float, float]] = [(_seconds(bare), _seconds(batch)) for _ in range(repeat)]
    return (statistics.median(t[0] for t in times), statistics.median(t[1] for t in times))


def _seconds(run: Callable[[], None]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


if __name__ == '__main__':
    main()
