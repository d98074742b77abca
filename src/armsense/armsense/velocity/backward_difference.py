"""Velocity by the backward difference, optionally through a first-order low pass."""

from __future__ import annotations

import math

import numpy as np

from armsense.errors import BadValue
from armsense.types import Array
from armsense.velocity.velocity_filter import (
    Characteristics,
    clock_jumped,
    fir_characteristics,
)


class BackwardDifference:
    """(x_k - x_{k-1}) / dt: half a period late, and as noisy as can be."""

    acceleration: Array | None = None

    def __init__(self, n: int, period: float = 1e-3, time_constant: float = 0.0) -> None:
        """For n joints.

        Args:
            n: Number of joints.
            period: Nominal sampling period [s].
            time_constant: Of the low pass behind the difference [s]; 0: none.
        """
        if not (period > 0.0 and time_constant >= 0.0):
            raise BadValue('period, time_constant', (period, time_constant), '> 0 s, >= 0 s')
        self._n, self._period, self._time_constant = n, period, time_constant
        self.reset()

    def reset(self) -> None:
        """Forget all samples."""
        self.velocity = np.zeros(self._n)
        self._position: Array | None = None
        self._elapsed = 0.0

    def step(self, position: Array, dt: float) -> Array:
        """See VelocityFilter."""
        if clock_jumped(dt):
            self._position, self._elapsed, dt = None, 0.0, 0.0
        self._elapsed += dt
        if not math.isfinite(position.sum()):
            return self.velocity
        if self._position is not None and self._elapsed > 0.0:
            slope = (position - self._position) / self._elapsed
            self.velocity = self.velocity + self._share(self._elapsed) * (slope - self.velocity)
        self._position, self._elapsed = position.copy(), 0.0
        return self.velocity

    def characteristics(self) -> Characteristics:
        """See VelocityFilter."""
        share = self._share(self._period)
        length = 2 if share == 1.0 else 2 + math.ceil(40.0 / share)  # until exp(-40)
        lag = share * (1.0 - share) ** np.arange(length - 1)
        weights = (np.append(lag, 0.0) - np.append(0.0, lag)) / self._period
        return fir_characteristics(weights, self._period)

    def _share(self, dt: float) -> float:
        """Weight of the new slope."""
        return -math.expm1(-dt / self._time_constant) if self._time_constant > 0.0 else 1.0
