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
from dataclasses import dataclass, replace
import functools
import itertools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from armsense.errors import BadValue
from armsense.identify.estimation.training import Training
from armsense.identify.friction.columns import DriveColumns, TERMS
from armsense.identify.signals.filters import in_band, Motion, period_in_band, resting, thinned
from armsense.identify.signals.methods import METHODS
from armsense.identify.signals.recording import Recording, shift
from armsense.model.arm import Arm
from armsense.types import Array

Index = NDArray[np.intp]

BLOCKS = 8             # of time for cross-validation, over all recordings
SMOOTHING = 0.01       # [rad/s] to begin with
STRIBECK = 8.0         # Stribeck velocity over smoothing
STATIC_PARAMETERS = 4    # of a link's ten, gravity acts on m, mx, my, mz only
HUBER = 1.345     # of the residual's deviation: 95 % efficient for Gaussian noise
TINY = 1e-10      # of a column's own product: keeps dependent columns solvable
STANDARD = 9.81     # [m/s^2]
SLOPE = 1e-3        # [s] of a delay to both sides
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


class Columns(NamedTuple):
    """Filtered and thinned columns [Y_0 | G_x | G_y | G_z | D] and torques of one motion."""

    A: Array           # (N, n, 22 n + drive columns)
    y: Array           # [Nm], (N, n)


@dataclass(frozen=True)
class Prepared:
    """Columns of all terms under one motion filter."""

    training: Training
    motions: list[Motion]
    rigid: list[RigidColumns]
    columns: list[Columns]
    drive: DriveColumns
    velocity: str
    motion_cutoff: float                # [Hz]
    weights: list[Array] | None = None  # of the samples against outliers, (N, n) each
    torque_delay: float = 0.0           # taken out of the torques [s]

    @classmethod
    def make(cls, training: Training, velocity: str, band: float) -> Prepared:
        """Under a motion filter of `band` times the torque band, without load terms."""
        cutoff = training.cutoff
        motions = [METHODS[training.method](r, band * cutoff, velocity) for r in training.working]
        rigid = [rigid_columns(training.model, m) for m in motions]
        drive = _drive(training, SMOOTHING)
        columns = []
        for y, m, r in zip(rigid, motions, training.working, strict=True):
            parts = [y.dynamic, *y.static, drive.columns(m.dq, m.ddq)]
            A = np.concatenate([in_band(part, cutoff, m.rate) for part in parts], axis=2)
            columns.append(Columns(A, in_band(r.tau, cutoff, m.rate)))
        return cls(training, motions, rigid, columns, drive, velocity, band * cutoff)

    @functools.cached_property
    def rest(self) -> list[NDArray[np.bool_]]:
        """Where joints have stopped, sample by sample of the columns, (N, n) each."""
        return [resting(m)[thinned(len(m.t), self.training.cutoff, m.rate)] for m in self.motions]

    def delayed_recordings(self) -> list[Recording]:
        """Working recordings with the torques moved back to the motion."""
        return [replace(r, tau=shift(r.tau, r.t, self.torque_delay))
                for r in self.training.working]

    def with_delay(self, delay: float) -> Prepared:
        """Torques moved back by a delay behind the motion [s]."""
        columns = [c._replace(y=in_band(shift(r.tau, r.t, delay), self.training.cutoff, r.rate))
                   for c, r in zip(self.columns, self.training.working, strict=True)]
        return replace(self, columns=columns, torque_delay=delay)

    def slopes(self) -> list[Array]:
        """Of the torques in time, as a delay shows them [Nm/s], (N, n) each."""
        early, late = (self.with_delay(self.torque_delay + h).columns for h in (-SLOPE, SLOPE))
        return [(b.y - a.y) / (2.0 * SLOPE) for a, b in zip(early, late, strict=True)]

    @functools.cached_property
    def periods(self) -> list[float]:
        """Of the motions in samples of the columns; inf: does not repeat."""
        return [period_in_band(r, self.training.cutoff) for r in self.training.working]

    def with_load(self, theta: Array, terms: tuple[str, ...], gravity: Array,
                  smoothing: float) -> Prepared:
        """Other smoothing, and load terms from the torques of a first model theta with `terms`."""
        drive = _drive(self.training, smoothing)
        n = self.training.model.n
        pi, coefficients = np.split(theta, [10 * n])
        first = drive.only(terms)
        columns = []
        for c, m, y in zip(self.columns, self.motions, self.rigid, strict=True):
            load = y.torque(pi, gravity) + first.rotor_torque(m.ddq, coefficients)
            more = in_band(drive.columns(m.dq, m.ddq, load), self.training.cutoff, m.rate)
            columns.append(c._replace(A=np.concatenate([c.A[:, :, :22 * n], more], axis=2)))
        return replace(self, columns=columns, drive=drive)

    def equations(self, blocks: int | None = None) -> NormalEquations:
        """Normal equations in blocks of time; None: for cross-validation."""
        count = blocks or max(2, round(BLOCKS / len(self.columns)))
        return normal_equations(self.columns, count, self.weights)

    def errors(self, theta: Array, gravity: Array, terms: tuple[str, ...]) -> list[Array]:
        """Torque errors in the band, (N, n) per recording [Nm]."""
        T = selection(self.training.model.n, self.columns[0].A.shape[2], gravity,
                      self.drive.places(terms))
        return [c.y - c.A @ (T @ theta) for c in self.columns]


def _drive(training: Training, smoothing: float) -> DriveColumns:
    """Drive columns of all terms."""
    return DriveColumns(training.axes, TERMS, smoothing, STRIBECK * smoothing)


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
        return NormalEquations(AA, Ay, self.yy)

    def selection(self, gravity: Array, drive: Index) -> Array:
        """Matrix T with chosen columns = all columns @ T."""
        return selection(self.n, self.Ay.shape[2], gravity, drive)

    def only(self, blocks: Any) -> NormalEquations:
        """Those of some blocks, an index or mask."""
        return NormalEquations(self.AA[blocks], self.Ay[blocks], self.yy[blocks])

    def weighted(self, weights: Array) -> tuple[Array, Array]:
        """Sums over blocks and weighted joints, (p, p) and (p,)."""
        return (np.tensordot(weights, self.AA.sum(axis=0), axes=1),
                weights @ self.Ay.sum(axis=0))

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
    AA, Ay, yy = [], [], []
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
    return NormalEquations(np.array(AA), np.array(Ay), np.array(yy))


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


class GravityFit(NamedTuple):
    """Normal equations with gravity left open, and what else decides."""

    equations: NormalEquations
    weights: Array        # of the joints, (n,)
    drive: Index          # chosen drive columns
    prior: Array          # nominal parameters of links and drives, (p,)
    precision: Array      # weight of the prior, (p,)

    def search(self, consistent_cost: Callable[[Array], float]) -> Array:
        """Gravity [m/s^2] that fits best, (3,).

        Args:
            consistent_cost: Cost of the best physically consistent parameters under a gravity.
        """
        starts = sorted(_directions(), key=lambda g: self.fit(STANDARD * g)[1])[:STARTS]
        best = min((self.refine(STANDARD * g) for g in starts), key=lambda g: self.fit(g)[1])
        return min((best, -best), key=consistent_cost)

    def refine(self, gravity: Array) -> Array:
        """Gauss-Newton on the sphere from a first direction; keeps the length, (3,)."""
        length = float(np.linalg.norm(gravity))
        AA, Ay = self.equations.weighted(self.weights)
        n = self.equations.n
        for _ in range(STEPS):
            theta, before = self.fit(gravity)
            tangents = np.linalg.svd(gravity[None, :])[2][1:]                    # (2, 3)
            T = self.equations.selection(gravity, self.drive)
            tilt = np.zeros((T.shape[0], 2))
            for k, tangent in enumerate(tangents):
                tilt[10 * n:22 * n, k] = np.kron(tangent, static_part(theta[:10 * n]))
            T = np.hstack([T, tilt])
            solution = solve_normal(T.T @ AA @ T, T.T @ Ay, np.append(self.prior, [0.0, 0.0]),
                                    np.append(self.precision, [0.0, 0.0]))
            moved = gravity + solution[-2:] @ tangents
            moved *= length / np.linalg.norm(moved)
            if self.fit(moved)[1] >= before:
                break
            gravity = moved
        return gravity

    def fit(self, gravity: Array) -> tuple[Array, float]:
        """Parameters under a gravity, (p,), and their cost."""
        H, f = self.equations.select(gravity, self.drive).weighted(self.weights)
        theta = solve_normal(H, f, self.prior, self.precision)
        total = float(self.weights @ self.equations.yy.sum(axis=0))
        gap = theta - self.prior
        return theta, float(theta @ H @ theta - 2.0 * f @ theta + total
                            + gap @ (self.precision * gap))


def _directions() -> list[Array]:
    """26 directions: faces, edges and corners of a cube."""
    grid = [np.array(v, float) for v in itertools.product((-1, 0, 1), repeat=3) if any(v)]
    return [v / np.linalg.norm(v) for v in grid]
