"""Many recordings of many arms: one model per arm and day, and what changed between the days.

An arm is the folder that its recordings lie in; the day is that of the recording. On every day
the first model of the arm is judged too: where it no longer fits, the arm has changed.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
import functools
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console

from armsense.cli.command import table
from armsense.errors import ArmsenseError
from armsense.identify.drift import judge
from armsense.identify.model import IdentifiedModel
from armsense.jobs.files import check_target, explain_write_errors
from armsense.jobs.identify_job import recorded_motion, run, Setup
from armsense.parallel import run_tasks
from armsense.recordings.bag_files import BagFacts

TABLE = 'fleet.json'


class Day(NamedTuple):
    """Recordings of one arm on one day."""

    arm: str
    date: str
    files: tuple[Path, ...]

    @property
    def name(self) -> str:
        return f'{self.arm}_{self.date}'


class Found(NamedTuple):
    """What a day gave; no model where it failed."""

    day: Day
    record: dict[str, Any]
    model: IdentifiedModel | None


def run_fleet(setup: Setup, files: Sequence[Path], folder: Path, jobs: int,
              scheduler: str | None, tell: Callable[[int, int], None]) -> dict[str, Any]:
    """Identify every day, then judge every arm's first model on its later days.

    Models, reports and the table go to `folder`; `tell` is given steps done and in all.
    """
    if setup.elastic:
        raise ArmsenseError(f'{setup.arm.name} has elastic joints; a fleet is compared '
                            'by link-side torques, identify its bags one by one')
    all_days = days(files)
    with explain_write_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    check_target(folder / TABLE, TABLE)
    work = functools.partial(identify_day, setup, folder.absolute())
    found: dict[str, Found] = {}
    for done, result in enumerate(run_tasks(work, all_days, jobs, scheduler), 1):
        found[result.day.name] = result
        tell(done, 2 * len(all_days))
    first: dict[str, IdentifiedModel] = {}     # of each arm; days are in order
    pairs = [(day, first.setdefault(day.arm, model)) for day in all_days
             if (model := found[day.name].model) is not None]
    check = functools.partial(judge_day, setup)
    for done, (name, verdict) in enumerate(run_tasks(check, pairs, jobs, scheduler), 1):
        found[name].record.update(verdict)
        tell(len(all_days) + done, 2 * len(all_days))
    report = {'robot': setup.arm.name, 'days': [found[day.name].record for day in all_days]}
    with explain_write_errors(folder):
        (folder / TABLE).write_text(json.dumps(report, indent=1))
    return report


def days(files: Sequence[Path]) -> list[Day]:
    """Recordings by arm and day, in order of both."""
    groups: dict[tuple[str, str], list[Path]] = {}
    for path in files:
        if not path.exists():
            raise ArmsenseError(f'cannot read {path}: no such file or folder')
        groups.setdefault((path.absolute().parent.name, _date(path)), []).append(path.absolute())
    return [Day(arm, date, tuple(sorted(paths)))
            for (arm, date), paths in sorted(groups.items())]


def _date(path: Path) -> str:
    """Of the recording, as it says itself, or as its file says."""
    facts = BagFacts.read(path)
    if facts is not None and facts.date:
        return facts.date[:10]
    newest = max((p.stat().st_mtime for p in path.rglob('*')), default=path.stat().st_mtime) \
        if path.is_dir() else path.stat().st_mtime
    return datetime.fromtimestamp(newest).strftime('%Y-%m-%d')


def identify_day(setup: Setup, folder: Path, day: Day) -> Found:
    """Model and report of one day; an error becomes part of the record."""
    from armsense.report.page import write_all
    record: dict[str, Any] = {'arm': day.arm, 'date': day.date,
                              'files': [path.name for path in day.files]}
    try:
        job = run(setup, day.files)
        place = folder / day.name
        with explain_write_errors(folder):
            place.mkdir(exist_ok=True)
        write_all(job, place / 'model.yaml')
    except ArmsenseError as error:
        return Found(day, record | {'error': str(error)}, None)
    drive = job.model.drive_coefficients()
    record |= {'model': str(place / 'model.yaml'),
               'train_percent': job.result['train_percent'],
               'cross_validated_percent': job.result['cross_validated_percent'],
               'mass_kg': round(float(job.model.masses.sum()), 4),
               'coulomb_nm': [round(float(c), 4) for c in drive.get('coulomb', ())],
               'feasible': job.result['feasible'], 'grade': job.result['grade']}
    return Found(day, record, job.model)


def judge_day(setup: Setup,
              task: tuple[Day, IdentifiedModel]) -> tuple[str, dict[str, Any]]:
    """How the first model of an arm fits one day."""
    day, model = task
    errors = [model.validate(part) for path in day.files
              for part in setup.training(recorded_motion(path, setup)[0])]
    rms = np.sqrt(np.mean([np.square(e.rms) for e in errors], axis=0))
    drift = judge(model.model.joint_names, rms, model.train.rms)
    percent = float(np.sqrt(np.mean([e.percent ** 2 for e in errors])))
    return day.name, {'first_model_percent': round(percent, 4), 'outdated': drift.outdated,
                      'verdict': drift.text}


def show_fleet(report: dict[str, Any], console: Console) -> None:
    """The table of all days."""
    days = table(f'{report["robot"]}: one model per arm and day',
                 ('arm', 'day', 'bags', 'error %', 'mass [kg]', 'Coulomb [Nm]', 'first model %',
                  'verdict'), left=('arm', 'day', 'verdict'))
    days.columns[1].no_wrap = True
    for row in report['days']:
        cells = [row['arm'], row['date'], str(len(row['files']))]
        if 'error' in row:
            days.add_row(*cells, '-', '-', '-', '-', row['error'])
            continue
        days.add_row(*cells, f'{row["cross_validated_percent"]:.2f}', f'{row["mass_kg"]:.3f}',
                     ' '.join(f'{c:.3f}' for c in row['coulomb_nm']),
                     f'{row["first_model_percent"]:.2f}', row['verdict'])
    console.print(days)
