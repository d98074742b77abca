"""The promise that every contact is felt, whatever came before: by the joints, by the base."""

from __future__ import annotations

from collections.abc import Callable
import math

import numpy as np

from armsense.types import Array
from bench.life.backs import MS
from bench.life.invariant import Invariant
from bench.life.senses import Sense
from bench.life.world import World

MARGIN = 2.0          # times the threshold: its own calibration leaves 1.5 to 1.9 for the free arm
STUCK = 2.0           # times dry friction, which a joint at rest puts against a push
HOLD = 0.04           # [s] and two time constants of the observer: as long a contact must last
SAME = 0.25           # [s] after an event, in which what follows belongs to it
LASTING = 3.0         # times as much for a joint whose contact lasts, as the system says,
SETTLED = 1.0         # [s] and which has had an event in this time
SHAKE = 0.2           # of the largest load, in thresholds, that an arm in a lasting contact shakes
FALL = 0.3            # [s] in which a load that has gone is forgotten


class Felt(Invariant):
    """A contact that a sense must feel is reported, whatever came before."""

    bound = f'{MARGIN:g} thresholds and {STUCK:g} times dry friction for {1e3 * HOLD:g} ms and ' \
            'two time constants of the observer'
    reason = 'an arm that says that it watches must feel the next contact'

    def __init__(self, name: str, sense: Callable[[World], Sense]) -> None:
        """Watch one sense of the arm."""
        super().__init__()
        self.name, self._make = name, sense
        self._sense: Sense | None = None
        self._felt: dict[str, Array] = {}      # (k,) as an ideal observer shows each cause
        self._since: dict[str, float] = {}     # [s] when each cause began
        self._over: dict[str, Array] = {}      # [s] (k,) beyond what must be felt
        self._answered: dict[str, Array] = {}  # (k,) what has been reported of each cause
        self._load = (0.0, 0.0)                # largest so far, in thresholds, and when [s]
        self._before: dict[str, float] = {}    # the same when each cause began

    def tick(self, world: World) -> None:
        sense = self._sense = self._sense or self._make(world)
        causes, unknown = sense.causes(), sense.unknown()
        if not (self._felt or causes):
            return
        share = 1.0 - np.exp(-sense.gains * MS)
        none, threshold = np.zeros(len(sense.names)), sense.threshold
        for cause in {*causes, *self._felt}:
            before = self._felt.setdefault(cause, none)
            self._since.setdefault(cause, world.time)
            self._before.setdefault(cause, self._loaded(world.time))
            self._felt[cause] = before + share * (causes.get(cause, none) - before)
        need = MARGIN * threshold + STUCK * sense.friction
        total = sum(self._felt.values()) + unknown
        load = float((np.abs(total) / threshold).max())
        self._load = max(load, self._loaded(world.time)), world.time
        for cause, felt in list(self._felt.items()):
            self._judge(world, cause, felt, total, need)
            if cause not in causes and (np.abs(felt) < 0.05 * threshold).all():
                for store in (self._felt, self._since, self._over, self._before):
                    store.pop(cause, None)
                self._answered.pop(cause, None)

    def _loaded(self, time: float) -> float:
        load, when = self._load
        return load * math.exp(-(time - when) / FALL)

    def _judge(self, world: World, cause: str, felt: Array, total: Array, need: Array) -> None:
        sense = self._sense
        if sense is None:
            return
        if cause in self._answered:
            felt, need = self._grown(world, sense, cause, felt), LASTING * need
        if sense.lasting.any():
            others = max(self._before[cause],
                         float((np.abs(total - felt) / sense.threshold).max()))
            need = need + MARGIN * SHAKE * others * sense.threshold
        strong = (np.abs(felt) > need) & (total * np.sign(felt) > need)
        over = self._over.get(cause)
        if not strong.any() and over is None:
            return
        if any(t > self._since[cause] - SAME for t in sense.detections[-20:]):
            self._answered[cause] = self._felt[cause]
            self._over.pop(cause, None)
            self.checks += 1
            return
        hearing = np.array([flag and not self._excuse(world, sense, k, felt[k], need[k])
                            for k, flag in enumerate(strong)])
        over = np.where(hearing, (0.0 if over is None else over) + MS, 0.0)
        self._over[cause] = over
        enough = HOLD + 2.0 / sense.gains + 4e-3 * world.cycle_ms       # [s] (k,)
        k = int((over - enough).argmax())
        self.require(world, bool((over < enough).all()), f'{cause} puts {felt[k]:+.2f} on '
                     f'{sense.names[k]} (threshold {sense.threshold[k]:.2f}) since '
                     f'{world.time - self._since[cause]:.3f} s and nothing is reported')
        self.checks -= 1                       # it counts when the answer is known

    def _grown(self, world: World, sense: Sense, cause: str, felt: Array) -> Array:
        """Of a cause that was reported: by how much it has grown since the last report."""
        known = self._answered[cause]
        if sense.detections and world.time < sense.detections[-1] + SETTLED:
            known = felt
        known = np.where(felt * known > 0.0, np.minimum(np.abs(known), np.abs(felt)), 0.0) \
            * np.sign(felt)
        self._answered[cause] = known
        grown = felt - known
        if cause not in self._over:
            self._since[cause] = world.time
        return grown

    @staticmethod
    def _excuse(world: World, sense: Sense, channel: int, felt: float, need: float) -> str:
        recent = bool(sense.detections) and world.time < sense.detections[-1] + SETTLED
        if recent and sense.lasting[channel] and abs(felt) < LASTING * need:
            return 'contact lasts'
        return sense.why_deaf(channel)
