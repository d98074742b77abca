"""The collision observer as it runs: cost of a step, speed of a replay, delay to the event.

    python -m bench.bench_observer [--arm laas4] [--seconds 6] [--live] [--json]

`--live` starts the real nodes in real time and measures from the stamp of the state that decided
to the stamp of the publication; without it that figure is null. The machine should be idle.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

from armsense.model import Arm
from armsense.sim.campaign.free_motion import record_free
from armsense.sim.campaign.individual import Individual, Recorder, Variation
from armsense.watch import Tape, watch
from armsense.watch.collision_monitor import CollisionMonitor
from bench.bench_observer_step import measure
from bench.live_arm import run_live
from bench.report import emit

REPEAT = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or '').splitlines()[0])
    parser.add_argument('--arm', default='laas4')
    parser.add_argument('--seconds', type=float, default=6.0, help='of motion to replay')
    parser.add_argument('--live', action='store_true', help='measure the real nodes too')
    parser.add_argument('--json', action='store_true')
    options = parser.parse_args()
    model = Arm.load(options.arm)
    steps = measure(model, steps=200, repeat=100)
    observer = CollisionMonitor(model).config.observer
    ratios: Any = steps['step_ratio']
    tape = record_free(Individual(model, Variation(), 1), options.seconds, 1)
    live = {key: 1e-3 * value for key, value in run_live(options.arm).event_us.items()
            } if options.live else None
    result = {
        'step_ratio': ratios[observer],
        'stamp_to_event_ms': live or {'p50': None, 'p99': None},
        'replay_realtime_factor': replay_factor(model, tape),
        'replay_identical': replay_identical(model, options.seconds)}
    rows = [('step over bare Pinocchio calls', result['step_ratio'], '<= 3'),
            ('state stamp to event, p50 [ms]', result['stamp_to_event_ms']['p50'], ''),
            ('state stamp to event, p99 [ms]', result['stamp_to_event_ms']['p99'], '<= 1'),
            ('replay over real time', result['replay_realtime_factor'], '>= 50'),
            ('replay equals live, bit for bit', result['replay_identical'], 'yes')]
    emit(f'collision observer, {options.arm}, {observer}', ('figure', 'measured', 'goal'), rows,
         result, options.json)


def replay_factor(model: Arm, tape: Tape) -> float:
    """Seconds of recording per second of computing; the best of several."""
    best = np.inf
    for _ in range(REPEAT):
        monitor = CollisionMonitor(model)
        begin = time.perf_counter()
        watch(monitor, tape)
        best = min(best, time.perf_counter() - begin)
    return float(tape.seconds / best)


def replay_identical(model: Arm, seconds: float) -> bool:
    """Whether a monitor in the loop and one on its tape say the same."""
    loop = Individual(model, Variation(), 2).loop()
    loop.monitor = CollisionMonitor(model)
    recorder = Recorder(loop)
    live = []
    for _ in range(round(seconds / loop.dt)):
        result = recorder.step().result
        assert result is not None
        live.append(np.concatenate([result.raw, result.filtered]))
    trace = watch(CollisionMonitor(model), recorder.tape())
    return bool(np.array_equal(np.array(live), np.hstack([trace.raw, trace.filtered])))


if __name__ == '__main__':
    main()
