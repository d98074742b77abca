"""Load cells under an arm, who watches them, and what people do to the plate on top of them."""

from __future__ import annotations

import contextlib
import math
from typing import Any

import numpy as np

from armsense.base.base_monitor import BaseMonitor, BaseResult
from armsense.detector import lasting_text
from armsense.errors import ArmsenseError
from armsense.model import Arm
from armsense.sim.sensors import SimulatedCells
from armsense.types import Array

PLATE = 0.1              # [m] half the width of the plate


class Base:
    """The cells of an arm that has some; `push` and `lay_down` load the plate, not the arm."""

    def __init__(self, model: Arm, seed: int) -> None:
        config = model.config
        assert config.load_cells is not None
        self._cells = SimulatedCells(config.load_cells, seed)
        self._valid = np.ones(len(config.load_cells.positions), bool)
        self._model, self._payload = model, 0.0
        self.detections: list[float] = []          # [s]
        self.loads: dict[str, tuple[Array, float]] = {}     # wrench (6,) on the plate, until [s]
        self._count = 0
        self.zeros = 0                             # how often the cells were zeroed
        self.restart()

    @classmethod
    def of(cls, model: Arm, seed: int) -> Base | None:
        """None for an arm without cells."""
        config = model.config
        return None if config.load_cells is None else cls(model, seed)

    def restart(self) -> None:
        """The watcher's program begins anew: what the cells carry at its first rest is zero."""
        self.monitor = BaseMonitor(self._model.with_payload(self._payload))
        self.result: BaseResult | None = None
        self.heard = -math.inf                     # [s] when the last state came

    def set_payload(self, mass: float) -> None:
        self._payload = mass
        self.monitor.set_model(self._model.with_payload(mass))

    def zero(self) -> None:
        """A person zeroes the cells, if the arm rests."""
        with contextlib.suppress(ArmsenseError):
            self.monitor.zero()
            self.zeros += 1

    def step(self, position: Any, plant: Any, time: float) -> bool:
        """One state at a time [s]; whether a collision was detected in it."""
        dt = time - self.heard if math.isfinite(self.heard) else 0.0
        self.heard = time
        self.loads = {name: load for name, load in self.loads.items() if load[1] > time}
        on_plate = sum((wrench for wrench, _ in self.loads.values()), np.zeros(6))
        force = self._cells.step(plant.base_wrench + on_plate, dt)
        waiting = self.result is None or self.result.problem.startswith('waiting')
        self.result = self.monitor.step(position, force, self._valid, dt)
        self.zeros += waiting and not self.result.problem.startswith('waiting')
        if self.result.detection is None:
            return False
        self.detections.append(time)
        return True

    @property
    def lasting(self) -> str:
        """A contact that lasts, in words."""
        if self.result is None:
            return ''
        names = tuple(f'base {name}' for name in self.monitor.layout.names)
        return lasting_text(names, self.result.lasting, self.result.lasts_for)

    @property
    def why_deaf(self) -> str:
        """What the system itself says of why a push would not be felt; empty: it would."""
        if self.result is None:
            return 'the base is not watched yet'
        detector = self.monitor.detector
        if detector.time < detector.options.warm_up:
            return 'the detector warms up'
        return self.result.problem

    def felt(self, wrench: Array) -> Array:
        """Axes that the cells feel of a wrench (6,) on them, (k,)."""
        return self.monitor.layout.felt(wrench)

    def push(self, place: tuple[float, float], force: float, until: float) -> None:
        """Push down (negative: pull up) on the plate at x, y in halves of its width."""
        x, y = PLATE * np.array(place)
        self._count += 1
        wrench = -force * np.array([0.0, 0.0, 1.0, y, -x, 0.0])
        self.loads[f'push {self._count} on the base'] = wrench, until

    def clear(self) -> None:
        self.loads = {}


def of_force(point: Array, force: Array) -> Array:
    """Wrench at the base of a force [N] at a point [m], base frame, (6,)."""
    return np.concatenate([force, np.cross(point, force)])
