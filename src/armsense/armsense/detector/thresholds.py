"""Thresholds of the residual: given, or from collision-free recordings.

Joint j is free while |r_j| <= constant_j + velocity_j |dq_j| + acceleration_j |ddq_j|.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike
import scipy.optimize

from armsense.detector.extreme_value import alarm_statistic, fit_tail, tail_maxima
from armsense.errors import ArmsenseError, BadValue
from armsense.model.model_file import Thresholds
from armsense.types import Array

_REST_FLOOR = 0.1  # least constant part, as a share of the median residual
_CELLS = 64  # per axis, into which recorded speeds and accelerations are sorted
_RARE = 0.9995  # share of the samples below the level of an age
MIN_CLUSTERS = 30  # below this a tail is a guess
MAX_EXTRAPOLATION = 3.0  # recordings should last a third of the mean time between alarms, or more
# Peaks wanted per joint: few come from further out in the tail, many scatter less.
_CLUSTERS, _CLUSTERS_PER_HOUR, _MAX_CLUSTERS = 30, 30.0, 200


def fixed_thresholds(values: ArrayLike) -> Thresholds:
    """Constant thresholds [Nm], (n,)."""
    array = np.atleast_1d(np.asarray(values, float))
    if array.ndim != 1 or not (np.isfinite(array) & (array > 0.0)).all():
        raise BadValue('thresholds', np.asarray(values).tolist(), 'positive and finite')
    return Thresholds(kind='fixed', constant=_tuple(array))


def sigma_thresholds(residuals: Array, dt: float, factor: float = 6.0) -> Thresholds:
    """Mean plus `factor` standard deviations of collision-free residuals (N, n) (paper 001: 6)."""
    residuals = recording('residuals', residuals)
    if not factor > 0.0:
        raise BadValue('number of standard deviations', factor, '> 0')
    values = np.abs(residuals.mean(axis=0)) + factor * residuals.std(axis=0)
    return Thresholds(kind='sigma', constant=_tuple(values), minutes=len(residuals) * dt / 60.0)


def motion_thresholds(residuals: Array, dq: Array, dt: float, ddq: Array | None = None,
                      margin: float = 1.2) -> Thresholds:
    """The lowest plane a + b |dq| + c |ddq| over all recorded residuals, times a margin.

    Collision-free residuals [Nm], velocities [rad/s] and, for c, accelerations [rad/s^2], (N, n)
    each, with a sampling period [s].
    """
    residuals = recording('residuals', residuals)
    speeds = [np.abs(recording('dq', dq))]
    if ddq is not None:
        speeds.append(np.abs(recording('ddq', ddq)))
    if any(s.shape != residuals.shape for s in speeds):
        raise BadValue('shapes', [s.shape for s in speeds], f'{residuals.shape}, as the residuals')
    planes = np.array([_envelope(np.abs(residuals[:, j]), [s[:, j] for s in speeds])
                       for j in range(residuals.shape[1])]) * margin  # (n, 2 or 3)
    return Thresholds(
        kind='motion', constant=_tuple(planes[:, 0]), velocity=_tuple(planes[:, 1]),
        acceleration=_tuple(planes[:, 2]) if ddq is not None else (),
        minutes=len(residuals) * dt / 60.0)


def recording(what: str, values: ArrayLike) -> Array:
    """A finite recording, (N, n)."""
    array = np.asarray(values, float)
    if array.ndim != 2 or len(array) < 2:
        raise BadValue(f'shape of {what}', array.shape, '(N, n) with N > 1')
    if not np.isfinite(array).all():
        raise BadValue(what, 'NaN or infinity', 'finite; leave invalid samples out')
    return array


def _envelope(height: Array, axes: list[Array]) -> Array:
    """Coefficients >= 0 of the plane over all points with the least mean height."""
    cells = np.zeros(len(height), np.intp)
    for axis in axes:
        width = max(axis.max(), 1e-12) / _CELLS
        cells = cells * (_CELLS + 1) + np.minimum(axis / width, _CELLS - 1).astype(np.intp)
    # Per cell, only its highest point at its lowest speed binds: a little more than needed.
    order = np.argsort(cells, kind='stable')
    starts = np.flatnonzero(np.diff(cells[order], prepend=-1))
    top = np.maximum.reduceat(height[order], starts)
    low = [np.minimum.reduceat(axis[order], starts) for axis in axes]
    A = np.stack([np.ones(len(top)), *low], axis=1)
    cost = np.array([1.0, *(axis.mean() for axis in axes)])
    # A floor on the constant part keeps the arm at rest from having no threshold at all.
    floor = _REST_FLOOR * float(np.median(height))
    solution = scipy.optimize.linprog(cost, A_ub=-A, b_ub=-top,
                                      bounds=[(floor, None)] + [(0.0, None)] * len(axes))
    if not solution.success:
        raise ArmsenseError(f'no plane over the residuals was found: {solution.message}')
    return np.asarray(solution.x)


def _tuple(values: Array) -> tuple[float, ...]:
    return tuple(float(v) for v in values)


def fit_false_alarm_threshold(residuals: Array, dt: float, rate_per_hour: float,
                              confidence: float = 0.9, *, shape: Thresholds | None = None,
                              dq: Array | None = None, ddq: Array | None = None,
                              debounce: tuple[int, int] = (1, 1),
                              separation: float = 0.5) -> Thresholds:
    """Thresholds that give at most `rate_per_hour` false alarms, all joints together.

    Each joint gets an equal share of the rate: the sum over joints bounds that of the arm. Alarms
    of a joint closer than `separation` count as one.

    Args:
        residuals: Collision-free [Nm], (N, n).
        dt: Sampling period [s].
        rate_per_hour: Wanted [1/h].
        confidence: Probability that the rate is not exceeded, as far as the recording tells: 0.5
            gives the best estimate, more a higher threshold, higher for a shorter recording.
        shape: Speed-dependent thresholds whose height is to be found; None: constant ones.
        dq: Velocities [rad/s], (N, n), where `shape` needs them.
        ddq: Accelerations [rad/s^2], (N, n), where `shape` needs them.
        debounce: (k, m) of the detector: an alarm is k of m samples above the threshold.
        separation: [s].
    """
    residuals = recording('residuals', residuals)
    if not 0.0 < rate_per_hour < np.inf:
        raise BadValue('rate_per_hour', rate_per_hour, '> 0')
    if not 0.5 <= confidence < 1.0:
        raise BadValue('confidence', confidence, '0.5 ... 1')
    N, n = residuals.shape
    hours = N * dt / 3600.0
    base = _base(shape, n)
    statistic = np.abs(residuals) / (base.at(dq, ddq) if dq is not None else base.at(np.zeros(n)))
    share = rate_per_hour / n
    peaks = min(round(_CLUSTERS + _CLUSTERS_PER_HOUR * hours), _MAX_CLUSTERS)
    levels, clusters, warnings = [], [], []
    for j in range(n):
        signal = alarm_statistic(statistic[:, j], *debounce)
        maxima, level = tail_maxima(signal, max(round(separation / dt), 1), peaks)
        if len(maxima) < 2:
            raise BadValue(f'recording of joint {j + 1}', f'{hours * 60:.1f} min', 'longer')
        # A rate higher than that of the peaks needs no tail: the level itself is low enough.
        levels.append(max(fit_tail(maxima, level, hours).level_for(share, confidence), level))
        clusters.append(len(maxima))
        if len(maxima) < MIN_CLUSTERS:
            warnings.append(f'joint {j + 1} rests on {len(maxima)} peaks; {MIN_CLUSTERS} or more '
                            'are needed for a tail')
    if 1.0 / share > MAX_EXTRAPOLATION * hours:
        warnings.append(f'{hours * 60:.0f} min of recording, extrapolated to one alarm in '
                        f'{1.0 / share:.1f} h per joint; record {20.0 / share:.0f} min or more')
    return replace(base.scaled(np.array(levels)), kind='false_alarm_rate',
                   rate_per_hour=rate_per_hour, confidence=confidence, minutes=hours * 60.0,
                   clusters=tuple(clusters), warnings=tuple(warnings))


def fit_watched(table: Array, n: int, dt: float, rate_per_hour: float, confidence: float = 0.9,
                debounce: tuple[int, int] = (1, 1)) -> Thresholds:
    """Thresholds for a monitor, from what it watched in collision-free motion.

    The first n columns are residuals [Nm], further ones the statistic of onsets by age; where
    there are such, residuals and onsets have half of the rate each. Ages get levels that are
    exceeded equally often; what is fitted is their common height. Other arguments as above.
    """
    residuals, statistic = table[:, :n], table[:, n:]
    if not statistic.shape[1]:
        return fit_false_alarm_threshold(residuals, dt, rate_per_hour, confidence,
                                         debounce=debounce)
    half = 0.5 * rate_per_hour
    limits = fit_false_alarm_threshold(residuals, dt, half, confidence, debounce=debounce)
    levels = np.quantile(statistic, _RARE, axis=0)
    common = (statistic / levels).max(axis=1, keepdims=True)
    height = fit_false_alarm_threshold(common, dt, half, confidence)
    return replace(limits, onset=_tuple(height.constant[0] * levels), rate_per_hour=rate_per_hour)


def _base(shape: Thresholds | None, n: int) -> Thresholds:
    """The shape whose height is sought; constant ones are of height one."""
    if shape is None:
        return Thresholds(kind='fixed', constant=(1.0,) * n)
    if shape.n != n:
        raise BadValue('joints of shape', shape.n, f'{n}, as the residuals')
    return shape
