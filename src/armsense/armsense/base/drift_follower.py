"""Follows the slow drift of load cells, and nothing faster.

Cheap beam cells creep and feel the warmth of the room: newtons per hour, which add up to more than
a threshold long before anybody zeroes them again. A contact is faster by orders of magnitude. So
the offset follows the residual, but never faster than the cells may drift, and not at all while
something touches the arm.
"""

from __future__ import annotations

import numpy as np

from armsense.types import Array

TIME = 20.0      # [s] over which the offset follows where the limit of its rate does not hold


class DriftFollower:
    """How the offset of the felt wrench shall change."""

    def __init__(self, rate: Array) -> None:
        """Bind to the cells.

        Args:
            rate: Fastest drift of the felt axes [N/s, Nm/s], (k,).
        """
        self._rate = rate

    def step(self, residual: Array, dt: float) -> Array:
        """Change of the offset in one sample without contact [N, Nm], (k,).

        Args:
            residual: Felt beyond the prediction [N, Nm], (k,).
            dt: [s]
        """
        return np.clip(residual / TIME, -self._rate, self._rate) * dt
