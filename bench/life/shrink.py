"""A failing history made as short and plain as it still fails, and a script to replay it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from bench.life.history import History, live, Outcome, Step, WAITS

ATTEMPTS = 150     # histories lived through for one that is shrunk


class Shrinker:
    """Keeps the shortest history that breaks the same invariant."""

    def __init__(self, history: History, outcome: Outcome, attempts: int = ATTEMPTS) -> None:
        assert outcome.violation is not None
        self.best, self.outcome = history, outcome
        self._name = outcome.violation[0]
        self._left = attempts

    def run(self) -> History:
        """Delete chunks, then single rules, then simplify arguments."""
        self._try(self.best.steps[:self.outcome.step + 1])
        size = max(len(self.best.steps) // 2, 1)
        while size >= 1:
            place = 0
            while place < len(self.best.steps):
                steps = self.best.steps
                if not self._try(steps[:place] + steps[place + size:]):
                    place += size
            size //= 2
        for place in range(len(self.best.steps)):
            for step in _simpler(self.best.steps[place]):
                steps = self.best.steps
                self._try([*steps[:place], step, *steps[place + 1:]])
        return self.best

    def _try(self, steps: list[Step]) -> bool:
        if self._left <= 0 or steps == self.best.steps:
            return False
        self._left -= 1
        candidate = replace(self.best, steps=steps)
        outcome = live(candidate)
        if outcome.violation is None or outcome.violation[0] != self._name:
            return False
        self.best, self.outcome = candidate, outcome
        return True


def _simpler(step: Step) -> Iterator[Step]:
    for wait in WAITS:
        if wait < step.wait:
            yield step._replace(wait=wait)
    for name, value in step.arguments.items():
        if plain := _plain(value):
            yield step._replace(arguments={**step.arguments, name: plain[0]})


def _plain(value: Any) -> list[Any]:
    """A plainer value of an argument, in a list; empty: it is plain."""
    if isinstance(value, bool) or value is None:
        return [False] if value else []
    if isinstance(value, float) and round(value, 1) not in (value, 0.0):
        return [round(value, 1)]
    if isinstance(value, int) and value > 0:
        return [0]
    return []


def script(history: History, outcome: Outcome) -> str:
    """Python that replays a history."""
    assert outcome.violation is not None
    name, time, text = outcome.violation
    lines = [f'# {name} at {time:.3f} s: {text}',
             'from bench.life.history import History, live, Step',
             '',
             f'print(live(History({history.arm!r}, {history.seed}, [']
    lines += [f'    Step({step.rule!r}, {step.arguments!r}, {step.wait!r}),'
              for step in history.steps]
    return '\n'.join([*lines, ']), talk=True).violation)', ''])
