"""Periodic excitation: find the period, average the periods, tell their variance.

    x_mean(k) = 1/S sum_j x_j(k),    var(k) = 1/(S (S - 1)) sum_j (x_j(k) - x_mean(k))^2

over S periods (thesis 000, eqs. 4.45-4.46; the document prints q twice in 4.45). The variance is
that of the mean.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from armsense.errors import ArmsenseError, BadValue
from armsense.identify.recording import Recording
from armsense.types import Array

LEAST_SIMILAR = 0.98     # correlation of the motion with itself one period later


class PeriodAverage(NamedTuple):
    """One period, the mean of S."""

    recording: Recording
    position_variance: Array    # of the mean [rad^2], (P, n)
    torque_variance: Array      # [Nm^2], (P, n)
    periods: int                # S


def find_period(recording: Recording) -> float | None:
    """Period of a regular recording [s]; None: the motion does not repeat."""
    q = recording.q - recording.q.mean(axis=0)
    q = q / np.maximum(q.std(axis=0), 1e-9)
    N = len(q)
    spectrum = np.abs(np.fft.rfft(q, 2 * N, axis=0)) ** 2
    product = np.fft.irfft(spectrum, axis=0)[:N].sum(axis=1)
    energy = np.concatenate([[0.0], np.cumsum(np.square(q).sum(axis=1))])
    lags = np.arange(1, N // 2 + 1)
    both = np.sqrt(energy[N - lags] * (energy[N] - energy[lags]))
    score = product[lags] / np.maximum(both, 1e-300)
    below = np.flatnonzero(score < 0.5)
    if not len(below):
        return None
    late = score[below[0]:]
    if not len(late) or late.max() < LEAST_SIMILAR:
        return None
    # The first peak as high as the highest: multiples of the period fit as well.
    peaks = np.flatnonzero(late >= late.max() - 0.5 * (1.0 - LEAST_SIMILAR))
    start = below[0] + peaks[0]
    end = start + 1
    while end < len(score) and score[end] > score[end - 1]:
        end += 1
    return float((lags[end - 1] + _vertex(score, end - 1)) / recording.rate)


def average_periods(recording: Recording, period: float | None = None) -> PeriodAverage:
    """Mean period of a regular recording; what is left over at the end is not used.

    Args:
        recording: On a regular clock.
        period: [s]; None: found from the motion.
    """
    period = period or find_period(recording)
    if period is None:
        raise ArmsenseError(f'{recording.name}: the motion does not repeat; periods cannot be '
                            'averaged')
    length = float(recording.t[-1] - recording.t[0]) + 1.0 / recording.rate
    S = int(length / period + 1e-6)
    if S < 2:
        raise BadValue(f'{recording.name}: number of periods', S, '>= 2 to average them')
    P = round(period * recording.rate)
    # The clock need not divide the period: each period is read at its own times.
    at = recording.t[0] + np.arange(S)[:, None] * period + np.arange(P) / P * period   # (S, P)

    def mean(x: Array) -> tuple[Array, Array]:
        each = np.stack([np.interp(at, recording.t, column) for column in x.T], axis=2)
        return each.mean(axis=0), each.var(axis=0, ddof=1) / S

    q, q_variance = mean(recording.q)
    tau, tau_variance = mean(recording.tau)
    dq = None if recording.dq is None else mean(recording.dq)[0]
    one = Recording(np.arange(P) * period / P, q, tau, dq, recording.name)
    return PeriodAverage(one, q_variance, tau_variance, S)


def _vertex(score: Array, k: int) -> float:
    """Peak between the samples."""
    if not 0 < k < len(score) - 1:
        return 0.0
    left, top, right = score[k - 1:k + 2]
    bend = left - 2.0 * top + right
    return float(0.5 * (left - right) / bend) if bend < 0.0 else 0.0
