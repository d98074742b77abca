"""Direction of gravity in the base frame, from the data.

An arm on a wall, under a ceiling or on a table that is not level feels gravity along another axis.
In the normal equations gravity is free, so a direction costs one small solution: directions over
the sphere are tried, the best are refined by Gauss-Newton steps on the sphere. Gravity and all
centres of mass reversed give nearly the same torques; only masses that exist can tell, so the sign
is settled by the cost of physically consistent parameters.
"""

from __future__ import annotations

from collections.abc import Callable
import itertools

import numpy as np

from armsense.identify.design import Index, NormalEquations, static_part
from armsense.identify.regression import solve_normal
from armsense.types import Array

STANDARD = 9.81     # [m/s^2]
STARTS = 3          # directions that are refined
STEPS = 6


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
