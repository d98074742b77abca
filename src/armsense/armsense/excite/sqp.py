"""Sequential quadratic programming with a trust region, for `Problem`.

Joint limits are linear, so that every iterate keeps them. The nonlinear groups may be violated on
the way; their largest violation is in the merit function f + weight * sum_g max(0, c_g), and in
the quadratic programme as one elastic variable per group, which always has a solution.
"""

from collections.abc import Callable
from typing import NamedTuple

import clarabel
import numpy as np
from scipy import sparse

from armsense.excite.problem import Problem, Step
from armsense.types import Array

FIRST_RADIUS, LARGEST_RADIUS, SMALLEST_RADIUS = 0.2, 1.0, 1e-3
FIRST_WEIGHT, LARGEST_WEIGHT = 50.0, 1e5
NEAR = 0.3              # linear rows with less room than this (and what a step can use) enter
PATIENCE = 4            # steps without progress until it counts as converged
SETTINGS = clarabel.DefaultSettings()
SETTINGS.verbose = False
SETTINGS.max_iter = 60
SETTINGS.tol_gap_abs = SETTINGS.tol_gap_rel = SETTINGS.tol_feas = 1e-6


class Iterate(NamedTuple):
    """One accepted point."""

    y: Array
    objective: float
    violation: float        # worst c of all groups; <= 0: feasible
    iteration: int


class _Move(NamedTuple):
    d: Array
    gain: float             # that the model of the merit function promises
    slack: float            # violation that remains after the step


class Minimiser:
    """One search; it can be run on in portions."""

    def __init__(self, problem: Problem, y: Array) -> None:
        """Start at a point within the linear limits, (size,)."""
        self._problem, self._y = problem, y
        self._f, self._worst = problem.value(y)
        self._step = problem.step_data(y)
        self._H: Array | None = None         # until the first step tells its size
        self._radius, self._weight = FIRST_RADIUS, FIRST_WEIGHT
        self._stalled, self._count = 0, 0
        self.converged = False

    def run(self, iterations: int, accepted: Callable[[Iterate], None],
            stopped: Callable[[], bool]) -> None:
        """Improve until converged, `stopped` or after so many iterations of all portions.

        `accepted` is told every point that improves the merit function.
        """
        while self._count < iterations and not self.converged and not stopped():
            self._count += 1
            self._iterate(accepted)

    def _iterate(self, accepted: Callable[[Iterate], None]) -> None:
        H = np.eye(self._problem.size) if self._H is None else self._H
        move = _solve(self._problem, self._y, self._step, H, self._radius, self._weight)
        if move is None:
            self.converged = True
            return
        if move.slack > 1e-4 and self._weight < LARGEST_WEIGHT:
            self._weight *= 2.0
        f, worst = self._problem.value(self._y + move.d)
        gain = _merit(self._f, self._worst, self._weight) - _merit(f, worst, self._weight)
        if gain > max(0.05 * move.gain, 0.0):
            old, self._step = self._step, self._problem.step_data(self._y + move.d)
            self._H = _updated(self._H, move.d, self._step.gradient - old.gradient)
            self._y, self._f, self._worst = self._y + move.d, f, worst
            self._stalled = 0 if gain > self._problem.resolution else self._stalled + 1
            accepted(Iterate(self._y, f, max(worst.values()), self._count))
        length = float(np.abs(move.d).max())
        if gain > 0.7 * move.gain and length > 0.9 * self._radius:
            self._radius = min(2.0 * self._radius, LARGEST_RADIUS)
        elif gain < 0.2 * move.gain:
            self._radius = 0.5 * min(self._radius, length)
        self.converged = self._radius < SMALLEST_RADIUS or self._stalled >= PATIENCE


def _merit(f: float, worst: dict[str, float], weight: float) -> float:
    return f + weight * sum(max(0.0, c) for c in worst.values())


def _solve(problem: Problem, y: Array, step: Step, H: Array, radius: float,
           weight: float) -> _Move | None:
    """Best step of the quadratic model within limits and trust region."""
    size, groups = problem.size, len(step.rows)
    A, b = _rows(problem, y, step, radius)
    P = np.zeros((size + groups, size + groups))
    P[:size, :size] = np.triu(H)
    cost = np.concatenate([step.gradient, np.full(groups, weight)])
    solution = clarabel.DefaultSolver(sparse.csc_matrix(P), cost, sparse.csc_matrix(A), b,
                                      [clarabel.NonnegativeConeT(len(b))], SETTINGS).solve()
    z = np.array(solution.x)
    if not np.isfinite(z).all():
        return None
    d = z[:size] * problem.longest_step(y, z[:size])
    now = sum(max(0.0, float(r.c.max())) for r in step.rows)
    after = sum(max(0.0, float((r.c + r.J @ d).max())) for r in step.rows)
    gain = -(step.gradient @ d + 0.5 * d @ H @ d) + weight * (now - after)
    return _Move(d, float(gain), float(np.sum(z[size:])))


def _rows(problem: Problem, y: Array, step: Step, radius: float) -> tuple[Array, Array]:
    """A z <= b for z = (d, elastic variables): what a step within the radius could meet."""
    value = problem.linear_values(y)                               # (n, R)
    reach = np.minimum(radius * np.abs(problem.A).sum(axis=2), NEAR)
    n, _, f = problem.A.shape
    size, groups = problem.size, len(step.rows)
    blocks, right = [], []
    for sign in (1.0, -1.0):
        j, k = np.nonzero(sign * value > 1.0 - reach)
        block = np.zeros((len(j), size + groups))
        block[np.arange(len(j))[:, None], j[:, None] * f + np.arange(f)] = sign * problem.A[j, k]
        blocks.append(block)
        right.append(np.maximum(1.0 - sign * value[j, k], 0.0))
    for g, rows in enumerate(step.rows):
        block = np.zeros((len(rows.c), size + groups))
        block[:, :size], block[:, size + g] = rows.J, -1.0
        blocks.append(block)
        right.append(-rows.c)
    box = np.eye(size + groups)
    blocks += [box[:size], -box]
    right += [np.full(2 * size, radius), np.zeros(groups)]
    return np.vstack(blocks), np.concatenate(right)


def _updated(H: Array | None, d: Array, change: Array) -> Array:
    """BFGS with Powell's damping, which keeps H positive definite."""
    if H is None:
        H = np.eye(len(d)) * max(1e-3, abs(float(change @ d)) / float(d @ d))
    Hd = H @ d
    curved, dy = float(d @ Hd), float(d @ change)
    if dy < 0.2 * curved:
        share = 0.8 * curved / (curved - dy)
        change = share * change + (1.0 - share) * Hd
        dy = float(d @ change)
    return np.asarray(H - np.outer(Hd, Hd) / curved + np.outer(change, change) / dy)
