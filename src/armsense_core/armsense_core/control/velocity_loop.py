"""Low-level feedback of kinematic laws: the boards follow velocities (thesis 004, 2.5.1)."""

from __future__ import annotations

import numpy as np

from armsense_core.control.types import ArmState, Array, Command


class VelocityLoop:
    """PI velocity loop on the boards, fed with velocities.

    Its integral is the way between the integrated velocity command and the motor. That way is
    kept within what the torque limit can use (anti-windup).
    """

    def __init__(self, proportional: Array, integral: Array, torque_limit: Array,
                 velocity_limit: Array, zero: Array) -> None:
        """Gains as in `PiVelocity`; limits [Nm], [rad/s], (n,)."""
        self._kd, self._kp, self._zero = proportional, integral, zero
        self._reach = torque_limit / np.maximum(integral, 1e-9)   # [rad] (n,)
        self._velocity_limit = velocity_limit
        self._position: Array | None = None

    def reset(self, state: ArmState) -> None:
        """Start without integral."""
        self._position = state.theta

    def command(self, state: ArmState, velocity: Array, torque: Array, dt: float) -> Command:
        """Command that makes the motors turn at `velocity` [rad/s], on top of `torque` [Nm]."""
        limit = self._velocity_limit
        velocity = np.minimum(np.maximum(velocity, -limit), limit)
        start = state.theta if self._position is None else self._position
        way = start + velocity * dt - state.theta
        self._position = state.theta + np.minimum(np.maximum(way, -self._reach), self._reach)
        return Command(self._position, velocity, torque, self._kp, self._kd, self._zero)
