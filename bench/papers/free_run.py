"""What a run without collisions tells of load cells: delay (thesis 003, fig. 4.16), resonances."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import signal

from armsense.base.vibration import VibrationMode
from armsense.errors import ArmsenseError, BadValue
from armsense.types import Array

LEAST_CORRELATION = 0.5
PROMINENCE = 4.0      # of a peak over the neighbourhood, in amplitude


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


def find_modes(residual: Array, period: float, *, lowest: float = 1.0, count: int = 3,
               resolution: float = 0.25) -> tuple[VibrationMode, ...]:
    """Strongest resonances in the residual of a run without collisions.

    Args:
        residual: (N, k).
        period: [s].
        lowest: Below this frequency [Hz] lies what collisions and model errors look like.
        count: Most modes returned.
        resolution: Of the spectrum [Hz].
    """
    data = np.asarray(residual, float).reshape(len(residual), -1)
    segment = min(len(data), round(1.0 / (resolution * period)))
    if segment < 16:
        raise BadValue('length of the run', len(data) * period, f'>= {1.0 / resolution:g} s')
    f, power = signal.welch(data, 1.0 / period, nperseg=segment, axis=0)
    amplitude = np.sqrt(power * (f[1] - f[0]) * 3.0)          # of a sine, Hann window, (F, k)
    relative = (amplitude / np.maximum(np.median(amplitude, axis=0), 1e-300)).max(axis=1)
    around = np.array([np.median(relative[max(0, j - 12):j + 13]) for j in range(len(f))])
    found = [p for p in signal.find_peaks(relative)[0].tolist()
             if f[p] >= lowest and relative[p] > PROMINENCE * around[p]]
    peaks = sorted(found, key=lambda p: -relative[p])[:count]
    widths = signal.peak_widths(relative, peaks, rel_height=0.5)[0] * (f[1] - f[0])
    return tuple(VibrationMode(frequency=float(f[p]), width=float(max(2.0 * w, 0.2 * f[p])),
                               amplitude=float(amplitude[p].max()))
                 for p, w in zip(peaks, widths, strict=True))
