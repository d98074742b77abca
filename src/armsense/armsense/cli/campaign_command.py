"""Seeded collision campaign with simulated arms.

For example:

    campaign --arm laas4 --collisions 1000 --free-hours 2 [--json] [--jobs 8]
    campaign --arm biorob --collisions 40 --free-hours 0.05 --calibration-minutes 2
"""

import argparse
from collections.abc import Sequence
import json
import os
from pathlib import Path
import sys
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

from armsense.cli.command import answer, console, table
from armsense.model.model_file import ModelFile
from armsense.observer import OBSERVERS
from armsense.sim.campaign.campaign import Campaign
from armsense.sim.campaign.figures import draw
from armsense.sim.campaign.individual import Variation
from armsense.sim.campaign.setup import Setup

MOST_CASES = 10     # that are listed
NOTE = ('Body springs (hand 75 N/mm, 0.6 kg; chest 25 N/mm, 40 kg) are as public sources quote '
        'ISO/TS 15066: check them against the standard. Simulation is no safety certificate.')


def parser() -> argparse.ArgumentParser:
    out = argparse.ArgumentParser(prog='armsense campaign',
                                  description=(__doc__ or '').splitlines()[0])
    out.add_argument('--arm', default='laas4', help='name, or yaml of an arm of your own')
    out.add_argument('--collisions', type=int, default=100)
    out.add_argument('--free-hours', type=float, default=0.1)
    out.add_argument('--model', default='',
                     help='model.yaml of all arms; without it each is identified first')
    out.add_argument('--detection', default='', help='yaml of observers and detectors')
    out.add_argument('--observers', nargs='+', choices=OBSERVERS, default=list(OBSERVERS))
    out.add_argument('--rate', type=float, default=Setup.rate_per_hour,
                     help='false alarms per hour that the thresholds are made for')
    out.add_argument('--confidence', type=float, default=Setup.confidence,
                     help='that they are not exceeded')
    out.add_argument('--arms', type=int, default=Setup.arms,
                     help='arms of the series, each calibrated for itself')
    out.add_argument('--calibration-minutes', type=float, default=Setup.calibration_minutes)
    out.add_argument('--mismatch', type=float, default=Variation().mismatch,
                     help='relative error of masses and friction in the files of the arms')
    out.add_argument('--payload-error', type=float, default=Variation().payload, help='[kg]')
    out.add_argument('--friction-error', type=float, default=Variation().friction)
    out.add_argument('--noise', type=float, default=1.0, help="factor on the sensors' noise")
    out.add_argument('--seed', type=int, default=1)
    out.add_argument('--jobs', type=int, default=os.cpu_count() or 1)
    out.add_argument('--dask', metavar='SCHEDULER', help='address of a Dask scheduler')
    out.add_argument('--out', type=Path, default=Path('out/campaign'))
    out.add_argument('--json', action='store_true', help='one JSON object as the last line')
    return out


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    return answer('campaign', lambda: _run(options, console(options.json)), options.json,
                  'interrupted; the same command goes on from here')


def _run(options: argparse.Namespace, console: Console) -> dict[str, Any]:
    if options.model:
        ModelFile.read(options.model)   # what is wrong with it is said before the work
    setup = Setup(
        arm=options.arm, model_file=options.model, detection=options.detection,
        observers=tuple(options.observers), seed=options.seed, rate_per_hour=options.rate,
        confidence=options.confidence,
        arms=options.arms, calibration_minutes=options.calibration_minutes,
        variation=Variation(mismatch=options.mismatch, payload=options.payload_error,
                            friction=options.friction_error, noise=options.noise))
    bars = Progress('{task.description}', BarColumn(), MofNCompleteColumn(),
                    TimeRemainingColumn(), console=Console(file=sys.stderr))
    shown: dict[str, Any] = {}

    def tell(what: str, done: int, total: int) -> None:
        if what not in shown:
            shown[what] = bars.add_task(what, total=total)
        bars.update(shown[what], completed=done, total=total)

    with bars:
        campaign = Campaign(setup, options.out, options.jobs, options.dask, tell)
        report = campaign.run(options.collisions, options.free_hours)
    figure = draw(report, options.out / f'{report["arm"]}.png')
    (options.out / f'{report["arm"]}.json').write_text(json.dumps(report, indent=1))
    _show(report, console)
    console.print(f'{campaign.cache} (results), {figure} (figure)', soft_wrap=True)
    return report


def _show(report: dict[str, Any], console: Console) -> None:
    observers = table(
        f'{report["arm"]}: {report["collisions"]} collisions, {report["must_be_felt"]} to be '
        f'felt, {report["free_hours"]} h of free motion',
        ('observer', 'missed', 'false alarms', 'per hour <', 'median ms', 'p99 ms', 'min force N',
         'link', 'force err N', 'point err m', 'Pareto'), left=['observer'])
    for name, s in report['observers'].items():
        observers.add_row(name + (' *' if name == report['observer'] else ''), *map(_cell, (
            s['missed'], s['false_alarms'], s['false_alarms_per_hour_bound'],
            s['delay_ms']['median'], s['delay_ms']['p99'], s['min_force_n'], s['link_accuracy'],
            s['force_error_n'], s['point_error_m'], s['pareto'])))
    console.print(observers)
    console.print(f'* configured; delays of {report["hard_impacts"]} hard impacts; link of the '
                  f'{report["link_observable"]} contacts that tell it; touched at '
                  f'{report["speed_mps"][0]:g} to {report["speed_mps"][-1]:g} m/s, sensor noise '
                  f'times {report["noise"]:g}')
    for goal in report['goals']:
        text = f'{goal["goal"]}: {_cell(goal["got"])} ({goal["wanted"]})'
        console.print(f'  met     {text}' if goal['met'] else
                      f'  not met {text}: {goal["why"]}', soft_wrap=True, markup=False)
    for kind in ('missed_cases', 'unobservable_cases'):
        for text in report[kind][:MOST_CASES]:
            console.print(f'  {kind.split("_")[0]}: {text}')
    console.print(NOTE)


def _cell(value: Any) -> str:
    if value is None:
        return '-'
    if isinstance(value, bool):
        return 'yes' if value else 'no'
    return f'{value:.4g}' if isinstance(value, float) else str(value)


if __name__ == '__main__':
    sys.exit(main())
