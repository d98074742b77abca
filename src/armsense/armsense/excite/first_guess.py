"""Random motions to start from: the least-squares guess of thesis 000, eqs. 4.40-4.42.

Velocities are drawn within their limits at equidistant times, and the coefficients that come
nearest to them in the least-squares sense are taken. Each joint is then scaled to fill its limits,
and all together until torques and clearances hold as well, so that the guess is feasible.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from armsense.excite.problem import Problem
from armsense.types import Array

SHRINK = 0.8
MOST_SHRINKS = 25
FILL = 0.95              # of the way to the first joint limit


class Guess(NamedTuple):
    y: Array
    objective: float


def first_guess(problem: Problem, rng: np.random.Generator) -> Guess | None:
    """One random feasible motion; None where no scale makes it one."""
    y = np.concatenate([_fit(problem, j, rng) for j in range(problem.shape.n)])
    y = _fill(problem, y)
    for _ in range(MOST_SHRINKS):
        f, worst = problem.value(y)
        if max(worst.values()) <= 0.0:
            return Guess(y, f)
        y = SHRINK * y
    return None


def _fit(problem: Problem, joint: int, rng: np.random.Generator) -> Array:
    """Free parameters of a joint nearest to random velocities, (f,)."""
    velocity = problem.constraints.limits.velocity[joint]
    free = problem.scale.shape[1]
    times = np.linspace(0.0, problem.shape.period, 2 * free + 2)[1:-1]
    wanted = rng.uniform(-velocity, velocity, len(times))
    B = problem.shape.basis(times, 1)[:, joint] @ problem.shape.free() * problem.scale[joint]
    return np.asarray(np.linalg.lstsq(B, wanted, rcond=None)[0])


def _fill(problem: Problem, y: Array) -> Array:
    """Every joint on its own scaled up or down to its limits."""
    parts = y.reshape(problem.scale.shape)
    filled = np.zeros_like(parts)
    for j, part in enumerate(parts):
        alone = np.zeros_like(parts)
        alone[j] = 100.0 * part / max(float(np.abs(part).max()), 1e-12)
        filled[j] = FILL * problem.longest_step(np.zeros(parts.size), alone.ravel()) * alone[j]
    return filled.ravel()
