"""Peaks over a threshold: how often a recorded signal exceeds levels it has hardly reached.

Excesses of cluster maxima over a high level u follow a generalised Pareto distribution,

    P(X > u + y | X > u) = (1 + shape y / scale)^(-1 / shape),

and clusters come as a Poisson process. Neighbouring samples are correlated, so exceedances closer
than a given separation form one cluster: one alarm. Scale, shape and rate are not single numbers
but a posterior distribution on a grid, from the exact likelihood: that of a return level is
skewed, and for the hundred clusters of a calibration run its quantiles hold where a bootstrap of
point estimates is too sure of itself.
"""

from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
import scipy.special

from armsense.errors import BadValue
from armsense.types import Array

_SHAPES = np.linspace(-0.5, 0.8, 66)
_SHAPE_PRIOR = 0.2  # standard deviation about zero, the exponential tail
_SCALES = 80
_RATES = 9  # equally likely values of the cluster rate
_CHUNK = 200_000  # samples at a time


class Tail(NamedTuple):
    """What a recording says about the tail of one signal."""

    level: float  # u
    clusters: int
    shape: float  # posterior mean; negative: bounded, zero: exponential, positive: heavy tail
    scales: Array  # (k,) of the excess, in the signal's unit
    weights: Array  # (shapes, k) posterior, sums to one
    rates: Array  # (_RATES,) [1/h] clusters over u, equally likely

    def level_for(self, rate: float, confidence: float = 0.5) -> float:
        """Level that is exceeded at most `rate` times an hour, with that probability."""
        ratio = np.log(self.rates / rate)[:, None]  # (r, 1)
        exponent = _SHAPES * ratio  # (r, shapes)
        growth = ratio * scipy.special.exprel(exponent)  # (e^x - 1) / shape
        levels = growth[:, :, None] * self.scales  # (r, shapes, k)
        weights = np.broadcast_to(self.weights, levels.shape).ravel()
        order = np.argsort(levels, axis=None)
        below = np.cumsum(weights[order])
        k = int(np.searchsorted(below, confidence * below[-1]))
        return self.level + float(levels.ravel()[order[min(k, len(order) - 1)]])


def alarm_statistic(signal: Array, count: int, window: int) -> Array:
    """The level that `count` of the last `window` samples reach: over the threshold, an alarm.

    (N,) -> (N - window + 1,)
    """
    if not 1 <= count <= window:
        raise BadValue('debounce', (count, window), '1 <= count <= window')
    if window == 1:
        return signal
    windows = sliding_window_view(signal, window)
    return np.concatenate([
        np.partition(windows[k:k + _CHUNK], window - count, axis=1)[:, window - count]
        for k in range(0, len(windows), _CHUNK)])


def cluster_maxima(signal: Array, level: float, separation: int) -> Array:
    """Maximum of each cluster over `level`; clusters are `separation` or more samples apart."""
    above = np.flatnonzero(signal > level)
    return _maxima(above, signal[above], separation)


def tail_maxima(signal: Array, separation: int, clusters: int) -> tuple[Array, float]:
    """Cluster maxima over a high level, and that level.

    The level descends until it leaves `clusters` clusters, but no further than to a tenth of all
    samples: below that, it would no longer be a tail. Where clusters merge before there are
    enough, it is the level that leaves the most.
    """
    limit = max(len(signal) // 10, 2)
    candidates = np.argpartition(signal, len(signal) - limit)[-limit:]
    order = candidates[np.argsort(-signal[candidates])]  # highest first
    best, level = np.empty(0), float(signal[order[0]])
    count = 16
    while count < limit:
        below = float(signal[order[count]])
        above = np.sort(order[:count])
        maxima = _maxima(above, signal[above], separation)
        if len(maxima) > len(best):
            best, level = maxima, below
        if len(best) >= clusters:
            break
        count = int(1.25 * count)
    return best, level


def _maxima(indices: NDArray[np.intp], values: Array, separation: int) -> Array:
    """Maxima of runs of rising indices that are less than `separation` apart."""
    if len(indices) == 0:
        return np.empty(0)
    starts = np.append(0, np.flatnonzero(np.diff(indices) >= separation) + 1)
    return np.asarray(np.maximum.reduceat(values, starts))


def fit_tail(maxima: Array, level: float, hours: float) -> Tail:
    """Posterior of scale and shape from the maxima of the clusters over `level`."""
    y = maxima - level
    m, mean = len(y), float(y.mean())
    spread = 3.0 / np.sqrt(m)
    scales = mean * np.exp(np.linspace(-1.3 - spread, 0.5 + spread, _SCALES))
    relative = y / scales[:, None]  # (scales, m)
    log_posterior = np.empty((len(_SHAPES), _SCALES))
    for k, shape in enumerate(_SHAPES):
        if abs(shape) < 1e-9:
            energy = relative.sum(axis=1)
        else:
            inside = np.maximum(1.0 + shape * relative, 1e-300)  # beyond the end: impossible
            energy = (1.0 + 1.0 / shape) * np.log(inside).sum(axis=1)
            energy[(inside <= 1e-300).any(axis=1)] = np.inf
        log_posterior[k] = -m * np.log(scales) - energy - 0.5 * (shape / _SHAPE_PRIOR) ** 2
    weights = np.exp(log_posterior - log_posterior.max())
    weights /= weights.sum()
    middles = (np.arange(_RATES) + 0.5) / _RATES
    rates = np.asarray(scipy.special.gammaincinv(m + 0.5, middles), float) / hours  # Jeffreys
    shape_mean = float(weights.sum(axis=1) @ _SHAPES)
    return Tail(level, m, shape_mean, scales, weights, np.asarray(rates, np.float64))
