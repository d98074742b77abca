"""Runs a simulated arm and keeps what its boards said and what truly touched it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from armsense.boards.joint_map import Reading
from armsense.boards.mode import Mode
from armsense.sim.closed_loop import ClosedLoop, Cycle
from armsense.sim.plant import Contact
from armsense.trajectory import Trajectory
from armsense.types import Array
from armsense.watch import Tape


class TrueContact(NamedTuple):
    """Contact that acts in the plant after a reading."""

    number: int      # of the reading before it
    contact: Contact
    q: Array         # [rad] true link positions, (n,)


class Recorder:
    """Tape and truth of one run."""

    def __init__(self, loop: ClosedLoop) -> None:
        self.loop = loop
        self._stamps: list[int] = []
        self._readings: list[Reading] = []
        self._enabled: list[bool] = []
        self.contacts: list[TrueContact] = []
        self._period = round(loop.dt * 1e9)   # [ns]

    @property
    def time(self) -> float:
        """Length of the tape [s]."""
        return len(self._readings) * self.loop.dt

    @property
    def count(self) -> int:
        """Number of readings."""
        return len(self._readings)

    @property
    def here(self) -> Array:
        """Where the arm is led to [rad], (n,)."""
        reference = self.loop.controller.reference
        return np.array(self.loop.config.home if reference is None else reference.q)

    def follow(self, trajectory: Trajectory, until: float) -> None:
        """Drive a trajectory to its end, or until the tape is `until` long [s].

        Raises:
            GoalRefused: The controller does not accept it; nothing has moved.
        """
        status = self.loop.controller.follow(trajectory)
        while status.active and self.time < until:
            self.step()

    def run(self, seconds: float) -> None:
        """Go on for a time."""
        for _ in range(round(seconds / self.loop.dt)):
            self.step()

    def step(self) -> Cycle:
        """One period."""
        number = len(self._readings)
        cycle = self.loop.step()
        if cycle.reading is not None:
            self._stamps.append((number + 1) * self._period)
            self._readings.append(cycle.reading)
            self._enabled.append(self.loop.driver.mode == Mode.ENABLED)
        for contact in self.loop.plant.contact:
            self.contacts.append(TrueContact(number, contact,
                                             self.loop.plant.state.joint_position.copy()))
        return cycle

    def tape(self) -> Tape:
        """What the boards said so far."""
        return Tape.of(self._stamps, self._readings, self._enabled)
