"""How well predicted torques agree with measured ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from armsense.errors import BadValue
from armsense.types import Array


@dataclass(frozen=True)
class TorqueError:
    """Error of predicted torques; percent means 100 |error| / |torque| in Euclidean norms."""

    percent: float          # pooled over joints
    joint_percent: Array    # (n,)
    rms: Array              # [Nm], (n,)
    maximum: Array          # [Nm], (n,)
    whiteness: Array        # probability that the errors are white noise, (n,)

    @property
    def mean_joint_percent(self) -> float:
        return float(self.joint_percent.mean())


def torque_error(measured: Array, predicted: Array) -> TorqueError:
    """Errors of (N, n) predicted torques."""
    if measured.shape != predicted.shape or measured.ndim != 2:
        raise BadValue('shapes of measured and predicted torque',
                       (measured.shape, predicted.shape), '(N, n), both the same')
    error = measured - predicted
    size = np.linalg.norm(measured, axis=0)
    if not np.all(size > 0.0):
        raise BadValue('measured torque of joint', int(np.argmin(size)) + 1, 'not all zero')
    return TorqueError(
        percent=float(100.0 * np.linalg.norm(error) / np.linalg.norm(measured)),
        joint_percent=100.0 * np.linalg.norm(error, axis=0) / size,
        rms=np.sqrt(np.mean(np.square(error), axis=0)),
        maximum=np.abs(error).max(axis=0),
        whiteness=np.array([whiteness(column) for column in error.T]))


def whiteness(error: Array, lags: int = 20) -> float:
    """Ljung-Box probability of such correlations in white noise, (N,)."""
    N = len(error)
    least = lags + 2
    if least > N:
        raise BadValue('number of samples', N, f'>= {least}')
    x = error - error.mean()
    power = float(x @ x)
    if power == 0.0:
        return 1.0
    correlation = np.array([x[k:] @ x[:-k] for k in range(1, lags + 1)]) / power
    lag = np.arange(1, lags + 1)
    Q = N * (N + 2) * np.sum(np.square(correlation) / (N - lag))
    return float(stats.chi2.sf(Q, lags))


def correlation_factor(error: Array) -> float:
    """By how much fewer independent samples there are than samples, >= 1, (N,).

    Sum of the autocorrelation up to its first negative value (initial positive sequence).
    """
    x = error - error.mean()
    power = np.abs(np.fft.rfft(x, 2 * len(x))) ** 2
    correlation = np.fft.irfft(power)[:len(x)]
    if correlation[0] <= 0.0:
        return 1.0
    correlation = correlation / correlation[0]
    below = np.flatnonzero(correlation < 0.0)
    end = int(below[0]) if len(below) else len(correlation)
    return float(max(1.0, 1.0 + 2.0 * correlation[1:end].sum()))
