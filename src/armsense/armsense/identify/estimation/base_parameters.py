"""Base parameters: the combinations of inertial parameters that a regressor can tell apart.

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
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import re

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg

from armsense.errors import BadValue, UnknownName
from armsense.model.arm import Arm
from armsense.types import Array

GRAM_LIMIT = 1e-6        # smallest tolerance that the squared matrix can resolve, with a margin
SMALL = 500_000          # entries of W up to which QR costs only milliseconds
BLOCK = 4096             # rows summed at once
# Regrouping after Khalil puts what the joint of a link cannot feel on the links before it.
FELT = ('Izz', 'Ixx', 'Ixy', 'Ixz', 'Iyz', 'mx', 'my')


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


def base_estimate(W: Array, y: Array, names: Sequence[str]) -> tuple[BaseParameters, Array, float]:
    """Base parameters, their least-squares values (r,) and |y - W_b beta|, in one pass over W.

    For long recordings: W^T W decides and solves, which loses half of the digits.
    """
    if W.ndim != 2 or W.shape[1] != len(names) or y.shape != (len(W),):
        raise BadValue('shapes of regressor and torque', (W.shape, y.shape),
                       f'(N, {len(names)}) and (N,)')
    square, right = gram(W, y)
    base = _from_factor(*_gram_factor(square), names, GRAM_LIMIT, ())
    keep = list(base.independent)
    H, f = square[np.ix_(keep, keep)], right[keep]
    length = np.sqrt(np.diag(H))
    beta = linalg.solve(H / np.outer(length, length), f / length, assume_a='pos') / length
    error = float(y @ y - 2.0 * f @ beta + beta @ H @ beta)
    return base, np.asarray(beta), float(np.sqrt(max(error, 0.0)))


def _from_factor(R: Array, scale: Array, names: Sequence[str], tolerance: float,
                 prefer: Sequence[str]) -> BaseParameters:
    first = [list(names).index(name) for name in prefer]
    independent, kept, dropped = _choose(R, first, tolerance)
    combination = _combination(R, independent, scale)
    return BaseParameters(
        tuple(independent), combination,
        tuple(readable(row, k, names) for row, k in zip(combination, independent, strict=True)),
        tuple(names), kept, dropped)


def arm_base_parameters(model: Arm, samples: int = 60, seed: int = 0) -> BaseParameters:
    """Base parameters of an arm's joint torques, from random states, in regrouped form."""
    q, dq, ddq = np.random.default_rng(seed).uniform(-2.0, 2.0, (3, samples, model.n))
    W = model.torque_regressor_batch(q, dq, ddq)
    return base_parameters(W, model.parameter_names, prefer=regrouped(model.parameter_names))


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
        scale, empty = _lengths(length)
        R = np.asarray(linalg.qr(W / scale, mode='r')[0][:W.shape[1]], float)
        R[:, empty] = 0.0
        return R, scale
    return _gram_factor(gram(W, np.zeros(len(W)))[0])


def gram(W: Array, y: Array) -> tuple[Array, Array]:
    """W^T W, (p, p), and W^T y, (p,), summed in blocks that stay in the cache."""
    p = W.shape[1]
    square, right = np.zeros((p, p)), np.zeros(p)
    for k in range(0, len(W), BLOCK):
        block = W[k:k + BLOCK]
        square += block.T @ block
        right += block.T @ y[k:k + BLOCK]
    return square, right


def _gram_factor(square: Array) -> tuple[Array, Array]:
    """As `_scaled_factor`, from W^T W."""
    scale, empty = _lengths(np.sqrt(np.diag(square)))
    value, vector = np.linalg.eigh(square / np.outer(scale, scale))
    R = np.sqrt(np.maximum(value, 0.0))[:, None] * vector.T
    R[:, empty] = 0.0
    return R, scale


def _lengths(length: Array) -> tuple[Array, NDArray[np.bool_]]:
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
