"""Electrical energy per motion: what a battery pays for moving from rest to rest."""

from collections.abc import Sequence
from math import isnan, nan

REST_SPEED = 0.02   # [rad/s] slower joints rest
REST_TIME = 0.2     # [s] that all joints have to rest for the motion to be over


class EnergyMeter:
    """Integrates the input power of an arm from the begin of a motion to its end."""

    def __init__(self) -> None:
        self.power = nan            # [W] now
        self.total = 0.0            # [J] since the start
        self.motion = 0.0           # [J] of the present motion, or of the last one
        self.motions = 0
        self._resting = REST_TIME   # [s]

    def step(self, power: float, velocity: Sequence[float], dt: float) -> None:
        """Take one sample; a NaN power (boards that do not measure it) counts nothing."""
        self.power = power
        if isnan(power):
            return
        self.total += power * dt
        moving = any(abs(v) > REST_SPEED for v in velocity)
        was_at_rest = self._resting >= REST_TIME
        self._resting = 0.0 if moving else self._resting + dt
        if moving and was_at_rest:
            self.motion = 0.0
            self.motions += 1
        if self._resting < REST_TIME:
            self.motion += power * dt
