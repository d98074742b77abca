"""What would this observer have said to a recorded run?

For example:

    replay BAG --model model.yaml [--observer kalman] [--scale 0.8] [--json]
    replay BAG --arm laas4 --rate 1 --csv out.csv --mcap out/replayed
    replay run.csv --robot ROBOT.yaml --model model.yaml
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
import sys
import time
from typing import Any

import numpy as np

from armsense.cli.command import add_bag_options, answer, console, table, watched
from armsense.detector import (
    alarm_statistic,
    cluster_maxima,
    fit_watched,
    Thresholds,
)
from armsense.jobs.files import check_target
from armsense.jobs.replay import draw, Replay, replay, write_bag, write_csv
from armsense.observer import OBSERVERS
from armsense.watch.collision_monitor import DetectionConfig

WHAT_IF = (0.5, 0.7, 0.85, 1.0, 1.2, 1.5, 2.0)   # factors on the thresholds


def parser() -> argparse.ArgumentParser:
    out = argparse.ArgumentParser(prog='armsense replay',
                                  description=(__doc__ or '').splitlines()[0])
    out.add_argument('bag', type=Path, help='bag or table, as for identify')
    out.add_argument('--model', type=Path, help='model.yaml; tells the arm and its thresholds')
    out.add_argument('--observer', choices=OBSERVERS, help='default: that of the yaml')
    height = out.add_mutually_exclusive_group()
    height.add_argument('--scale', type=float, default=1.0, help='factor on the thresholds')
    height.add_argument('--rate', type=float,
                        help='thresholds for so many false alarms per hour, from this bag '
                        'itself (it must be free of collisions)')
    out.add_argument('--plot', type=Path, default=Path('out/replay/residual.png'))
    out.add_argument('--csv', type=Path, help='file to write')
    out.add_argument('--mcap', type=Path, help='folder to write residual and collisions into')
    add_bag_options(out)
    return out


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    return answer('replay', lambda: _replay(options), options.json)


def _replay(options: argparse.Namespace) -> dict[str, Any]:
    if options.csv:
        check_target(options.csv, 'replay.csv')
    run, result = _run(options)
    draw(run, options.plot)
    if options.csv:
        write_csv(run, options.csv)
    if options.mcap:
        write_bag(run, options.mcap)
    _show(run, result, options)
    return result


def _run(options: argparse.Namespace) -> tuple[Replay, dict[str, Any]]:
    who = watched(options, options.bag)
    model, bag = who.read(options.bag)
    config, stored = who.detection, who.stored
    thresholds = (stored.thresholds if stored else None) or config.thresholds(model)
    if options.rate is not None:
        thresholds = _for_rate(replay(model, bag, config, thresholds, options.observer),
                               config, options.rate)
    begin = time.perf_counter()
    run = replay(model, bag, config, thresholds.scaled(options.scale), options.observer)
    seconds = time.perf_counter() - begin
    return run, {
        'arm': options.arm, 'seconds': bag.tape.seconds, 'states': len(bag.seq),
        'observer': options.observer or config.observer,
        'threshold_nm': list(run.monitor.detector.thresholds.constant),
        'events': [event.plain for event in run.events],
        'what_if': what_if(run, config), 'identical_to_live': run.identical,
        'realtime_factor': bag.tape.seconds / max(seconds, 1e-9), 'notes': list(bag.notes)}


def what_if(run: Replay, config: DetectionConfig) -> dict[str, int]:
    """Collisions at other heights of the thresholds, relative to those of the run."""
    options = config.detector
    signal = alarm_statistic(run.trace.ratio, options.count, options.window)
    period = float(np.median(np.diff(run.trace.time)))
    gap = max(round(options.release_time / period), 1)
    return {f'{scale:g}': len(cluster_maxima(signal, scale, gap)) for scale in WHAT_IF}


def _for_rate(run: Replay, config: DetectionConfig, rate: float) -> Thresholds:
    options = config.detector
    period = float(np.median(np.diff(run.trace.time)))
    return fit_watched(run.trace.watched[run.trace.valid], run.model.n, period, rate,
                       debounce=(options.count, options.window))


def _show(run: Replay, result: dict[str, Any], options: argparse.Namespace) -> None:
    out = console(options.json)
    events = table(f'{result["arm"]}: {result["seconds"]:.1f} s, {result["observer"]}, '
                   f'{len(run.events)} collisions',
                   ('time s', 'link', 'joint', 'residual Nm', 'threshold Nm', 'force N'))
    for e in run.events:
        events.add_row(f'{e.time:.3f}', e.link, e.joint, f'{e.residual:+.3f}',
                       f'{e.threshold:.3f}', '-' if e.force is None else f'{e.force:.1f}')
    out.print(events)
    if result['what_if']:
        out.print('collisions at thresholds times ' + ', '.join(
            f'{scale}: {count}' for scale, count in result['what_if'].items()))
    if run.identical is not None:
        same = ('equal the live ones bit for bit' if run.identical else
                'differ from the live ones: another model, observer or version')
        out.print(f'the residuals {same}')
    for note in result['notes']:
        out.print(note)
    out.print(f'{options.plot}; {result["realtime_factor"]:.0f} times real time')


if __name__ == '__main__':
    sys.exit(main())
