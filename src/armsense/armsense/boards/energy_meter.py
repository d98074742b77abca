"""Electrical energy per motion: what a battery pays for moving from rest to rest."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan, nan


class EnergyMeter:
    """Integrates the input power of an arm from the begin of a motion to its end."""

    def __init__(self, rest_speed: float = 0.02, rest_time: float = 0.2) -> None:
        """Make a meter.

        Args:
            rest_speed: Slower joints rest [rad/s].
            rest_time: How long all joints have to rest for the motion to be over [s].
        """
        self.power = nan            # [W] now
        self.total = 0.0            # [J] since the start
        self.motion = 0.0           # [J] of the present motion, or of the last one
        self.motions = 0
        self._rest_speed = rest_speed
        self._rest_time = rest_time
        self._resting = rest_time   # [s]

    def step(self, power: float, velocity: Sequence[float], dt: float) -> None:
        """Take one sample; a NaN power (boards that do not measure it) counts nothing."""
        self.power = power
        if isnan(power):
            return
        self.total += power * dt
        moving = any(abs(v) > self._rest_speed for v in velocity)
        was_at_rest = self._resting >= self._rest_time
        self._resting = 0.0 if moving else self._resting + dt
        if moving and was_at_rest:
            self.motion = 0.0
            self.motions += 1
        if self._resting < self._rest_time:
            self.motion += power * dt
