"""Thresholds that mean something: so many false alarms per hour.

For example:

    calibrate BAG... --model model.yaml --rate 0.1
    calibrate run.csv... --robot ROBOT.yaml --model model.yaml
    calibrate --live 20 --model model.yaml          (while the arm moves freely)
    calibrate --simulate 5 --arm biorob --out model.yaml
    calibrate --check --arm laas4 --quick --json
"""

import argparse
from collections.abc import Callable, Sequence
from datetime import datetime
import functools
import os
from pathlib import Path
import signal
import subprocess
import sys
import time
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TimeRemainingColumn
import scipy.stats

from armsense.cli.command import add_bag_options, answer, console, table, Watched, watched
from armsense.errors import ArmsenseError
from armsense.jobs.files import check_target
from armsense.model import Arm
from armsense.observer import OBSERVERS
from armsense.parallel import run_tasks
from armsense.types import Array
from armsense.watch.calibrate import calibrate, Calibration, count_alarms, free_residuals, store
from armsense.watch.collision_monitor import DetectionConfig

REQUESTED = (10.0, 1.0, 0.1)       # [1/h] of a check
FIT_HOURS, CHECK_HOURS = 2.0, 10.0
QUICK = 0.03, 0.06                 # [h] the same, in a few minutes: the low rates stay unseen
UNUSED = 10**5                     # numbers of simulated recordings that no fit has seen
RECORDER = 'armsense_monitor.recorder_node'
PATIENCE = 10.0                    # [s] for the recorder to close the bag
SAME_RATE = 0.05                   # share by which recordings may differ
TICK = 0.5                         # [s] between two looks at it


def parser() -> argparse.ArgumentParser:
    out = argparse.ArgumentParser(prog='armsense calibrate',
                                  description=(__doc__ or '').splitlines()[0])
    out.add_argument('bags', nargs='*', type=Path,
                     help='collision-free recordings, bags or tables')
    out.add_argument('--live', type=float, metavar='MINUTES',
                     help='record the arm that runs now; it must move and touch nothing')
    out.add_argument('--simulate', type=float, metavar='MINUTES',
                     help='calibrate a simulated arm instead')
    out.add_argument('--check', action='store_true',
                     help='compare rates asked for with rates on other simulated motions')
    out.add_argument('--quick', action='store_true', help='a check of minutes instead of hours')
    out.add_argument('--model', type=Path, help='model.yaml to calibrate; it is written back')
    out.add_argument('--out', type=Path, help='model.yaml to write, if not that of --model')
    out.add_argument('--rate', type=float, default=0.1, help='false alarms per hour')
    out.add_argument('--confidence', type=float, default=0.9, help='that they are not exceeded')
    out.add_argument('--sigma', type=float, metavar='FACTOR', help='so many standard deviations '
                     'instead, whatever rate that gives (paper 001: 6)')
    out.add_argument('--observer', choices=OBSERVERS)
    out.add_argument('--fit-hours', type=float, help=f'of a check (default: {FIT_HOURS})')
    out.add_argument('--hours', type=float, help=f'of a check (default: {CHECK_HOURS})')
    out.add_argument('--seed', type=int, default=1)
    out.add_argument('--jobs', type=int, default=os.cpu_count() or 1)
    add_bag_options(out)
    return out


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    work = _check if options.check else _calibrate
    return answer('calibrate', lambda: work(options, console(options.json)), options.json,
                  'interrupted; nothing was written')


def _calibrate(options: argparse.Namespace, console: Console) -> dict[str, Any]:
    who = watched(options, options.bags[0] if options.bags else None)
    model, config = who.model, who.detection
    if sum([bool(options.bags), options.simulate is not None, options.live is not None]) != 1:
        raise ArmsenseError('give either bags, --live MINUTES or --simulate MINUTES')
    target = options.out or options.model
    if target:
        check_target(Path(target), 'model.yaml')
    if options.live is not None:
        options.bags = [_live(options, console)]
    if options.bags:
        residuals, model = _recorded(who, options)
        method = 'calibrated from recordings'
    else:
        residuals = _simulated(options, config, options.simulate / 60.0, 0, console)
        method = f'calibrated in simulation, seed {options.seed}'
    found = calibrate(residuals, model.n, config, 1.0 / model.config.rate, options.rate,
                      options.confidence, options.sigma)
    if target is not None:
        store(target, model, found, method, options.bags)
    _show(model, found, console, target)
    limits = found.thresholds
    return {'arm': model.name, 'minutes': found.statistics.minutes, 'kind': limits.kind,
            'rate_per_hour': limits.rate_per_hour, 'confidence': limits.confidence,
            'mean_nm': found.statistics.mean, 'sigma_nm': found.statistics.sigma,
            'threshold_nm': limits.constant, 'warnings': limits.warnings,
            'model': str(target) if target else None}


def _recorded(who: Watched, options: argparse.Namespace) -> tuple[list[Array], Arm]:
    """Free residuals of all recordings, and the arm at their rate."""
    residuals, model = [], who.model
    for number, path in enumerate(options.bags):
        own, bag = who.read(path)
        if number and abs(own.config.rate / model.config.rate - 1.0) > SAME_RATE:
            raise ArmsenseError(f'{path.name} has {own.config.rate:.4g} samples a second, '
                                f'{options.bags[0].name} {model.config.rate:.4g}; calibrate with '
                                'recordings of one rate')
        model = model if number else model.with_rate(own.config.rate)
        residuals.append(free_residuals(own, who.detection, bag.tape, options.observer))
    return residuals, model


def _live(options: argparse.Namespace, console: Console) -> Path:
    """Bag of the arm that runs now; it is kept."""
    folder = Path('out/calibration') / datetime.now().strftime('%Y-%m-%d_%H-%M-%S')
    folder.parent.mkdir(parents=True, exist_ok=True)
    seconds = 60.0 * options.live
    with Progress('recording', BarColumn(), TimeRemainingColumn(), console=console) as bar:
        task = bar.add_task('', total=seconds)
        return record_live(folder, seconds, lambda now: bar.update(task, completed=now))


def record_live(folder: Path, seconds: float, tell: Callable[[float], None]) -> Path:
    """Record the topics of the running arm into a new folder; tells the seconds so far."""
    command = [sys.executable, '-m', RECORDER, '--ros-args', '-p', f'bag:={folder}']
    with subprocess.Popen(command) as recorder:
        try:
            begin = time.monotonic()
            while (now := time.monotonic() - begin) < seconds:
                if recorder.poll() is not None:
                    raise ArmsenseError(f'the recorder ended after {now:.1f} s with code '
                                        f'{recorder.returncode}')
                tell(now)
                time.sleep(min(TICK, seconds - now))
        finally:
            _stop(recorder)
    return folder


def _stop(recorder: subprocess.Popen[bytes]) -> None:
    recorder.send_signal(signal.SIGINT)   # the bag gets its index
    try:
        recorder.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        recorder.kill()


def _simulated(options: argparse.Namespace, config: DetectionConfig, hours: float, first: int,
               console: Console) -> list[Array]:
    """Free residuals of so many hours of one simulated arm, a motion of its own in each part.

    They are those of the model that the thresholds are for: a model file, or the arm's own files.
    """
    # The simulator is no dependency of calibrating a real arm.
    from armsense.sim.campaign.setup import Known, Setup
    from armsense.sim.campaign.tasks import CHUNK, run_task, Task
    observer = options.observer or config.observer
    setup = Setup(arm=options.arm, detection=options.detection or '',
                  model_file=str(options.model or ''),
                  observers=(observer,), seed=options.seed, arms=1)
    count = max(round(hours * 3600.0 / CHUNK), 1)
    tasks = [Task('calibration', first + k) for k in range(count)]
    work = functools.partial(run_task, setup, Known())
    with Progress('simulating', BarColumn(), TimeRemainingColumn(), console=console) as bar:
        running = bar.track(run_tasks(work, tasks, options.jobs), total=count)
        parts = sorted(running, key=lambda part: str(part['task']))
    return [part['residuals'][observer] for part in parts]


def _check(options: argparse.Namespace, console: Console) -> dict[str, Any]:
    """Rates asked for against rates on motions that no fit has seen."""
    who = watched(options)
    model, config = who.model, who.detection
    period = 1.0 / model.config.rate
    fit, check = QUICK if options.quick else (FIT_HOURS, CHECK_HOURS)
    known = _simulated(options, config, options.fit_hours or fit, 0, console)
    unseen = _simulated(options, config, options.hours or check, UNUSED, console)
    hours = sum(map(len, unseen)) * period / 3600.0
    observed, bounds, heights = [], [], []
    for rate in REQUESTED:
        # The best estimate, not an upper bound: it must be neither exceeded nor far too safe.
        thresholds = calibrate(known, model.n, config, period, rate, confidence=0.5).thresholds
        alarms = count_alarms(unseen, thresholds, config, period)
        observed.append(alarms / hours)
        bounds.append(_bounds(alarms, hours))
        heights.append(thresholds.constant)
    result = {'requested_per_hour': list(REQUESTED), 'observed_per_hour': observed,
              'observed_bounds_per_hour': bounds, 'hours': hours,
              'fit_hours': sum(map(len, known)) * period / 3600.0, 'threshold_nm': heights,
              'arm': model.name}
    rates = table(f'{model.name}: {hours:.2f} h of motion that no fit has seen, fitted on '
                  f'{result["fit_hours"]:.2f} h',
                  ('asked for 1/h', 'seen 1/h', 'seen, 90 % interval'))
    for rate, seen, (low, high) in zip(REQUESTED, observed, bounds, strict=True):
        rates.add_row(f'{rate:g}', f'{seen:.3g}', f'{low:.3g} to {high:.3g}')
    console.print(rates)
    return result


def _bounds(alarms: int, hours: float) -> tuple[float, float]:
    """Interval of the rate of a Poisson process, 90 % [1/h]."""
    low = float(scipy.stats.chi2.ppf(0.05, 2 * alarms)) / 2.0 if alarms else 0.0
    return low / hours, float(scipy.stats.chi2.ppf(0.95, 2 * alarms + 2)) / 2.0 / hours


def _show(model: Arm, found: Calibration, console: Console, target: Path | None) -> None:
    limits = found.thresholds
    meaning = (f'{limits.rate_per_hour:g} false alarms per hour'
               if limits.kind == 'false_alarm_rate' else 'multiples of sigma')
    joints = table(f'{model.name}: {found.statistics.minutes:.1f} min without collision, '
                   f'{meaning}', ('joint', 'mean Nm', 'sigma Nm', 'threshold Nm', 'peaks'))
    for name, mean, sigma, height, peaks in zip(
            model.joint_names, found.statistics.mean, found.statistics.sigma, limits.constant,
            limits.clusters or ('-',) * model.n, strict=True):
        joints.add_row(name, f'{mean:+.3f}', f'{sigma:.3f}', f'{height:.3f}', str(peaks))
    console.print(joints)
    for warning in limits.warnings:
        console.print(warning)
    if target is not None:
        console.print(f'written to {target}', soft_wrap=True)


if __name__ == '__main__':
    sys.exit(main())
