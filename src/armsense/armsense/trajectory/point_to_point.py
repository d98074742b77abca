"""From rest to rest along a straight line in joint space, as fast as the limits allow."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from armsense.errors import ArmsenseError
from armsense.model import Arm
from armsense.trajectory.limits import check_samples, Limits
from armsense.trajectory.quintic_spline import QuinticSpline
from armsense.trajectory.reference import sample_grid
from armsense.types import Array

# Peaks of the rest-to-rest quintic of unit length and unit duration.
PEAK_VELOCITY = 1.875
PEAK_ACCELERATION = 10.0 / np.sqrt(3.0)
PEAK_JERK = 60.0
SHORTEST = 0.05   # [s]


def shortest_duration(way: Array, limits: Limits) -> float:
    """Duration [s] of a rest-to-rest quintic at its velocity, acceleration or jerk limit."""
    way = np.abs(way)
    return float(max(SHORTEST, (PEAK_VELOCITY * way / limits.velocity).max(),
                     np.sqrt(PEAK_ACCELERATION * way / limits.acceleration).max(),
                     np.cbrt(PEAK_JERK * way / limits.jerk).max()))


def point_to_point(start: ArrayLike, goal: ArrayLike, limits: Limits,
                   model: Arm | None = None, speed: float = 1.0) -> QuinticSpline:
    """Straight line in joint space within the limits.

    Args:
        start: [rad] (n,)
        goal: [rad] (n,)
        limits: Of the arm.
        model: With it the motion is stretched until its torques fit too.
        speed: Fraction of the velocity limit, (0, 1]; acceleration and jerk shrink with it.
    """
    q = np.array([start, goal], float)
    rest = np.zeros_like(q)
    T = shortest_duration(q[1] - q[0], limits) / speed
    for _ in range(20):
        motion = QuinticSpline([0.0, T], q, rest, rest)
        found = check_samples(sample_grid(motion, T / 50), limits, model)
        if not any(v.kind == 'torque' for v in found):
            return motion
        T *= 1.2
    raise ArmsenseError(f'no duration keeps the torque limits: {found[0]}')
