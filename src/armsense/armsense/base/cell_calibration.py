"""From counts to newtons: calibration of load cells by known loads (thesis 003, fig. 3.5).

Loads are put on one by one and taken off in reverse order. A line through all readings gives
offset and gain; what departs from it is linearity, what differs between loading and unloading is
hysteresis, both as a share of the largest load.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from armsense import schema
from armsense.errors import ArmsenseError, BadValue
from armsense.schema import quantity
from armsense.types import Array

LEAST_LOADS = 3


@dataclass(frozen=True, kw_only=True)
class CellCalibration:
    """One cell: force = gain (reading - offset)."""

    gain: float = quantity(unit='N per count')
    offset: float = quantity(0.0, unit='count')
    linearity: float = quantity(0.0, unit='share of the largest load', low=0)
    hysteresis: float = quantity(0.0, unit='share of the largest load', low=0)
    largest_load: float = quantity(0.0, unit='N', low=0)

    def __post_init__(self) -> None:
        if self.gain == 0.0:
            raise BadValue('gain', self.gain, 'not zero')

    def force(self, reading: float) -> float:
        """[N] of a reading [count]."""
        return self.gain * (reading - self.offset)


@dataclass(frozen=True, kw_only=True)
class CalibrationFile:
    """All cells of an arm, in the order of its layout."""

    cells: tuple[CellCalibration, ...]

    @classmethod
    def read(cls, path: str | Path, cells: int | None = None) -> CalibrationFile:
        """From yaml; `cells` is the number that the layout has."""
        path = Path(path)
        file = schema.load(cls, schema.read_yaml(path), path.name)
        if cells is not None and len(file.cells) != cells:
            raise BadValue(f'{path.name}: number of cells', len(file.cells), str(cells))
        return file

    def write(self, path: str | Path) -> None:
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        schema.write_yaml(self, path)

    @property
    def gains(self) -> Array:
        """[N per count], (m,)."""
        return np.array([cell.gain for cell in self.cells])

    @property
    def offsets(self) -> Array:
        """[count], (m,)."""
        return np.array([cell.offset for cell in self.cells])


def calibrate_cell(loads: ArrayLike, readings: ArrayLike) -> CellCalibration:
    """Line, linearity and hysteresis of one cell.

    Loads [N], (N,), in the order in which they were applied, up, then down; readings [count].
    """
    load, reading = np.asarray(loads, float), np.asarray(readings, float)
    if load.shape != reading.shape or load.ndim != 1:
        raise BadValue('shapes of loads and readings', (load.shape, reading.shape), 'twice (N,)')
    if not (np.isfinite(load).all() and np.isfinite(reading).all()):
        raise ArmsenseError('a load or a reading is not finite')
    if len(np.unique(load)) < LEAST_LOADS:
        raise BadValue('number of different loads', len(np.unique(load)), f'>= {LEAST_LOADS}')
    slope, intercept = np.polyfit(load, reading, 1)
    largest = float(np.ptp(load))
    if abs(slope) * largest < 1e-9 * max(np.abs(reading).max(), 1.0):
        raise ArmsenseError('the readings do not change with the load: is the cell connected?')
    misfit = (reading - intercept) / slope - load       # [N]
    return CellCalibration(
        gain=float(1.0 / slope), offset=float(intercept),
        linearity=float(np.abs(misfit).max() / largest),
        hysteresis=_hysteresis(load, misfit) / largest,
        largest_load=float(np.abs(load).max()))


def _hysteresis(load: Array, misfit: Array) -> float:
    """Largest difference between the same load going up and coming down [N]."""
    top = int(np.argmax(np.abs(load)))
    up = dict(zip(load[:top + 1].tolist(), misfit[:top + 1].tolist(), strict=True))
    pairs = [abs(value - up[weight]) for weight, value
             in zip(load[top:].tolist(), misfit[top:].tolist(), strict=True) if weight in up]
    return max(pairs, default=0.0)
