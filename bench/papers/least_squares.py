"""Ordinary and weighted least squares of one stacked regressor, with covariance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from armsense.errors import BadValue
from armsense.types import Array


@dataclass(frozen=True)
class Estimate:
    """Parameters with their uncertainty."""

    theta: Array         # (p,)
    covariance: Array    # (p, p)
    sigma: float         # deviation of the weighted residual
    freedom: float       # rows minus parameters

    def interval(self, confidence: float = 0.95) -> Array:
        """Lower and upper bound of each parameter, (p, 2)."""
        if not 0.0 < confidence < 1.0:
            raise BadValue('confidence', confidence, '> 0 and < 1')
        reach = stats.t.ppf(0.5 + 0.5 * confidence, max(self.freedom, 1.0))
        half = reach * np.sqrt(np.maximum(np.diag(self.covariance), 0.0))
        return np.stack([self.theta - half, self.theta + half], axis=1)


def ordinary(W: Array, y: Array, weights: Array | None = None) -> Estimate:
    """Ordinary or weighted least squares, (N, p), (N,); weights are inverse variances, (N,)."""
    _check(W, y)
    if weights is not None:
        root = np.sqrt(weights)
        W, y = W * root[:, None], y * root
    theta = np.asarray(np.linalg.lstsq(W, y, rcond=None)[0], float)
    freedom = max(len(y) - W.shape[1], 1)
    sigma2 = float(np.sum(np.square(y - W @ theta)) / freedom)
    covariance = np.asarray(sigma2 * np.linalg.pinv(W.T @ W), float)
    return Estimate(theta, covariance, float(np.sqrt(sigma2)), freedom)


def _check(W: Array, y: Array) -> None:
    if W.ndim != 2 or y.shape != (len(W),):
        raise BadValue('shapes of regressor and torque', (W.shape, y.shape), '(N, p) and (N,)')
    if len(y) < W.shape[1]:
        raise BadValue('number of equations', len(y), f'>= {W.shape[1]}, one per parameter')
    if not (np.isfinite(W).all() and np.isfinite(y).all()):
        raise BadValue('regressor or torque', 'nan or inf', 'finite')
