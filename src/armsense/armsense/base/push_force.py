"""The best pushing force at many places at once, by weighted least squares in closed form."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from armsense.types import Array

UNIQUE = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))    # entries of a symmetric (3, 3)


class Pushes(NamedTuple):
    """One force for each of P places."""

    force: Array   # along normal and tangents [N], (3, P)
    cost: Array    # chi^2 that is left and the cost of sideways forces; inf: a pull, (P,)
    ridge: Array   # weight of the sideways components [1/N^2], (P,)


def best_pushes(H: Array, g: Array, power: float, friction: float) -> Pushes:
    """Minimise |y - B F|^2 + ridge |F sideways|^2 over F, for each place.

    A sideways force costs as if (F_across / (friction F))^2 were one more residual.

    Args:
        H: Entries UNIQUE of B^T B, normal first, (6, P).
        g: B^T y, (3, P).
        power: y . y.
        friction: Expected ratio of sideways to pushing force.
    """
    trace = H[0] + H[1] + H[2] + 1e-12
    ridge = trace / (3.0 * friction**2 * max(power, 1e-12))          # 1 / (friction^2 ~F^2)
    small = 1e-12 * trace
    a, b, c = H[0] + small, H[1] + (ridge + small), H[2] + (ridge + small)
    ab, ac, bc = H[3], H[4], H[5]
    # LDL^T with the tangents first: their ridge keeps the pivots from zero.
    u, v = bc / b, ab / b
    c = np.maximum(c - u * bc, small)
    w = (ac - u * ab) / c
    a = np.maximum(a - v * ab - w * w * c, small)
    second = g[2] - u * g[1]
    F = np.empty((3, len(trace)))
    F[0] = (g[0] - v * g[1] - w * second) / a
    F[2] = second / c - w * F[0]
    F[1] = g[1] / b - u * F[2] - v * F[0]
    cost = power - (F * g).sum(axis=0)
    return Pushes(F, np.where(F[0] < 0.0, cost, np.inf), ridge)
