"""Programs that repeat: a run against recorded ones instead of a model (thesis 003, fig. 3.14).

A run is followed along the recorded path of the joints, faster or slower (time warping by the
nearest recorded position near the expected progress). Several runs give the mean felt wrench and
how much it differs between runs at each place.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from armsense.errors import ArmsenseError, BadValue
from armsense.types import Array


@dataclass(frozen=True)
class RecordedProgram:
    """What one program feels like, N samples."""

    period: float   # [s]
    q: Array        # [rad], (N, n)
    felt: Array     # mean felt wrench [N, Nm], (N, k)
    spread: Array   # standard deviation between runs, (N, k); zeros of one run
    runs: int

    @classmethod
    def of_run(cls, q: Array, felt: Array, period: float) -> RecordedProgram:
        """From the first run, (N, n) and (N, k)."""
        if len(q) != len(felt) or len(q) < 2:
            raise BadValue('samples of positions and forces', (len(q), len(felt)), 'equal, >= 2')
        if not (np.isfinite(q).all() and np.isfinite(felt).all()):
            raise ArmsenseError('the run has NaN or infinity')
        return cls(period, np.array(q, float), np.array(felt, float), np.zeros(felt.shape), 1)

    def with_run(self, q: Array, felt: Array) -> RecordedProgram:
        """With another run at the same period, warped onto the first."""
        follower = RunFollower(self)
        total, count = np.zeros(self.felt.shape), np.zeros(len(self.felt))
        for position, value in zip(q, felt, strict=True):
            reading = follower.step(position, value, self.period)
            if not reading.valid:
                raise ArmsenseError(f'the run leaves the recorded path at '
                                    f'{follower.progress * self.period:.2f} s')
            place = round(follower.progress)
            total[place] += value
            count[place] += 1
        seen = np.flatnonzero(count)
        run = np.stack([np.interp(np.arange(len(self.felt)), seen, total[seen, j] / count[seen])
                        for j in range(self.felt.shape[1])], axis=1)
        # Welford: mean and sum of squares of one run more.
        n = self.runs + 1
        mean = self.felt + (run - self.felt) / n
        squares = np.square(self.spread) * max(self.runs - 1, 0) + (run - self.felt) * (run - mean)
        return RecordedProgram(self.period, self.q, mean, np.sqrt(squares / (n - 1)), n)

    def write(self, path: str | Path) -> None:
        """As .npz."""
        np.savez_compressed(path, period=self.period, q=self.q, felt=self.felt,
                            spread=self.spread, runs=self.runs)

    @classmethod
    def read(cls, path: str | Path) -> RecordedProgram:
        """From .npz."""
        with np.load(path) as data:
            return cls(float(data['period']), data['q'], data['felt'], data['spread'],
                       int(data['runs']))


class RunReading(NamedTuple):
    """One sample of a run against the recording."""

    progress: float   # [s] along the recording
    expected: Array   # [N, Nm], (k,)
    residual: Array   # felt - expected, (k,)
    spread: Array     # standard deviation between recorded runs here, (k,)
    valid: bool       # False: not on the recorded path


class RunFollower:
    """Follows a program along its recording."""

    def __init__(self, program: RecordedProgram, *, reach: float = 0.3, tolerance: float = 0.05,
                 stiffness: float = 0.02) -> None:
        """Start at the beginning of the program.

        Args:
            program: The recording.
            reach: How far ahead and behind the expected progress is looked [s].
            tolerance: Distance of the joints from the recorded path that is accepted [rad].
            stiffness: Cost of running fast or slow, as joint distance [rad] per second; decides
                where the arm stands still.
        """
        self._program = program
        self._reach = max(1, round(reach / program.period))
        self._tolerance = tolerance
        self._pull = stiffness * program.period
        self.progress = 0.0   # [samples] along the recording

    def step(self, q: Array, felt: Array, dt: float) -> RunReading:
        """One sample of the present run."""
        program = self._program
        last = len(program.q) - 1
        expected = min(self.progress + dt / program.period, float(last))
        low = max(0, int(expected) - self._reach)
        high = min(last, int(expected) + self._reach) + 1
        distance = np.linalg.norm(program.q[low:high] - q, axis=1)
        behind = self._pull * (np.arange(low, high) - expected)
        place = int(np.argmin(np.square(distance) + np.square(behind)))
        valid = bool(distance[place] <= self._tolerance)
        # Forward only: a program that goes back and forth must not be followed backwards.
        here = self._between(low, place, distance) if valid else expected
        self.progress = max(self.progress, here)
        now = self._at(program.felt)
        return RunReading(self.progress * program.period, now, felt - now,
                          self._at(program.spread), valid)

    @staticmethod
    def _between(low: int, place: int, distance: Array) -> float:
        """Nearest place with its fraction, by the distances of the neighbours."""
        if not 0 < place < len(distance) - 1:
            return float(low + place)
        before, here, after = np.square(distance[place - 1:place + 2])
        bend = before - 2.0 * here + after
        shift = 0.5 * (before - after) / bend if bend > 1e-15 else 0.0
        return float(low + place + np.clip(shift, -0.5, 0.5))

    def _at(self, values: Array) -> Array:
        first = min(int(self.progress), len(values) - 2)
        share = min(self.progress - first, 1.0)
        return np.asarray(values[first] + share * (values[first + 1] - values[first]))
