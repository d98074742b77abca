"""How much later the cells speak than the encoders, by correlation (thesis 003, fig. 4.16)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import signal

from armsense.errors import ArmsenseError, BadValue
from armsense.types import Array

LEAST_CORRELATION = 0.5


class TimeShift(NamedTuple):
    """Delay of the measurement."""

    delay: float          # [s] > 0: the cells are later than the encoders
    correlation: float    # at that delay, 0 ... 1
    uncertainty: float    # [s] by which the delay may move before the correlation falls by 0.1 %


def find_time_shift(measured: Array, predicted: Array, period: float,
                    longest: float = 5.0) -> TimeShift:
    """Delay of the measured felt wrench against the predicted one.

    Args:
        measured: [N, Nm], (N, k), sampled at `period`.
        predicted: From the encoders, (N, k).
        period: [s].
        longest: Largest delay that is looked for, to either side [s].

    Raises:
        ArmsenseError: The two have little in common, or the arm hardly moves.
    """
    a, b = np.asarray(measured, float), np.asarray(predicted, float)
    if a.shape != b.shape or a.ndim != 2:
        raise BadValue('shapes', (a.shape, b.shape), 'twice (N, k)')
    reach = min(round(longest / period), len(a) - 2)
    if reach < 1:
        raise BadValue('length of the recording', len(a) * period, f'over {2 * period:g} s')
    lags, score = _correlation(a, b, reach)
    best = int(np.argmax(score))
    if not score[best] >= LEAST_CORRELATION:
        raise ArmsenseError(f'cells and encoders have little in common (correlation '
                            f'{score[best]:.2f}); check layout, arm and recording')
    offset, curvature = _parabola(score, best)
    width = np.sqrt(1e-3 / curvature) if curvature > 0.0 else float(reach)
    return TimeShift(float((lags[best] + offset) * period), float(min(score[best], 1.0)),
                     float(width * period))


def _correlation(a: Array, b: Array, reach: int) -> tuple[NDArray[np.int64], Array]:
    """Correlation of the overlapping parts at each lag, all axes together."""
    N = len(a)
    spread = np.maximum(b.std(axis=0), 1e-12)
    if b.std(axis=0).max() < 1e-9:
        raise ArmsenseError('the predicted wrench does not change: the arm must move')
    a, b = (a - a.mean(axis=0)) / spread, (b - b.mean(axis=0)) / spread
    lags = np.arange(-reach, reach + 1)
    places = N - 1 + lags
    product = sum(signal.correlate(a[:, j], b[:, j], 'full')[places] for j in range(a.shape[1]))
    # Energies of the parts that overlap at each lag.
    total_a = np.concatenate([[0.0], np.cumsum(np.square(a).sum(axis=1))])
    total_b = np.concatenate([[0.0], np.cumsum(np.square(b).sum(axis=1))])
    first, last = np.maximum(lags, 0), np.minimum(N, N + lags)
    energy_a = total_a[last] - total_a[first]
    energy_b = total_b[last - lags] - total_b[first - lags]
    return lags, np.asarray(product / np.sqrt(np.maximum(energy_a * energy_b, 1e-30)))


def _parabola(score: Array, best: int) -> tuple[float, float]:
    """Peak between the samples and its curvature."""
    if not 0 < best < len(score) - 1:
        return 0.0, 0.0
    left, top, right = score[best - 1:best + 2]
    curvature = float(top - 0.5 * (left + right))
    return (float(0.25 * (right - left) / curvature), curvature) if curvature > 0 else (0.0, 0.0)
