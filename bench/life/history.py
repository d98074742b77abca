"""A history as data: drawn from a seed, run, judged."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
import json
from typing import Any, NamedTuple

import numpy as np

from bench.life.invariant import Violation
from bench.life.invariants import Alive, all_invariants, Ending
from bench.life.rules import Arguments, RULES
from bench.life.world import World

ARMS = ('laas4', 'biorob', 'tudor', 'seven', 'laas4/effort')
WAITS = (0.0, 0.0, 0.02, 0.1, 0.3, 0.6)       # [s] after a rule
# Rules after which most people would first get the arm going again.
FAULTS = frozenset({'board', 'power_loss', 'commands', 'pause_controller', 'restart_controller',
                    'restart_driver', 'emergency_stop', 'disable', 'cycles', 'clear_fault',
                    'bursts'})
# What chance finds seldom, drawn now and then: rules in this order, with some of their arguments,
# and how long the arm lives on after each [s].
MOTIFS: tuple[tuple[tuple[str, Arguments, float], ...], ...] = (
    (('pick_up', {'tell': False}, 0.3), ('push', {}, 1.0), ('hold', {}, 0.1), ('wall', {}, 0.3)),
    (('lean', {'seconds': 60.0}, 1.1), ('push', {}, 0.3)),
    (('lean', {'seconds': 60.0}, 0.6), ('goal', {'reaction': 'ignore'}, 0.3), ('push', {}, 0.3)),
    (('wall', {'reaction': 'ignore', 'seconds': 0.5}, 0.0), ('hold', {}, 0.7), ('free', {}, 0.3)),
    (('wall', {'reaction': 'ignore', 'seconds': 1.0}, 0.6), ('cancel', {}, 0.3),
     ('free', {}, 0.3)),
    (('wall', {}, 0.3), ('free', {}, 0.0), ('goal', {}, 0.3)),
    (('goal', {}, 0.3), ('goal', {}, 0.1), ('goal', {}, 0.3)),
    (('goal', {}, 0.3), ('cancel', {}, 0.02), ('push', {}, 0.3)),
    (('emergency_stop', {}, 0.1), ('board', {}, 0.1), ('clear_fault', {}, 0.1),
     ('enable', {}, 0.1)),
    (('cycles', {}, 0.02), ('commands', {}, 0.1)),
    (('lay_on_base', {'size': 0.7}, 1.0), ('push_base', {}, 0.3)),
    (('grow', {}, 2.0), ('push', {}, 0.3)),
    (('goal', {'reaction': 'ignore'}, 0.2), ('grow', {'rise': 1.0}, 1.5)),
    (('goal', {'reaction': 'resume'}, 0.3), ('push', {'seconds': 0.1}, 1.0),
     ('touch', {'seconds': 0.03}, 0.3), ('touch', {}, 0.3)),
    (('goal', {'reaction': 'resume'}, 0.3), ('push', {'seconds': 0.1}, 1.5), ('resume', {}, 0.6),
     ('push', {}, 0.3)),
    (('lead', {}, 0.1), ('drop', {}, 0.3), ('usual_law', {}, 0.1), ('push', {}, 0.3)),
)


class Step(NamedTuple):
    """One rule, and how long the arm lives on before the next."""

    rule: str
    arguments: Arguments
    wait: float            # [s]


@dataclass(frozen=True)
class History:
    """What happens to an arm; running it twice gives the same."""

    arm: str
    seed: int
    steps: list[Step] = field(default_factory=list)

    @classmethod
    def draw(cls, arm: str, seed: int, length: int) -> History:
        """A random one of about `length` rules."""
        rng = np.random.default_rng([seed, ARMS.index(arm)])
        names = list(RULES)
        weights = np.array([RULES[name].weight for name in names])
        weights /= weights.sum()
        steps: list[Step] = []

        def add(name: str, chosen: Arguments, wait: float) -> None:
            steps.append(Step(name, {**RULES[name].draw(rng), **chosen}, wait))
        while len(steps) < length:
            if rng.uniform() < 0.15:
                for name, chosen, wait in MOTIFS[int(rng.integers(len(MOTIFS)))]:
                    add(name, chosen, wait)
                continue
            add(str(rng.choice(names, p=weights)), {}, float(rng.choice(WAITS)))
            if steps[-1].rule in FAULTS and rng.uniform() < 0.6:
                add('recover', {}, float(rng.choice(WAITS)))
        return cls(arm, seed, steps)

    def to_json(self) -> str:
        return json.dumps({**asdict(self), 'steps': [list(step) for step in self.steps]})

    @classmethod
    def from_json(cls, text: str) -> History:
        data = json.loads(text)
        return cls(data['arm'], data['seed'], [Step(*step) for step in data['steps']])


@dataclass
class Outcome:
    """What a history showed."""

    violation: tuple[str, float, str] | None = None     # name, time [s], text
    step: int = -1                                       # that it happened in
    cycles: int = 0
    rules: Counter[str] = field(default_factory=Counter)
    checks: Counter[str] = field(default_factory=Counter)


def live(history: History, talk: bool = False) -> Outcome:
    """Let an arm live through a history, then push it, end its program and bring it back."""
    outcome = Outcome()
    world = World(history.arm, history.seed)
    invariants = all_invariants()
    world.listeners += invariants
    try:
        for outcome.step, (name, arguments, wait) in enumerate(history.steps):
            if talk:
                print(f'{world.time:8.3f} s {world.mode.name:9} {world.phase.value:9} '
                      f'{name} {arguments}')
            outcome.rules[name] += 1
            RULES[name].act(world, **arguments)
            world.run(wait)
        outcome.step = len(history.steps)
        _last_things(world, invariants, history.seed)
    except Violation as violation:
        outcome.violation = violation.name, violation.time, violation.text
    except Exception as error:
        outcome.violation = 'no_exception', world.time, f'{type(error).__name__}: {error}'
        if talk:
            raise
    outcome.cycles = world.steps
    outcome.checks.update({i.name: i.checks for i in invariants})
    outcome.checks['no_exception'] += len(history.steps)
    return outcome


def _last_things(world: World, invariants: list[Any], seed: int) -> None:
    """A push that must be felt, the end of the program in some histories, a new beginning."""
    RULES['push'].act(world, joint=seed, side=1, link=6, size=1.5, seconds=0.15)
    world.run(0.15)
    if seed % 4 == 1:
        next(i for i in invariants if isinstance(i, Ending)).judge(world)
        world.restart_driver()
    next(i for i in invariants if isinstance(i, Alive)).judge(world)
