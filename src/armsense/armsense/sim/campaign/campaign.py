"""A whole campaign: models and thresholds, then collisions and free motion, each result kept.

Every finished task is one line of a JSON-lines file, so an interrupted campaign goes on where it
stopped, and a larger one uses what a smaller one has done.
"""

from collections.abc import Callable, Iterator
import functools
import json
import math
from pathlib import Path
import shutil
from typing import Any

import numpy as np

from armsense import schema
from armsense.detector import fit_watched, Thresholds
from armsense.model.model_file import ModelFile
from armsense.parallel import run_tasks
from armsense.sim.campaign.results import judge, pareto_front, summarise
from armsense.sim.campaign.setup import Known, Setup, worker
from armsense.sim.campaign.tasks import arm_of, CHUNK, run_task, Task

Counted = Callable[[str, int, int], None]   # what, done, of how many


class Campaign:
    """One arm, all observers."""

    def __init__(self, setup: Setup, folder: Path, jobs: int = 1, scheduler: str | None = None,
                 progress: Counted | None = None) -> None:
        """Results go into a folder; `scheduler`: address of one of Dask, None: this machine."""
        self.setup, self._jobs, self._scheduler = setup, jobs, scheduler
        self._tell = progress or (lambda what, done, total: None)
        folder.mkdir(parents=True, exist_ok=True)
        self.cache = folder / f'{worker(setup).nominal.name}-{setup.key}.jsonl'
        self._folder = self.cache.with_suffix('')   # of recordings, until thresholds are made
        self.records = _read(self.cache)
        self.known = Known()

    def run(self, collisions: int, free_hours: float) -> dict[str, Any]:
        """The report; see `results.summarise` for its keys."""
        self.known = Known(self._models())
        self.known = self.known._replace(limits=self._thresholds())
        tasks = [Task('collision', k) for k in range(collisions)]
        tasks += [Task('free', k) for k in range(math.ceil(free_hours * 3600.0 / CHUNK - 1e-9))]
        wanted = {task.name for task in tasks}
        left = [task for task in tasks if task.name not in self.records]
        for record in self._work('collisions and free motion', left):
            self._keep(record)
        return self.report(wanted)

    def report(self, wanted: set[str]) -> dict[str, Any]:
        """Figures of the tasks named; the configured observer's stand at the top."""
        records = [self.records[name] for name in sorted(wanted)]
        here, setup = worker(self.setup), self.setup
        observers = {name: summarise(here.nominal.name, name, records) for name in setup.observers}
        front = pareto_front(observers)
        for name, summary in observers.items():
            summary['pareto'] = name in front
            summary['threshold_nm'] = [[round(x, 4) for x in self.known.limits[name, arm].constant]
                                       for arm in range(setup.arms)]
        best = here.config.observer if here.config.observer in observers else setup.observers[0]
        return {**observers[best], 'observer': best, 'noise': setup.variation.noise,
                'identified_percent': [self.records[f'identification-{k}']['errors_percent']
                                       for k in range(len(self.known.models))],
                'goals': judge(observers[best], here.nominal.config, here.config,
                               setup.rate_per_hour),
                'observers': observers}

    def _models(self) -> tuple[str, ...]:
        """Every arm is identified, unless a model file stands for all of them."""
        if self.setup.model_file:
            return ()
        tasks = [Task('identification', k) for k in range(self.setup.arms)]
        for record in self._work('identification',
                                 [t for t in tasks if t.name not in self.records]):
            self._keep(record)
        return tuple(self.records[task.name]['model'] for task in tasks)

    def _thresholds(self) -> dict[tuple[str, int], Thresholds]:
        """Of every arm; a model file's stand for those of the configured observer."""
        setup = self.setup
        cached = self.records.get('thresholds')
        if cached is None:
            parts = self._calibration()
            cached = {'task': 'thresholds', 'observers': {name: [
                schema.dump(self._fit([table[name] for of, table in parts if of == arm]))
                for arm in range(setup.arms)] for name in setup.observers}}
            self._keep(cached)
            shutil.rmtree(self._folder, ignore_errors=True)
        limits = {(name, arm): schema.load(Thresholds, data, self.cache.name)
                  for name, rows in cached['observers'].items() for arm, data in enumerate(rows)}
        if setup.model_file:
            found = ModelFile.read(setup.model_file, worker(setup).nominal.name).thresholds
            best = worker(setup).config.observer
            if found is not None:
                limits |= {(best, arm): found for arm in range(setup.arms)}
        return limits

    def _calibration(self) -> list[tuple[int, dict[str, Any]]]:
        """Number of the arm and free residuals of every observer, recording by recording."""
        count = math.ceil(self.setup.calibration_minutes * 60.0 / CHUNK) * self.setup.arms
        tasks = [Task('calibration', k) for k in range(count)]
        self._folder.mkdir(exist_ok=True)
        files = {task.name: self._folder / f'{task.name}.npz' for task in tasks}
        left = [task for task in tasks if not files[task.name].exists()]
        for record in self._work('calibration', left):
            file = files[record['task']]
            np.savez(file.with_suffix('.tmp.npz'), **record['residuals'])
            file.with_suffix('.tmp.npz').replace(file)   # whole or not at all
        return [(arm_of(self.setup, task), dict(np.load(files[task.name]))) for task in tasks]

    def _fit(self, residuals: list[Any]) -> Thresholds:
        here, setup = worker(self.setup), self.setup
        options = here.config.detector
        return fit_watched(
            np.concatenate(residuals).astype(float), here.nominal.n,
            1.0 / here.nominal.config.rate, setup.rate_per_hour, setup.confidence,
            (options.count, options.window))

    def _work(self, what: str, tasks: list[Task]) -> Iterator[dict[str, Any]]:
        self._tell(what, 0, len(tasks))
        work = functools.partial(run_task, self.setup, self.known)
        results = run_tasks(work, tasks, self._jobs, self._scheduler)
        for done, record in enumerate(results, 1):
            self._tell(what, done, len(tasks))
            yield record

    def _keep(self, record: dict[str, Any]) -> None:
        self.records[record['task']] = record
        with self.cache.open('a') as file:
            file.write(json.dumps(record) + '\n')


def _read(path: Path) -> dict[str, dict[str, Any]]:
    """Finished tasks; a line cut off by an interruption is done again."""
    records: dict[str, dict[str, Any]] = {}
    if path.exists():
        for line in path.read_text().splitlines():
            try:
                record = json.loads(line)
            except json.JSONDecodeError:
                continue
            records[record['task']] = record
    return records
