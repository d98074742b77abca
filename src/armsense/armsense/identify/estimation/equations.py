"""Filtered regressor columns and torques of a motion, and their normal equations.

Columns and torques pass the same zero-phase filter, so that friction steps are smoothed on both
sides of the equation alike. Gravity stays free: the regressor is kept as a part without gravity
and three static parts, one per axis of the base,

    tau = (Y_0 + g_x G_x + g_y G_y + g_z G_z) pi + D c.

Everything that follows (weights, gravity, choice of terms, cross-validation) works on the products
of these columns, block of time by block of time and joint by joint, and never touches a sample
again.

An arm on a wall, under a ceiling or on a table that is not level feels gravity along another axis.
A direction costs one small solution: directions over the sphere are tried, the best are refined by
Gauss-Newton steps on the sphere. Gravity and all centres of mass reversed give nearly the same
torques; only masses that exist can tell, so the sign is settled by the cost of physically
consistent parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
import itertools

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from armsense.errors import BadValue
from armsense.identify.signals.filters import low_pass, Motion, settled
from armsense.model.arm import Arm
from armsense.types import Array

Index = NDArray[np.intp]

STATIC_PARAMETERS = 4    # of a link's ten, gravity acts on m, mx, my, mz only
HUBER = 1.345     # of the residual's deviation: 95 % efficient for Gaussian noise
TINY = 1e-10      # of a column's own product: keeps dependent columns solvable
STANDARD = 9.81     # [m/s^2]
STARTS = 3          # directions that are refined
STEPS = 6


@dataclass(frozen=True)
class RigidColumns:
    """Regressor of the rigid body, unfiltered."""

    dynamic: Array     # Y_0, (N, n, 10 n)
    static: Array      # G per axis, columns m, mx, my, mz of every link, (3, N, n, 4 n)

    def torque(self, parameters: Array, gravity: Array) -> Array:
        """Y pi, (N, n)."""
        weight = static_part(parameters)
        return np.asarray(self.dynamic @ parameters
                          + np.tensordot(gravity, self.static @ weight, axes=1))


def static_index(n: int) -> Index:
    """Places of m, mx, my, mz of every link in pi, (4 n,)."""
    return (10 * np.arange(n)[:, None] + np.arange(STATIC_PARAMETERS)).ravel()


def static_part(parameters: Array) -> Array:
    """m, mx, my, mz of every link, (10 n,) -> (4 n,)."""
    return np.asarray(parameters[static_index(len(parameters) // 10)])


def rigid_columns(model: Arm, motion: Motion) -> RigidColumns:
    """Regressors with gravity left open."""
    N, n = motion.q.shape
    still = np.zeros_like(motion.q)
    dynamic = model.replace(gravity=np.zeros(3)).torque_regressor_batch(
        motion.q, motion.dq, motion.ddq).reshape(N, n, -1)
    static = [model.replace(gravity=axis).torque_regressor_batch(motion.q, still, still)
              .reshape(N, n, -1)[:, :, static_index(n)] for axis in np.eye(3)]
    return RigidColumns(dynamic, np.stack(static))


@dataclass(frozen=True)
class Columns:
    """Filtered and thinned columns [Y_0 | G_x | G_y | G_z | D] and torques of one motion."""

    A: Array           # (N, n, 22 n + drive columns)
    y: Array           # [Nm], (N, n)
    rate: float        # [Hz]


def filtered_columns(rigid: RigidColumns, drive: Array, tau: Array, cutoff: float,
                     rate: float) -> Columns:
    """Columns and torques behind the low-pass, about five samples per period of the cut-off."""
    keep = thinned(len(tau), cutoff, rate)
    parts = [rigid.dynamic, *rigid.static, drive]
    A = np.concatenate([_filter(part, cutoff, rate)[keep] for part in parts], axis=2)
    return Columns(A, low_pass(tau, cutoff, rate)[keep], rate / keep.step)


def with_drive(columns: Columns, drive: Array, cutoff: float, rate: float) -> Columns:
    """The same columns with other drive columns, the rigid ones kept."""
    n = columns.y.shape[1]
    keep = thinned(len(drive), cutoff, rate)
    A = np.concatenate([columns.A[:, :, :22 * n], _filter(drive, cutoff, rate)[keep]], axis=2)
    return Columns(A, columns.y, columns.rate)


def with_torque(columns: Columns, tau: Array, cutoff: float, rate: float) -> Columns:
    """The same columns with other torques."""
    keep = thinned(len(tau), cutoff, rate)
    return Columns(columns.A, low_pass(tau, cutoff, rate)[keep], columns.rate)


def thinned(count: int, cutoff: float, rate: float) -> slice:
    """Samples without the settling of the filter, about five per period of the cut-off."""
    inside = settled(count, cutoff, rate)
    return slice(inside.start, inside.stop, max(1, int(rate / (5.0 * cutoff))))


def _filter(columns: Array, cutoff: float, rate: float) -> Array:
    N, n, p = columns.shape
    flat = columns.reshape(N, n * p)
    busy = np.flatnonzero(np.any(flat, axis=0))      # a joint feels only the links behind it
    out = np.zeros_like(flat)
    if len(busy):
        out[:, busy] = low_pass(flat[:, busy], cutoff, rate)
    return out.reshape(N, n, p)


def selection(n: int, p: int, gravity: Array, drive: Index) -> Array:
    """T with [Y_0 + g G | chosen drive columns] = all p columns @ T, (p, 10 n + len(drive))."""
    T = np.zeros((p, 10 * n + len(drive)))
    T[:10 * n, :10 * n] = np.eye(10 * n)
    for axis in range(3):
        rows = 10 * n + 4 * n * axis + np.arange(4 * n)
        T[rows, static_index(n)] = gravity[axis]
    T[22 * n + drive, 10 * n + np.arange(len(drive))] = 1.0
    return T


@dataclass(frozen=True)
class NormalEquations:
    """Products of columns and torques per block of time and joint."""

    AA: Array    # (blocks, n, p, p)
    Ay: Array    # (blocks, n, p)
    yy: Array    # (blocks, n)
    rows: Array  # (blocks, n)

    @property
    def n(self) -> int:
        return int(self.yy.shape[1])

    def select(self, gravity: Array, drive: Index) -> NormalEquations:
        """Those of [Y_0 + g G | chosen drive columns], (10 n + len(drive)) columns.

        The same as products with `selection`, by adding blocks.
        """
        n = self.n
        keep = np.concatenate([np.arange(10 * n), 22 * n + drive])
        place = static_index(n)
        parts = [10 * n + 4 * n * axis + np.arange(4 * n) for axis in range(3)]
        rows = self.AA[:, :, keep]
        Ay = self.Ay[:, :, keep]
        for g, part in zip(gravity, parts, strict=True):
            if g != 0.0:
                rows[:, :, place] += g * self.AA[:, :, part]
                Ay[:, :, place] += g * self.Ay[:, :, part]
        AA = rows[..., keep]
        for g, part in zip(gravity, parts, strict=True):
            if g != 0.0:
                AA[..., place] += g * rows[..., part]
        return NormalEquations(AA, Ay, self.yy, self.rows)

    def selection(self, gravity: Array, drive: Index) -> Array:
        """Matrix T with chosen columns = all columns @ T."""
        return selection(self.n, self.Ay.shape[2], gravity, drive)

    def without(self, block: int) -> NormalEquations:
        keep = np.arange(len(self.yy)) != block
        return NormalEquations(self.AA[keep], self.Ay[keep], self.yy[keep], self.rows[keep])

    def only(self, block: int) -> NormalEquations:
        keep = slice(block, block + 1)
        return NormalEquations(self.AA[keep], self.Ay[keep], self.yy[keep], self.rows[keep])

    def squares(self, theta: Array) -> Array:
        """Sum of squared errors per joint, (n,)."""
        error = self.yy - 2.0 * self.Ay @ theta + (self.AA @ theta) @ theta
        return np.asarray(np.maximum(error.sum(axis=0), 0.0))


def normal_equations(columns: list[Columns], blocks: int,
                     weights: list[Array] | None = None) -> NormalEquations:
    """Products over `blocks` blocks of equal length per motion.

    Args:
        columns: Of each motion.
        blocks: Per motion, for cross-validation.
        weights: Of each sample and joint, (N, n) per motion; None: ones.
    """
    AA, Ay, yy, rows = [], [], [], []
    for k, part in enumerate(columns):
        w = np.ones_like(part.y) if weights is None else weights[k]
        for index in np.array_split(np.arange(len(part.y)), blocks):
            if not len(index):
                raise BadValue('samples behind the filter', len(part.y), f'>= {blocks}')
            A = part.A[index] * np.sqrt(w[index])[:, :, None]
            y = part.y[index] * np.sqrt(w[index])
            by_joint = np.ascontiguousarray(A.transpose(1, 0, 2))
            AA.append(by_joint.transpose(0, 2, 1) @ by_joint)
            Ay.append(np.einsum('kjp,kj->jp', A, y))
            yy.append(np.sum(y * y, axis=0))
            rows.append(w[index].sum(axis=0))
    return NormalEquations(np.array(AA), np.array(Ay), np.array(yy), np.array(rows))


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


def search_gravity(
    equations: NormalEquations,
    weights: Array,
    drive: Index,
    prior: Array,
    precision: Array,
    consistent_cost: Callable[[Array], float],
) -> Array:
    """Gravity [m/s^2] that fits best, (3,).

    Args:
        equations: With gravity left open.
        weights: Of the joints, (n,).
        drive: Chosen drive columns.
        prior: Nominal parameters of links and drives, (p,).
        precision: Weight of the prior, (p,).
        consistent_cost: Cost of the best physically consistent parameters under a gravity.
    """
    def cost(gravity: Array) -> float:
        return fit_gravity(equations, weights, drive, prior, precision, gravity)[1]

    starts = sorted(_directions(), key=lambda g: cost(STANDARD * g))[:STARTS]
    refined = [refine_gravity(equations, weights, drive, prior, precision, STANDARD * g)
               for g in starts]
    best = min(refined, key=cost)
    return min((best, -best), key=consistent_cost)


def refine_gravity(equations: NormalEquations, weights: Array, drive: Index, prior: Array,
                   precision: Array, gravity: Array, steps: int = STEPS) -> Array:
    """Gauss-Newton on the sphere from a first direction; keeps the length, (3,)."""
    length = float(np.linalg.norm(gravity))
    AA, Ay = _weighted(equations, weights)
    for _ in range(steps):
        theta, before = fit_gravity(equations, weights, drive, prior, precision, gravity)
        n = equations.n
        tangents = np.linalg.svd(gravity[None, :])[2][1:]                    # (2, 3)
        T = equations.selection(gravity, drive)
        tilt = np.zeros((T.shape[0], 2))
        for k, tangent in enumerate(tangents):
            tilt[10 * n:22 * n, k] = np.kron(tangent, static_part(theta[:10 * n]))
        T = np.hstack([T, tilt])
        solution = solve_normal(T.T @ AA @ T, T.T @ Ay, np.append(prior, [0.0, 0.0]),
                                np.append(precision, [0.0, 0.0]))
        moved = gravity + solution[-2:] @ tangents
        moved *= length / np.linalg.norm(moved)
        if fit_gravity(equations, weights, drive, prior, precision, moved)[1] >= before:
            break
        gravity = moved
    return gravity


def fit_gravity(equations: NormalEquations, weights: Array, drive: Index, prior: Array,
                precision: Array, gravity: Array) -> tuple[Array, float]:
    """Parameters under a gravity, (p,), and their cost."""
    chosen = equations.select(gravity, drive)
    H, f = _weighted(chosen, weights)
    theta = solve_normal(H, f, prior, precision)
    total = float(weights @ equations.yy.sum(axis=0))
    gap = theta - prior
    return theta, float(theta @ H @ theta - 2.0 * f @ theta + total + gap @ (precision * gap))


def _weighted(equations: NormalEquations, weights: Array) -> tuple[Array, Array]:
    return (np.tensordot(weights, equations.AA.sum(axis=0), axes=1),
            weights @ equations.Ay.sum(axis=0))


def _directions() -> list[Array]:
    """26 directions: faces, edges and corners of a cube."""
    grid = [np.array(v, float) for v in itertools.product((-1, 0, 1), repeat=3) if any(v)]
    return [v / np.linalg.norm(v) for v in grid]
