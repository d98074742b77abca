"""Thresholds for a stated number of false alarms, and whether they keep it."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from armsense.detector import (
    alarm_statistic,
    cluster_maxima,
    fit_watched,
    fixed_thresholds,
    Thresholds,
)
from armsense.detector.thresholds import sigma_thresholds
from armsense.errors import ArmsenseError
from armsense.model import Arm
from armsense.model.arm_source import ArmSource
from armsense.model.model_file import FORMAT, ModelFile, Provenance, ResidualStatistics
from armsense.types import Array
from armsense.watch import Tape, watch
from armsense.watch.collision_monitor import CollisionMonitor, DetectionConfig

SETTLE = 0.3        # [s] after the motors were enabled that count for nothing
SEPARATION = 0.5    # [s] between alarms that count twice


class Calibration(NamedTuple):
    """What a collision-free recording says."""

    statistics: ResidualStatistics
    thresholds: Thresholds


def free_residuals(model: Arm, config: DetectionConfig, tape: Tape,
                   observer: str | None = None) -> Array:
    """Residuals of a collision-free tape [Nm], those that are valid and settled, (M, n).

    An observer that tests for onsets has its statistic behind them, (M, n + ONSETS).
    """
    silent = fixed_thresholds(np.full(model.n, 1e9))
    trace = watch(CollisionMonitor(model, config, silent, observer), tape)
    starts = np.flatnonzero(np.diff(trace.valid.astype(int), prepend=0) > 0)
    keep = trace.valid.copy()
    for start in starts:
        keep[start:int(np.searchsorted(trace.time, trace.time[start] + SETTLE))] = False
    if not keep.any():
        raise ArmsenseError(f'{model.name}: the recording has no enabled motion of more than '
                            f'{SETTLE} s')
    return trace.watched[keep]


def calibrate(residuals: Sequence[Array], n: int, config: DetectionConfig, period: float,
              rate: float, confidence: float = 0.9, sigmas: float | None = None) -> Calibration:
    """Statistics of collision-free residuals of n joints, as of `free_residuals`, and thresholds.

    These give so many false alarms per hour, with a confidence that they are not exceeded; the
    period is that of the samples [s]. With `sigmas` they are so many standard deviations instead
    (paper 001: 6), whatever rate that gives.
    """
    table = np.concatenate(list(residuals)).astype(float)
    options = config.detector
    thresholds = (sigma_thresholds(table[:, :n], period, sigmas) if sigmas is not None else
                  fit_watched(table, n, period, rate, confidence, (options.count, options.window)))
    statistics = ResidualStatistics(
        mean=tuple(map(float, table[:, :n].mean(axis=0))),
        sigma=tuple(map(float, table[:, :n].std(axis=0))), minutes=len(table) * period / 60.0)
    return Calibration(statistics, thresholds)


def count_alarms(residuals: Sequence[Array], thresholds: Thresholds, config: DetectionConfig,
                 period: float) -> int:
    """False alarms in collision-free recordings."""
    options, n = config.detector, thresholds.n
    height = np.array((*thresholds.constant, *thresholds.onset))
    gap = round(SEPARATION / period)
    alarms = 0
    for table in residuals:
        ratio = np.abs(table) / height
        signal = np.max([alarm_statistic(column, options.count, options.window)
                         for column in ratio[:, :n].T], axis=0)
        onsets = ratio[len(ratio) - len(signal):, n:]   # no debouncing
        signal = np.maximum(signal, onsets.max(axis=1, initial=0.0))
        alarms += len(cluster_maxima(signal, 1.0, gap))
    return alarms


def store(path: Path, model: Arm, calibration: Calibration, method: str,
          sources: Sequence[Path] = ()) -> ModelFile:
    """Write into a model file, whole or not at all; what else it holds stays."""
    if path.exists():
        file = ModelFile.read(path, model.name)
    else:
        file = ModelFile(format=FORMAT, arm=model.name, arm_file=ArmSource.of(model.config),
                         provenance=Provenance.now(method, sources))
    file = replace(file, residual=calibration.statistics, thresholds=calibration.thresholds)
    file.write(path)
    return file
