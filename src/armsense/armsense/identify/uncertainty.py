"""Base parameters with intervals that keep their promise.

    beta = H^-1 f,    H = sum_g H_g,   H_g = X_g^T W X_g,   f = sum_g X_g^T W y_g
    cov  = (G - 1) / G  sum_g d_g d_g^T,    d_g = (H - H_g)^-1 (f - f_g) - beta

Behind a low-pass the errors of neighbouring samples are alike, joints share errors, and a slow
motion with many parameters takes up most of the errors in its own band: the usual sigma^2 H^-1
promises too much, and so do estimates from the errors that are left. The jackknife over G blocks
of time longer than the correlation asks instead how far the estimate moves without a block.
No prior and no bounds: these are the numbers that the data alone give.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from armsense.errors import BadValue
from armsense.identify.base_parameters import base_parameters, BaseParameters, regrouped
from armsense.identify.friction_columns import DriveColumns
from armsense.identify.validation import correlation_factor
from armsense.model.arm_model import ArmModel
from armsense.types import Array

BLOCK = 12       # samples at least: behind the filter there are five per period of the cut-off
MEMORY = 4.0     # block over the correlation of the errors
BLOCKS = (10, 60)   # over all recordings
SAMPLES = 80     # random states that show the structure
TINY = 1e-12     # of a column's own product: below it nothing was excited


@dataclass(frozen=True)
class BaseEstimate:
    """Base parameters of links and drives with their covariance."""

    base: BaseParameters
    values: Array              # (r,)
    covariance: Array          # (r, r)
    blocks: int                # of the jackknife
    singular_values: Array     # of the regressor in units of the noise, columns of unit length

    @property
    def names(self) -> tuple[str, ...]:
        return self.base.names

    @property
    def condition(self) -> float:
        """Condition number of the scaled regressor: how evenly the motion excites."""
        return float(self.singular_values[0] / max(self.singular_values[-1], 1e-300))

    @property
    def deviations(self) -> Array:
        """Standard deviations, (r,)."""
        return np.asarray(np.sqrt(np.maximum(np.diag(self.covariance), 0.0)))

    def intervals(self, confidence: float = 0.95) -> Array:
        """Lower and upper bounds, (r, 2)."""
        if not 0.0 < confidence < 1.0:
            raise BadValue('confidence', confidence, '> 0 and < 1')
        half = stats.t.ppf(0.5 + 0.5 * confidence, self.blocks - 1) * self.deviations
        return np.stack([self.values - half, self.values + half], axis=1)


def structure(model: ArmModel, drive: DriveColumns, seed: int = 0) -> BaseParameters:
    """Base parameters of links and drives together, from random states."""
    q, dq, ddq = np.random.default_rng(seed).uniform(-2.0, 2.0, (3, SAMPLES, model.n))
    load = np.random.default_rng(seed + 1).normal(size=(SAMPLES, model.n))
    Y = model.torque_regressor_batch(q, dq, ddq).reshape(SAMPLES, model.n, -1)
    W = np.concatenate([Y, drive.columns(dq, ddq, load)], axis=2).reshape(SAMPLES * model.n, -1)
    # Drive terms first: friction is known by itself, a rotor's inertia joins the link's.
    own = [name for name in drive.names if not name.startswith('inertia')]
    return base_parameters(W, (*model.parameter_names, *drive.names),
                           prefer=(*own, *regrouped(model.parameter_names)))


def estimate_base(base: BaseParameters, columns: Sequence[Array], torques: Sequence[Array],
                  weights: Sequence[Array], instruments: Sequence[Array] | None = None,
                  prior: tuple[Array, Array] | None = None) -> BaseEstimate:
    """Weighted least squares with robust covariance.

    Args:
        base: Structure.
        columns: X of links and drives per recording, (N, n, p) each.
        torques: y [Nm], (N, n) each.
        weights: Inverse variances times the trust in a sample, (N, n) each.
        instruments: Z in place of X^T on the left; None: X itself.
        prior: Values and inverse variances of the base parameters, (r,) each.
    """
    keep = list(base.independent)
    r = len(keep)
    X, Y = _weighted(columns, weights, keep), [y * np.sqrt(w) for y, w
                                               in zip(torques, weights, strict=True)]
    Z = X if instruments is None else _weighted(instruments, weights, keep)
    if sum(y.size for y in Y) < r:
        raise BadValue('number of equations', sum(y.size for y in Y),
                       f'>= {r}, one per base parameter')
    left, right = (_lengths(x) for x in (Z, X))
    H, f = np.zeros((r, r)), np.zeros(r)
    for z, x, y in zip(Z, X, Y, strict=True):
        own = (z / left).reshape(-1, r).T
        H += own @ (x / right).reshape(-1, r)
        f += own @ y.ravel()
    singular = np.sqrt(np.abs(np.linalg.svd(H, compute_uv=False)))
    if prior is not None:
        H = H + np.diag(prior[1] / left / right)
        f = f + prior[1] * prior[0] / left
    beta = _solve(H, f)
    memory = max(correlation_factor(column) for x, y in zip(X, Y, strict=True)
                 for column in (y - (x / right) @ beta).T)
    moves = []
    for z, x, y in _parts(Z, X, Y, max(BLOCK, int(MEMORY * memory))):
        own = (z / left).T
        moves.append(_solve(H - own @ (x / right), f - own @ y) - beta)
    G = len(moves)
    spread = np.array(moves) / right                                        # (G, r)
    return BaseEstimate(base, beta / right, (G - 1.0) / G * spread.T @ spread, G, singular)


def _weighted(columns: Sequence[Array], weights: Sequence[Array], keep: list[int]) -> list[Array]:
    return [x[:, :, keep] * np.sqrt(w)[:, :, None]
            for x, w in zip(columns, weights, strict=True)]


def _lengths(X: Sequence[Array]) -> Array:
    """Of the columns, (r,); columns of zeros count as one."""
    squares = sum(np.einsum('tjp,tjp->p', x, x) for x in X)
    return np.where(squares > 0.0, np.sqrt(squares), 1.0)


def _parts(Z: Sequence[Array], X: Sequence[Array], Y: Sequence[Array],
           length: int) -> list[tuple[Array, Array, Array]]:
    """Blocks of time of all recordings, each (rows, r), (rows, r) and (rows,)."""
    rows = sum(map(len, Y))
    count = int(np.clip(rows // length, *BLOCKS))
    parts = []
    for z, x, y in zip(Z, X, Y, strict=True):
        r = x.shape[2]
        for index in np.array_split(np.arange(len(y)), max(1, round(count * len(y) / rows))):
            parts.append((z[index].reshape(-1, r), x[index].reshape(-1, r), y[index].ravel()))
    if len(parts) < 2:
        raise BadValue('blocks of time', len(parts), '>= 2: record longer')
    return parts


def _solve(H: Array, f: Array) -> Array:
    """Solution of balanced equations, small where the motion leaves parameters open."""
    return np.asarray(np.linalg.solve(H + TINY * np.eye(len(H)), f))
