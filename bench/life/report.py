"""Many histories on all cores; what they showed, for people and for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import as_completed, ProcessPoolExecutor
from dataclasses import dataclass, field
import multiprocessing
import os
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from bench.life.history import ARMS, History, live, Outcome
from bench.life.planted import PLANTED
from bench.life.shrink import script, Shrinker

SHRUNK = 3      # failures of one invariant that are shrunk


@dataclass
class Plan:
    """Which histories."""

    histories: int
    length: int                        # rules of each
    seed: int = 1
    arms: tuple[str, ...] = ARMS

    def history(self, number: int) -> History:
        return History.draw(self.arms[number % len(self.arms)], self.seed + number, self.length)


@dataclass
class Summary:
    """What they showed."""

    histories: int = 0
    cycles: int = 0
    rules: Counter[str] = field(default_factory=Counter)
    checks: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[History, Outcome]] = field(default_factory=list)

    def add(self, history: History, outcome: Outcome) -> None:
        self.histories += 1
        self.cycles += outcome.cycles
        self.rules += outcome.rules
        self.checks += outcome.checks
        if outcome.violation is not None:
            self.failures.append((history, outcome))


def live_all(plan: Plan, processes: int | None = None) -> Summary:
    """Live through all histories of a plan."""
    summary, processes = Summary(), processes or os.cpu_count() or 1
    with Progress(console=Console(stderr=True)) as bar:
        task = bar.add_task('histories', total=plan.histories)
        for number, outcome in _outcomes(plan, processes):
            summary.add(plan.history(number), outcome)
            bar.update(task, advance=1)
            if outcome.violation is not None:
                bar.console.print(f'history {number}: {outcome.violation}')
    summary.failures.sort(key=lambda failure: failure[0].seed)
    return summary


def _outcomes(plan: Plan, processes: int) -> Iterator[tuple[int, Outcome]]:
    if processes == 1:
        for number in range(plan.histories):
            yield number, live(plan.history(number))
        return
    context = multiprocessing.get_context('spawn')
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        waiting = {pool.submit(_live, plan, number): number for number in range(plan.histories)}
        for future in as_completed(waiting):
            yield waiting[future], future.result()


def _live(plan: Plan, number: int) -> Outcome:
    return live(plan.history(number))


def find_planted(name: str, plan: Plan) -> tuple[History, Outcome, int] | None:
    """The first history that shows a planted defect, and how many it took; None: none does."""
    patch, invariants = PLANTED[name]
    for number in range(plan.histories):
        history = plan.history(number)
        with patch():
            outcome = live(history)
        if outcome.violation is not None and outcome.violation[0] in invariants:
            return history, outcome, number + 1
    return None


def shrink_failures(summary: Summary, folder: Path) -> list[str]:
    """Scripts of the first failures of every invariant; also written into a folder."""
    scripts, seen = [], Counter[str]()
    for history, outcome in summary.failures:
        assert outcome.violation is not None
        name = outcome.violation[0]
        seen[name] += 1
        if seen[name] > SHRUNK:
            continue
        shrinker = Shrinker(history, outcome)
        shortest = shrinker.run()
        folder.mkdir(parents=True, exist_ok=True)
        stem = folder / f'{name}_{history.arm.replace("/", "_")}_{history.seed}'
        text = script(shortest, shrinker.outcome)
        stem.with_suffix('.json').write_text(shortest.to_json())
        stem.with_suffix('.py').write_text(text)
        scripts.append(f'{stem}.json\n{text}')
    return scripts
