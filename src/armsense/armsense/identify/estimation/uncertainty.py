"""What is known: base parameters with intervals, single parameters in words.

    beta = H^-1 f,    H = sum_g H_g,   H_g = X_g^T W X_g,   f = sum_g X_g^T W y_g
    cov  = (G - 1) / G  sum_g d_g d_g^T,    d_g = (H - H_g)^-1 (f - f_g) - beta

Behind a low-pass the errors of neighbouring samples are alike, joints share errors, and a slow
motion with many parameters takes up most of the errors in its own band: the usual sigma^2 H^-1
promises too much, and so do estimates from the errors that are left. The jackknife over G blocks
of time longer than the correlation asks instead how far the estimate moves without a block.
No prior and no bounds: these are the numbers that the data alone give.

A parameter alone is known in one of four ways: by itself; in a combination with others; not at
all, because it moves no torque; or not here, because this motion lets it move the torque by less
than the noise. Where the data are silent, the value of the CAD model stays, and the sentence says
so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import stats

from armsense.errors import BadValue
from armsense.identify.estimation.base_parameters import base_parameters, BaseParameters, regrouped
from armsense.identify.estimation.feasible import parameter_scale
from armsense.identify.friction.columns import DriveColumns
from armsense.identify.signals.filters import correlation_factor
from armsense.model.arm import Arm, PARAMETER_NAMES
from armsense.types import Array

BLOCK = 12       # samples at least: behind the filter there are five per period of the cut-off
MEMORY = 4.0     # block over the correlation of the errors
BLOCKS = (10, 60)   # over all recordings
SAMPLES = 80     # random states that show the structure
TINY = 1e-12     # of a column's own product: below it nothing was excited
NORMAL_95 = float(stats.norm.ppf(0.975))
BLIND = 0.9       # of the prior's width: the data say nothing
WORDS = {'m': 'mass', 'mx': 'moment m c_x', 'my': 'moment m c_y', 'mz': 'moment m c_z',
         'Ixx': 'I_xx', 'Ixy': 'I_xy', 'Iyy': 'I_yy', 'Ixz': 'I_xz', 'Iyz': 'I_yz',
         'Izz': 'I_zz'}
KINDS = ('alone', 'combined', 'weak', 'silent')


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


def structure(model: Arm, drive: DriveColumns, seed: int = 0) -> BaseParameters:
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


class Finding(NamedTuple):
    """What is known of one inertial parameter."""

    name: str         # such as Ixy2
    kind: str         # out of KINDS
    sentence: str


def in_words(model: Arm, columns: list[Array], noise: Array,
             found: BaseEstimate) -> list[Finding]:
    """One finding per inertial parameter.

    Args:
        model: The arm.
        columns: Of links and drives per recording, (N, n, p) each.
        noise: Of the torques [Nm], (n,).
        found: Base parameters with covariance.
    """
    scale = parameter_scale(model.parameters)
    moved = _torque_moved(columns, scale) / noise                           # (p, n)
    wide = found.deviations * NORMAL_95
    out = []
    for k, name in enumerate(model.parameter_names):
        link = model.link_names[k // len(PARAMETER_NAMES)]
        what = f'{WORDS[PARAMETER_NAMES[k % len(PARAMETER_NAMES)]]} of {link}'
        rows = np.flatnonzero(np.abs(found.base.combination[:, k]) > 1e-9).tolist()
        out.append(_finding(name, what, rows, k, scale[k], float(moved[k].max()), found, wide))
    return out


def _finding(name: str, what: str, rows: list[int], k: int, scale: float, moved: float,
             found: BaseEstimate, wide: Array) -> Finding:
    if not rows:
        return Finding(name, 'silent', f'{what} moves no joint torque whatever the motion: '
                                       'not identifiable, CAD value kept')
    if moved < 1.0:
        return Finding(name, 'weak', f'{what} moves the torque by less than the noise '
                                     f'({100.0 * moved:.0f} % of it): not identified, CAD value '
                                     'kept')
    row = min(rows, key=lambda i: float(wide[i]))
    if wide[row] > BLIND * scale * np.abs(found.base.combination[row, k]):
        return Finding(name, 'weak', f'{what}: the interval is as wide as the value; this motion '
                                     'does not tell it, CAD value kept')
    if len(rows) == 1 and np.count_nonzero(found.base.combination[row]) == 1:
        return Finding(name, 'alone', f'{what} is identified: {found.values[row]:.4g} +- '
                                      f'{wide[row]:.2g}')
    return Finding(name, 'combined', f'{what} is identified only in {found.names[row]} = '
                                     f'{found.values[row]:.4g} +- {wide[row]:.2g}')


def _torque_moved(columns: list[Array], scale: Array) -> Array:
    """Rms torque of each parameter at its typical size [Nm], (p, n)."""
    squares = sum(np.square(part[:, :, :len(scale)]).sum(axis=0) for part in columns)
    rows = sum(map(len, columns))
    return np.asarray(np.sqrt(squares / rows).T * scale[:, None])
