"""Thresholds for a stated number of false alarms per hour, from collision-free residuals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from armsense.detector.extreme_value import fit_tail, tail_maxima
from armsense.detector.thresholds import recording
from armsense.errors import BadValue
from armsense.model.thresholds import Thresholds
from armsense.types import Array

MIN_CLUSTERS = 30  # below this a tail is a guess
MAX_EXTRAPOLATION = 3.0  # recordings should last a third of the mean time between alarms, or more
# Peaks wanted per joint: few come from further out in the tail, many scatter less.
_CLUSTERS, _CLUSTERS_PER_HOUR, _MAX_CLUSTERS = 30, 30.0, 200
_CHUNK = 200_000  # samples at a time


def fit_false_alarm_threshold(
    residuals: Array,
    dt: float,
    rate_per_hour: float,
    confidence: float = 0.9,
    *,
    shape: Thresholds | None = None,
    dq: Array | None = None,
    ddq: Array | None = None,
    debounce: tuple[int, int] = (1, 1),
    separation: float = 0.5,
) -> Thresholds:
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
        warnings.append(f'{hours * 60:.0f} min of recording are extrapolated to one alarm in '
                        f'{1.0 / share:.1f} h per joint; record {20.0 / share:.0f} min or more')
    return replace(base.scaled(np.array(levels)), kind='false_alarm_rate',
                   rate_per_hour=rate_per_hour, confidence=confidence, minutes=hours * 60.0,
                   clusters=tuple(clusters), warnings=tuple(warnings))


def alarm_statistic(signal: Array, count: int, window: int) -> Array:
    """The level that `count` of the last `window` samples reach: over the threshold, an alarm.

    Args:
        signal: (N,).
        count: Samples that must exceed.
        window: Samples looked at.

    Returns:
        (N - window + 1,).
    """
    if not 1 <= count <= window:
        raise BadValue('debounce', (count, window), '1 <= count <= window')
    if window == 1:
        return signal
    windows = sliding_window_view(signal, window)
    return np.concatenate([
        np.partition(windows[k:k + _CHUNK], window - count, axis=1)[:, window - count]
        for k in range(0, len(windows), _CHUNK)])


def _base(shape: Thresholds | None, n: int) -> Thresholds:
    """The shape whose height is sought; constant ones are of height one."""
    if shape is None:
        return Thresholds(kind='fixed', constant=(1.0,) * n)
    if shape.n != n:
        raise BadValue('joints of shape', shape.n, f'{n}, as the residuals')
    return shape
