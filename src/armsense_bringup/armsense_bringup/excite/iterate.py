"""`./armsense excite iterate`: identify, design again with what was found, until nothing changes.

    excite iterate --arm laas4 --out out/iterate --rounds 4

A better model allows a motion that uses the limits better and excites more, which gives a better
model. Each round's motion, bag, model and report stand in a folder of its own.
"""

from __future__ import annotations

import argparse
from pathlib import Path
import sys
from typing import Any

import numpy as np
from rich.console import Console

from armsense.cli.command import answer, console, table
from armsense.errors import ArmsenseError, BadValue
from armsense.excite import Constraints, design_excitation, DesignOptions, Excitation
from armsense.jobs.identify_job import run as identify
from armsense.jobs.identify_job import Setup
from armsense.model import Arm
from armsense.report.page import write_all
from armsense.trajectory import sample_grid
from armsense.trajectory.limits import motion_torque
from armsense_bringup.excite.run import drive


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog='armsense excite iterate', description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--arm', default='laas4', help='name or yaml file of the arm')
    parser.add_argument('--out', type=Path, default=Path('out/iterate'), help='folder')
    parser.add_argument('--rounds', type=int, default=4, help='at most')
    parser.add_argument('--tolerance', type=float, default=1.0,
                        help='[%%] change of the predicted torques that ends the loop')
    parser.add_argument('--period', type=float, default=10.0, help='[s]')
    parser.add_argument('--periods', type=int, default=2, help='driven per round')
    parser.add_argument('--starts', type=int, default=2, help='of each design')
    parser.add_argument('--json', action='store_true')
    options = parser.parse_args(arguments)
    return answer('armsense', lambda: {'arm': options.arm, 'rounds': iterate(
        options, console(options.json))}, options.json, 'cancelled')


def iterate(options: argparse.Namespace, console: Console) -> list[dict[str, Any]]:
    """Rounds until the torques of two models agree; a record of each."""
    if options.rounds < 2:
        raise BadValue('rounds', options.rounds, '>= 2')
    rounds: list[dict[str, Any]] = []
    bags: list[Path] = []
    model_path: Path | None = None
    before = Arm.load(options.arm)
    for number in range(1, options.rounds + 1):
        folder = options.out / f'round{number}'
        if folder.exists():
            raise ArmsenseError(f'{folder} exists already; choose another folder')
        folder.mkdir(parents=True)
        console.print(f'round {number}: designing, driving, identifying')
        excitation = design(options, before, folder / 'excite.yaml', seed=number)
        bag = folder / 'bag'
        drive(folder / 'excite.yaml', options.periods, bag, options.arm, model_path)
        # The model of the earlier rounds has never seen this motion: a fair test of it.
        job = identify(Setup.of_arm(options.arm), [*bags, bag])
        model_path, *_ = write_all(job, folder / 'model.yaml')
        bags.append(bag)
        model = Arm.load(options.arm, model_path)
        change = torque_change(before, model, excitation)
        rounds.append({'round': number, 'criterion': excitation.quality.value,
                       'condition_number': excitation.quality.condition_number,
                       'error_percent': job.result['cross_validated_percent'],
                       'change_percent': round(change, 4), 'model': str(model_path),
                       'converged': number > 1 and change < options.tolerance})
        before = model
        if rounds[-1]['converged']:
            break
    show(rounds, console)
    return rounds


def design(options: argparse.Namespace, model: Arm, path: Path, seed: int) -> Excitation:
    """An excitation with the present model, on disk."""
    found = design_excitation(
        model, DesignOptions(period=options.period, starts=options.starts, seed=seed),
        Constraints.of(model))
    found.excitation.write(path)
    return found.excitation


def torque_change(before: Arm, after: Arm, excitation: Excitation) -> float:
    """By how much two models differ in the torques of a motion [%]."""
    samples = sample_grid(excitation.trajectory(), 0.01)
    old, new = motion_torque(samples, before), motion_torque(samples, after)
    return float(100.0 * np.linalg.norm(new - old) / np.linalg.norm(new))


def show(rounds: list[dict[str, Any]], console: Console) -> None:
    """One line per round, and how it ended."""
    found = table('identify, redesign, repeat',
                  ('round', 'criterion', 'condition', 'torque error %', 'torques changed %'))
    for row in rounds:
        found.add_row(str(row['round']), f'{row["criterion"]:.1f}',
                      f'{row["condition_number"]:.0f}', f'{row["error_percent"]:.2f}',
                      f'{row["change_percent"]:.2f}')
    console.print(found)
    last = rounds[-1]
    console.print(f'converged: {last["model"]}' if last['converged'] else
                  f'not converged after {len(rounds)} rounds; best model: {last["model"]}',
                  soft_wrap=True)


if __name__ == '__main__':
    sys.exit(main())
