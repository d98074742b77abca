"""Hands on a simulated arm: a force, or a spring that pulls."""

import math
from typing import NamedTuple

import numpy as np

from armsense.types import Array

STRENGTH = 80.0        # [N] of the hand that pulls a link
GRASP_DAMPING = 5.0    # [N s/m] of its grasp


class Push(NamedTuple):
    """An external force on a link."""

    link: str
    body: int
    point: Array           # [m] body frame, (3,)
    force: Array           # [N] world frame, (3,)
    until: float           # [s]
    cause: str = 'push'

    def force_at(self, point: Array, velocity: Array) -> Array:
        return self.force


class Pull(NamedTuple):
    """A spring between a point of a link and a hand in the world."""

    link: str
    body: int
    point: Array           # [m] body frame, (3,)
    target: Array          # [m] world frame, (3,)
    stiffness: float       # [N/m]
    until: float           # [s]
    cause: str = 'pull'

    def force_at(self, point: Array, velocity: Array) -> Array:
        """[N], (3,), on a link whose point is here [m] and moves [m/s], each (3,)."""
        force = self.stiffness * (self.target - point) - GRASP_DAMPING * velocity
        return np.asarray(force * min(1.0, STRENGTH / max(math.sqrt(force @ force), 1e-9)))
