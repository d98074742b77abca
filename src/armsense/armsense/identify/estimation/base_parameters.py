"""Base parameters: what a regressor can tell apart, and values with intervals.

    W pi = W_b beta,    W_b = W[:, independent],    beta = combination @ pi

The columns of W depend linearly on each other for structural reasons, whatever the motion. Thesis
000, eqs. 4.29-4.32, finds the dependencies by symbolic reduction; here they are found numerically,
after Gautier: a factor R of W with R^T R = W^T W has the same dependent columns as W.

R comes from a QR decomposition where W is small. For long recordings QR is slow, and R comes from
the Gram matrix W^T W, summed in blocks that stay in the cache (120,000 x 84: a few hundredths of a
second instead of several tenths). Squaring W costs half of the digits: a column is dependent when
less than `tolerance` of it sticks out of the others, and dependent columns then show about 1e-8
instead of 1e-16. Independent columns of an arm that moves in all joints show 1e-3 and more,
so that the Gram matrix decides safely from GRAM_LIMIT upwards; a smaller tolerance always takes
QR. `kept` and `dropped` tell how wide the gap was.

Values are those that the data alone give, without prior and bounds:

    beta = H^-1 f,    H = sum_g H_g,   H_g = X_g^T W X_g,   f = sum_g X_g^T W y_g
    cov  = (G - 1) / G  sum_g d_g d_g^T,    d_g = (H - H_g)^-1 (f - f_g) - beta

Behind a low-pass the errors of neighbouring samples are alike, joints share errors, and a slow
motion with many parameters takes up most of the errors in its own band: the usual sigma^2 H^-1
promises too much, and so do estimates from the errors that are left. The jackknife over G blocks
of time longer than the correlation asks instead how far the estimate moves without a block.
A motion that repeats also repeats what the model does not know (friction that reverses, filters):
a block is then a part of the period in all periods, since only other parts have other errors.
By how much the torques are still late is one more unknown, which widens the intervals of the rest.
"""

from collections.abc import Sequence
from dataclasses import dataclass
import re

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg, stats

from armsense.errors import BadValue, UnknownName
from armsense.identify.friction.columns import DriveColumns
from armsense.identify.signals.filters import correlation_factor
from armsense.model.arm import Arm
from armsense.types import Array

GRAM_LIMIT = 1e-6        # smallest tolerance that the squared matrix can resolve, with a margin
SMALL = 500_000          # entries of W up to which QR costs only milliseconds
GRAM_ROWS = 4096         # summed at once
# Regrouping after Khalil puts what the joint of a link cannot feel on the links before it.
FELT = ('Izz', 'Ixx', 'Ixy', 'Ixz', 'Iyz', 'mx', 'my')
BLOCK = 12       # samples at least: behind the filter there are five per period of the cut-off
MEMORY = 4.0     # block over the correlation of the errors
BLOCKS = (10, 60)   # over all recordings
SAMPLES = 80     # random states that show the structure
TINY = 1e-12     # of a column's own product: below it nothing was excited


@dataclass(frozen=True)
class BaseParameters:
    """A minimal set of parameters; all shapes for r of them out of p parameters."""

    independent: tuple[int, ...]   # columns of W that are kept, (r,)
    combination: Array             # beta = combination @ pi, (r, p)
    names: tuple[str, ...]         # such as 'Izz2 + 0.09 m3', (r,)
    parameter_names: tuple[str, ...]   # of pi, (p,)
    kept: float                    # share of a column that sticks out of the others: least kept,
    dropped: float                 # and most dropped (0: none dropped)

    def __len__(self) -> int:
        return len(self.independent)

    def project(self, pi: ArrayLike) -> Array:
        """Base parameters of a full parameter vector, (p,) -> (r,)."""
        values = np.asarray(pi, float)
        if values.shape != (len(self.parameter_names),):
            raise BadValue('shape of the parameters', values.shape,
                           f'({len(self.parameter_names)},)')
        return np.asarray(self.combination @ values)

    def regressor(self, W: Array) -> Array:
        """Columns of the base parameters, (N, p) -> (N, r)."""
        if W.ndim != 2 or W.shape[1] != len(self.parameter_names):
            raise BadValue('shape of the regressor', W.shape, f'(N, {len(self.parameter_names)})')
        return np.asarray(W[:, list(self.independent)])


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


def base_parameters(
    W: Array,
    names: Sequence[str],
    tolerance: float = GRAM_LIMIT,
    prefer: Sequence[str] = (),
) -> BaseParameters:
    """Base parameters of a regressor.

    Args:
        W: Stacked regressor, (N, p).
        names: Of the p parameters.
        tolerance: Share of a column that must stick out of the kept ones for it to be kept too.
        prefer: Names to keep first, in this order, as far as they are independent; the others
            follow by size (column pivoting).
    """
    if W.ndim != 2 or W.shape[1] != len(names):
        raise BadValue('shape of the regressor', W.shape, f'(N, {len(names)})')
    if not 0.0 < tolerance < 1.0:
        raise BadValue('tolerance', tolerance, '> 0 and < 1')
    for name in prefer:
        if name not in names:
            raise UnknownName('parameter', name, names)
    return _from_factor(*_scaled_factor(W, tolerance), names, tolerance, prefer)


def _from_factor(R: Array, scale: Array, names: Sequence[str], tolerance: float,
                 prefer: Sequence[str]) -> BaseParameters:
    first = [list(names).index(name) for name in prefer]
    independent, kept, dropped = _choose(R, first, tolerance)
    combination = _combination(R, independent, scale)
    return BaseParameters(
        tuple(independent), combination,
        tuple(readable(row, k, names) for row, k in zip(combination, independent, strict=True)),
        tuple(names), kept, dropped)


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


def regrouped(names: Sequence[str]) -> tuple[str, ...]:
    """Order of preference that puts m, mz and Iyy of a link on the links before it.

    This is the usual form for arms whose joints turn about z of their link frames.
    """
    links = sorted({int(re.sub(r'\D', '', name) or 0) for name in names}, reverse=True)
    return tuple(f'{felt}{link}' for link in links for felt in FELT if f'{felt}{link}' in names)


def _scaled_factor(W: Array, tolerance: float) -> tuple[Array, Array]:
    """R of W with columns of unit length, (min(N, p), p), and the lengths, (p,).

    Columns that are zero next to the longest stay zero with length one.
    """
    if W.size <= SMALL or tolerance < GRAM_LIMIT:
        length = np.linalg.norm(W, axis=0)
        scale, empty = _divisors(length)
        R = np.asarray(linalg.qr(W / scale, mode='r')[0][:W.shape[1]], float)
        R[:, empty] = 0.0
        return R, scale
    return _gram_factor(gram(W, np.zeros(len(W)))[0])


def gram(W: Array, y: Array) -> tuple[Array, Array]:
    """W^T W, (p, p), and W^T y, (p,), summed in blocks that stay in the cache."""
    p = W.shape[1]
    square, right = np.zeros((p, p)), np.zeros(p)
    for k in range(0, len(W), GRAM_ROWS):
        block = W[k:k + GRAM_ROWS]
        square += block.T @ block
        right += block.T @ y[k:k + GRAM_ROWS]
    return square, right


def _gram_factor(square: Array) -> tuple[Array, Array]:
    """As `_scaled_factor`, from W^T W."""
    scale, empty = _divisors(np.sqrt(np.diag(square)))
    value, vector = np.linalg.eigh(square / np.outer(scale, scale))
    R = np.sqrt(np.maximum(value, 0.0))[:, None] * vector.T
    R[:, empty] = 0.0
    return R, scale


def _divisors(length: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Lengths to divide columns by, and which columns are empty."""
    if not np.isfinite(length).all():
        raise BadValue('a regressor entry', 'nan or inf', 'finite')
    empty = length <= 1e-12 * length.max(initial=0.0)
    return np.where(empty, 1.0, length), empty


def _choose(R: Array, first: list[int], tolerance: float) -> tuple[list[int], float, float]:
    """Independent columns: `first` as far as possible, then the one that sticks out most."""
    rest = R.copy()                    # what of each column sticks out of the kept ones
    independent: list[int] = []
    kept, dropped = 1.0, 0.0
    queue = list(first)
    while True:
        share = np.linalg.norm(rest, axis=0)
        while queue and share[queue[0]] <= tolerance:
            queue.pop(0)
        k = queue.pop(0) if queue else int(np.argmax(share))
        if share[k] <= tolerance or len(independent) == R.shape[1]:
            dropped = float(share.max(initial=0.0))
            break
        kept = min(kept, float(share[k]))
        independent.append(k)
        direction = rest[:, k] / share[k]
        for _ in range(2):             # once more: rounding leaves a trace of the direction
            rest -= np.outer(direction, direction @ rest)
        rest[:, k] = 0.0
    return sorted(independent), kept, dropped


def _combination(R: Array, independent: list[int], scale: Array) -> Array:
    """Each column of W as a combination of the independent ones, (r, p)."""
    solution = np.linalg.lstsq(R[:, independent], R, rcond=None)[0]     # for unit columns
    combination = solution * scale / scale[independent][:, None]
    combination[:, independent] = np.eye(len(independent))
    combination[np.abs(solution) < 1e-7] = 0.0   # rounding, not structure
    return np.asarray(combination)


def readable(row: Array, first: int, names: Sequence[str]) -> str:
    """Such as 'Izz2 + 0.09 m3 - Iyy3'."""
    text = names[first]
    for k in np.flatnonzero(np.abs(row) > 1e-7).tolist():
        if k == first:
            continue
        size = f'{abs(row[k]):.4g}'
        text += f' {"-" if row[k] < 0 else "+"} {"" if size == "1" else size + " "}{names[k]}'
    return text


def estimate_base(base: BaseParameters, columns: Sequence[Array], torques: Sequence[Array],
                  weights: Sequence[Array], instruments: Sequence[Array] | None = None,
                  prior: tuple[Array, Array] | None = None, slopes: Sequence[Array] | None = None,
                  periods: Sequence[float] | None = None) -> BaseEstimate:
    """Weighted least squares with robust covariance.

    Args:
        base: Structure.
        columns: X of links and drives per recording, (N, n, p) each.
        torques: y [Nm], (N, n) each.
        weights: Inverse variances times the trust in a sample, (N, n) each.
        instruments: Z in place of X^T on the left; None: X itself.
        prior: Values and inverse variances of the base parameters, (r,) each.
        slopes: Of the torques in time [Nm/s], (N, n) each, for their delay; None: none is left.
        periods: Of the motions in samples, inf: does not repeat; None: none does.
    """
    keep, told = list(base.independent), len(base)
    if slopes is not None:
        keep.append(columns[0].shape[2])
        columns = list(map(np.dstack, zip(columns, slopes, strict=True)))
        instruments = instruments and list(map(np.dstack, zip(instruments, slopes, strict=True)))
        prior = None if prior is None else (np.append(prior[0], 0.0), np.append(prior[1], 0.0))
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
    singular = np.sqrt(np.abs(np.linalg.svd(H[:told, :told], compute_uv=False)))
    if prior is not None:
        H = H + np.diag(prior[1] / left / right)
        f = f + prior[1] * prior[0] / left
    beta = _solve(H, f)
    memory = max(correlation_factor(column) for x, y in zip(X, Y, strict=True)
                 for column in (y - (x / right) @ beta).T)
    moves = []
    spans = [min(period, len(y))
             for period, y in zip(periods or [np.inf] * len(Y), Y, strict=True)]
    for z, x, y in _parts(Z, X, Y, spans, max(BLOCK, int(MEMORY * memory))):
        own = (z / left).T
        moves.append(_solve(H - own @ (x / right), f - own @ y) - beta)
    G = len(moves)
    spread = (np.array(moves) / right)[:, :told]                            # (G, r)
    covariance = (G - 1.0) / G * spread.T @ spread
    return BaseEstimate(base, (beta / right)[:told], covariance, G, singular)


def _weighted(columns: Sequence[Array], weights: Sequence[Array], keep: list[int]) -> list[Array]:
    return [x[:, :, keep] * np.sqrt(w)[:, :, None]
            for x, w in zip(columns, weights, strict=True)]


def _lengths(X: Sequence[Array]) -> Array:
    """Of the columns, (r,); columns of zeros count as one."""
    squares = sum(np.einsum('tjp,tjp->p', x, x) for x in X)
    return np.where(squares > 0.0, np.sqrt(squares), 1.0)


def _parts(Z: Sequence[Array], X: Sequence[Array], Y: Sequence[Array], spans: Sequence[float],
           length: int) -> list[tuple[Array, Array, Array]]:
    """Blocks of all recordings in their spans, each (rows, r), (rows, r) and (rows,).

    A span is the period of a motion that repeats, or all of the recording [samples].
    """
    count = float(np.clip(sum(spans) // length, *BLOCKS))
    parts = []
    for z, x, y, span in zip(Z, X, Y, spans, strict=True):
        r, own = x.shape[2], max(1, round(count * span / sum(spans)))
        block = (np.arange(len(y)) % span * own / span).astype(int)
        for index in (block == k for k in range(own)):
            parts.append((z[index].reshape(-1, r), x[index].reshape(-1, r), y[index].ravel()))
    if len(parts) < 2:
        raise BadValue('blocks of time', len(parts), '>= 2: record longer')
    return parts


def _solve(H: Array, f: Array) -> Array:
    """Solution of balanced equations, small where the motion leaves parameters open."""
    return np.asarray(np.linalg.solve(H + TINY * np.eye(len(H)), f))
