"""Velocity by weighted regression against the backward difference, on BioRob's 90 degree moves.

    python -m bench.bench_velocity [--figure docs/images/velocity.png] [--windows] [--json]

The joints turn by 90 degrees one after another, free and with the exact model, and the residual is
computed with either velocity (thesis 000, figs. 5.3 and 5.4: above 6 Nm and below 0.1 Nm).
`--figure` draws delay and noise of every velocity filter instead; `--windows` compares windows of
controller and observer in closed loop.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import numpy as np

from armsense.control.goal import GoalRefused
from armsense.detector import fixed_thresholds
from armsense.model import Arm
from armsense.sim.campaign.individual import Individual, Recorder, Variation
from armsense.trajectory import point_to_point
from armsense.watch import Tape, watch
from armsense.watch.collision_monitor import CollisionMonitor, DetectionConfig
from armsense.watch.state_estimator import VelocityOptions
from bench.report import emit
from bench.velocity_figure import draw
from bench.velocity_windows import COLUMNS, compare

ARM = 'biorob'
GAIN = 22.0            # [1/s] of the residual
WINDOW = 90            # samples of the regression
START = 0.0, 0.75, -1.4, -0.6   # [rad] from where every joint can turn by 90 degrees
SPEED = 0.2            # of the limits
SETTLE = 1.0           # [s]
BACKWARD_DIFFERENCE = VelocityOptions(window=2)   # a line through two points


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or '').splitlines()[0])
    parser.add_argument('--window', type=int, default=WINDOW)
    parser.add_argument('--gain', type=float, default=GAIN)
    parser.add_argument('--json', action='store_true')
    parser.add_argument('--figure', type=Path, help='PNG to write')
    parser.add_argument('--windows', action='store_true', help='of controller and observer')
    options = parser.parse_args()
    if options.windows:
        rows = compare()
        emit('laas4: samples of the velocity regression', COLUMNS, rows,
             {'windows': [dict(zip(COLUMNS, row, strict=True)) for row in rows]}, options.json)
        return
    if options.figure:
        rows = draw(options.figure)
        emit('velocity filters: delay and noise', ('filter', 'size', 'delay [ms]',
                                                   'noise [rad/s]'),
             [(r['filter'], f'{r["size"]:g} {r["unit"]}', r['delay_ms'], r['noise_rad_s'])
              for r in rows], {'filters': rows}, options.json)
        return
    model = Arm.load(ARM)
    tape = ninety_degrees(model)
    peaks = {name: peak(model, tape, options.gain, velocity) for name, velocity in (
        ('weighted regression', VelocityOptions(window=options.window)),
        ('backward difference', BACKWARD_DIFFERENCE))}
    rows = [(name, *values.tolist(), '< 0.1 Nm' if 'weighted' in name else '> 6 Nm')
            for name, values in peaks.items()]
    emit(f'{ARM}: largest free residual [Nm] of {tape.seconds:.1f} s, gain {options.gain:g} 1/s, '
         f'{options.window} samples', ('velocity', *model.joint_names, 'thesis'), rows,
         {name.replace(' ', '_') + '_nm': float(values.max()) for name, values in peaks.items()},
         options.json)


def ninety_degrees(model: Arm) -> Tape:
    """Every joint by 90 degrees and back, the others at rest."""
    recorder = Recorder(Individual(model, Variation(mismatch=0.0, payload=0.0, friction=0.0), 1)
                        .loop(np.array(START)))
    recorder.run(SETTLE)
    for joint in range(model.n):
        for sign in (1.0, -1.0):
            try:
                for way in (sign, -sign):
                    _turn(recorder, model, joint, way * math.pi / 2.0)
                break
            except GoalRefused:   # the floor or a limit is on that side
                continue
    return recorder.tape()


def _turn(recorder: Recorder, model: Arm, joint: int, angle: float) -> None:
    goal = recorder.here.copy()
    goal[joint] += angle
    limits = recorder.loop.controller.limits
    recorder.follow(point_to_point(recorder.here, goal, limits, model, SPEED), math.inf)
    recorder.run(0.3)


def peak(model: Arm, tape: Tape, gain: float, velocity: VelocityOptions) -> np.ndarray:
    """Largest residual of each joint [Nm], (n,)."""
    config = DetectionConfig(gain=gain, velocity=velocity)
    monitor = CollisionMonitor(model, config, fixed_thresholds([1e9] * model.n))
    trace = watch(monitor, tape)
    return np.asarray(np.abs(trace.filtered[trace.time > SETTLE]).max(axis=0))


if __name__ == '__main__':
    main()
