"""The short way off a contact that an arm goes before it resumes."""

from __future__ import annotations

import numpy as np

from armsense.reaction.options import ReactionOptions
from armsense.trajectory import Limits, QuinticSpline
from armsense.trajectory.quintic_spline import PEAK_VELOCITY, shortest_duration
from armsense.types import Array

SMALLEST_WAY = 1e-4   # [rad] worth moving for


def way_to_clearance(here: Array, contact: Array, impulse: Array, options: ReactionOptions,
                     limits: Limits) -> QuinticSpline | None:
    """Off in the direction in which the contact pushed, gently; None: far enough already.

    Args:
        here: Where the arm holds [rad], (n,).
        contact: Where it was hit [rad], (n,).
        impulse: Of the contact [Nm s], (n,).
        options: How far and how fast.
        limits: No reference leaves them.
    """
    size = float(np.linalg.norm(impulse))
    if size == 0.0:
        return None
    push = impulse / size
    missing = options.clearance - float(push @ (here - contact))
    goal = limits.inside(here + max(missing, 0.0) * push)
    way = float(np.abs(goal - here).max())
    if way < SMALLEST_WAY:
        return None
    rest = np.zeros((2, len(goal)))
    duration = max(PEAK_VELOCITY * way / options.clearance_speed,
                   shortest_duration(goal - here, limits))
    return QuinticSpline([0.0, duration], [here, goal], rest, rest)
