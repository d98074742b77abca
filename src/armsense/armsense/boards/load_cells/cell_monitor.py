"""Counts to newtons, tare, and cells that are dead, saturated or silent."""

from collections import deque
from dataclasses import dataclass
import math
from typing import NamedTuple

import numpy as np

from armsense.base.cell_calibration import calibrate_cell, CalibrationFile, CellCalibration
from armsense.errors import ArmsenseError, BadValue
from armsense.schema import quantity
from armsense.types import Array, Flags


class Counts(NamedTuple):
    """One set of readings; None where a cell did not answer or is at the end of its range."""

    values: tuple[int | None, ...]
    saturated: tuple[bool, ...]
    seq: int | None = None   # counter of the sender, where it has one


@dataclass(frozen=True, kw_only=True)
class MonitorOptions:
    """When a cell is trusted."""

    capacity: float = quantity(unit='N', above=0)
    noise: float = quantity(unit='N', low=0)
    stale_time: float = quantity(0.2, unit='s', above=0,
                                 text='without a reading until a cell is invalid')
    frozen_time: float = quantity(
        1.0, unit='s', above=0, text='with the same counts, which a live converter never has')
    rest_time: float = quantity(0.5, unit='s', above=0, text='averaged for tare and calibration')


class CellState(NamedTuple):
    """All cells now."""

    force: Array                  # [N], (m,)
    valid: Flags                  # (m,)
    problems: tuple[str, ...]     # such as 'cell 2: saturated'; empty: all is well


class CellMonitor:
    """Calibration, tare and health of m cells."""

    def __init__(self, calibration: CalibrationFile, options: MonitorOptions) -> None:
        self.options = options
        self._set_calibration(calibration)
        m = len(calibration.cells)
        self._counts = np.full(m, np.nan)
        self._saturated = np.zeros(m, bool)
        self._heard = np.full(m, -math.inf)      # [s] last reading
        self._changed = np.full(m, -math.inf)    # [s] last reading that differed
        self._tare = np.zeros(m)                 # [N]
        self._history: deque[tuple[float, Array]] = deque()
        self._sequences: dict[int, list[tuple[float, float]]] = {}

    def _set_calibration(self, calibration: CalibrationFile) -> None:
        self.calibration = calibration
        self._gain, self._zero = calibration.gains, calibration.offsets

    def take(self, counts: Counts, now: float) -> None:
        """Readings that arrived at `now` [s]."""
        if len(counts.values) != len(self._counts):
            raise BadValue('number of cells', len(counts.values), str(len(self._counts)))
        for k, value in enumerate(counts.values):
            if value is None:
                continue
            if value != self._counts[k]:
                self._changed[k] = now
            self._counts[k], self._heard[k] = value, now
        self._saturated = np.array(counts.saturated)
        self._history.append((now, self._counts.copy()))
        while now - self._history[0][0] > self.options.rest_time:
            self._history.popleft()

    def state(self, now: float) -> CellState:
        """Forces and health at `now` [s]."""
        total = self._gain * (self._counts - self._zero)          # without tare: what they carry
        stale = now - self._heard > self.options.stale_time
        frozen = ~stale & (now - self._changed > self.options.frozen_time)
        over = ~stale & (self._saturated | (np.abs(total) >= self.options.capacity))
        found = {'no reading': stale, 'saturated or overloaded': over, 'frozen': frozen}
        problems = tuple(f'cell {k + 1}: {why}' for why, flags in found.items()
                         for k in np.flatnonzero(flags))
        valid = ~(stale | over | frozen)
        return CellState(np.where(np.isfinite(total), total - self._tare, 0.0), valid, problems)

    def tare(self, now: float) -> str:
        """Make the present, steady load the zero; returns what was taken off."""
        state = self.state(now)
        if not state.valid.all():
            raise ArmsenseError('not tared: ' + '; '.join(state.problems))
        mean, swing = self._at_rest()
        worst = int(np.argmax(swing))
        limit = 5.0 * self.options.noise + 1e-3 * self.options.capacity
        if swing[worst] > limit:
            raise ArmsenseError(f'not tared: the load on cell {worst + 1} changes by '
                                f'{swing[worst]:.3g} N; the arm must stand still')
        self._tare = self._gain * (mean - self._zero)
        return ', '.join(f'{value:.2f} N' for value in self._tare)

    def clear_tare(self) -> None:
        """Report what the cells carry."""
        self._tare[:] = 0.0

    def sample_load(self, cell: int, load: float) -> float:
        """Note a known load [N] on a cell (from 1) for its calibration; returns the counts."""
        if not 1 <= cell <= len(self._counts):
            raise BadValue('cell', cell, f'1 ... {len(self._counts)}')
        counts = float(self._at_rest()[0][cell - 1])
        self._sequences.setdefault(cell, []).append((load, counts))
        return counts

    def calibrate(self) -> CalibrationFile:
        """New calibration of all cells with noted loads; used at once."""
        if not self._sequences:
            raise ArmsenseError('no loads have been noted')
        cells: list[CellCalibration] = list(self.calibration.cells)
        for cell, sequence in self._sequences.items():
            loads, counts = zip(*sequence, strict=True)
            cells[cell - 1] = calibrate_cell(loads, counts)
        self._sequences = {}
        self._set_calibration(CalibrationFile(cells=tuple(cells)))
        self.clear_tare()
        return self.calibration

    def _at_rest(self) -> tuple[Array, Array]:
        """Mean counts and standard deviation [N] over the last readings."""
        if len(self._history) < 3:
            raise ArmsenseError('too few readings for a mean; is the source connected?')
        counts = np.array([values for _, values in self._history])
        if not np.isfinite(counts[-1]).all():
            silent = ', '.join(str(k + 1) for k in np.flatnonzero(~np.isfinite(counts[-1])))
            raise ArmsenseError(f'cell {silent} has not answered yet')
        return np.nanmean(counts, axis=0), np.abs(self._gain) * np.nanstd(counts, axis=0)
