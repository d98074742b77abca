"""Low-level feedback of kinematic laws: the boards follow velocities (thesis 004, 2.5.1)."""

from __future__ import annotations

import numpy as np

from armsense.types import ArmState, Array, Command


class VelocityLoop:
    """PI velocity loop on the boards, fed with velocities.

    Its integral is the way between the integrated velocity command and the motor. That way is
    kept within what the torque limit can use (anti-windup).
    """

    def __init__(self, proportional: Array, integral: Array, torque_limit: Array,
                 velocity_limit: Array, zero: Array) -> None:
        """Gains as in `PiVelocity`; limits [Nm], [rad/s], (n,)."""
        self._kd, self._kp, self._zero = proportional, integral, zero
        self._stiffness = np.maximum(integral, 1e-9)        # [Nm/rad] (n,)
        reach = torque_limit / self._stiffness              # [rad] (n,)
        self._bounds = list(zip(velocity_limit.tolist(), reach.tolist(), strict=True))
        self._position: list[float] | None = None

    def reset(self, state: ArmState, torque: Array | None = None) -> None:
        """Start with an integral that gives a torque [Nm], (n,); None: without."""
        ways = np.zeros(len(state.theta)) if torque is None else torque / self._stiffness
        self._position = (state.theta + ways).tolist()

    def command(self, state: ArmState, velocity: list[float], torque: Array,
                dt: float) -> Command:
        """Command that makes the motors turn at `velocity` [rad/s], on top of `torque` [Nm]."""
        theta = state.theta.tolist()
        start = theta if self._position is None else self._position
        positions, velocities = [], []
        # Plain numbers: for a handful of joints a loop is several times faster than arrays.
        for motor, begun, v, (limit, reach) in zip(theta, start, velocity, self._bounds,
                                                   strict=True):
            v = -limit if v < -limit else limit if v > limit else v
            way = begun + v * dt - motor
            way = -reach if way < -reach else reach if way > reach else way
            positions.append(motor + way)
            velocities.append(v)
        self._position = positions
        return Command(np.array(positions), np.array(velocities), torque, self._kp, self._kd,
                       self._zero)
