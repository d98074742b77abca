"""Least squares with weights, a prior and robust losses; covariances of the estimates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg, stats

from armsense.errors import BadValue
from armsense.types import Array

HUBER = 1.345     # of the residual's deviation: 95 % efficient for Gaussian noise
TINY = 1e-10      # of a column's own product: keeps dependent columns solvable


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


def per_joint(W: Array, y: Array, n: int) -> Estimate:
    """Weighted by the noise that each joint shows (4.44); rows run joint by joint in a sample."""
    first = ordinary(W, y)
    residual = (y - W @ first.theta).reshape(-1, n)
    variance = np.maximum(residual.var(axis=0), 1e-300)
    return ordinary(W, y, np.tile(1.0 / variance, len(residual)))


def huber(W: Array, y: Array, k: float = HUBER, iterations: int = 30) -> Estimate:
    """Iteratively reweighted least squares: errors beyond k deviations count linearly."""
    estimate = ordinary(W, y)
    for _ in range(iterations):
        weights = huber_weights(y - W @ estimate.theta, k)
        renewed = ordinary(W, y, weights)
        change = np.abs(renewed.theta - estimate.theta).max()
        estimate = renewed
        if change < 1e-9 * (1.0 + np.abs(estimate.theta).max()):
            break
    return estimate


def huber_weights(residual: Array, k: float, reject: float = np.inf,
                  least: Array | float = 0.0) -> Array:
    """1 within k robust deviations (per column), k / |residual| beyond, 0 beyond `reject`.

    The deviation counts as `least` at least: errors of a model are no outliers where noise is low.
    """
    scale = 1.4826 * np.median(np.abs(residual - np.median(residual, axis=0)), axis=0)
    scale = np.maximum(scale, least)
    size = np.abs(residual) / np.maximum(scale, 1e-300)
    return np.where(size > reject, 0.0, np.minimum(1.0, k / np.maximum(size, 1e-300)))


def solve_normal(AA: Array, Ay: Array, prior: Array | None = None,
                 precision: Array | None = None) -> Array:
    """Minimum of theta^T AA theta - 2 Ay theta + sum(precision (theta - prior)^2), (p,)."""
    H, b = AA.copy(), Ay.copy()
    if precision is not None and prior is not None:
        H[np.diag_indices_from(H)] += precision
        b += precision * prior
    diagonal = np.diag(H).copy()
    H[np.diag_indices_from(H)] += TINY * diagonal + 1e-12 * diagonal.max(initial=1e-300)
    return np.asarray(linalg.solve(H, b, assume_a='pos'))


def _check(W: Array, y: Array) -> None:
    if W.ndim != 2 or y.shape != (len(W),):
        raise BadValue('shapes of regressor and torque', (W.shape, y.shape), '(N, p) and (N,)')
    if len(y) < W.shape[1]:
        raise BadValue('number of equations', len(y), f'>= {W.shape[1]}, one per parameter')
    if not (np.isfinite(W).all() and np.isfinite(y).all()):
        raise BadValue('regressor or torque', 'nan or inf', 'finite')
