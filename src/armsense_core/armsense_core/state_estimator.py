"""From what the boards report to what controllers and observers need.

Both use this one module, so that they see the same arm. Velocities come from the positions by
weighted regression (see `velocity`): the boards' own estimate is a filtered difference of counts,
with a lag that differs between firmwares.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from armsense_core.control.types import ArmState
from armsense_core.drive.reading import DriveReading
from armsense_core.model.arm_config import ArmConfig
from armsense_core.velocity import VelocityFilter, WeightedRegression

WINDOW = 12   # samples of the regression; about 4 ms of delay at 1 kHz


class EstimatedState(NamedTuple):
    """One cycle."""

    arm: ArmState           # for control laws
    drive: DriveReading     # for the torque on the links


class StateEstimator:
    """State of one arm, cycle by cycle."""

    def __init__(self, config: ArmConfig, velocity: type[VelocityFilter] | None = None) -> None:
        """Prepare for an arm.

        Args:
            config: The arm.
            velocity: Filter to use instead of weighted regression.
        """
        self._motor = _filter(config, velocity)
        self._joint = _filter(config, velocity)
        self._per_ampere = np.array([j.torque_per_ampere for j in config.joints.values()])

    def step(self, position: Sequence[float], torque: Sequence[float],
             joint_position: Sequence[float], strain: Sequence[float],
             dt: float) -> EstimatedState:
        """Take one sample.

        Args:
            position: Motor angles [rad], (n,).
            torque: Motor torques by current [Nm], (n,).
            joint_position: Link-side angles [rad], (n,) or empty.
            strain: At the gauges, (n,) or empty.
            dt: Time since the sample before [s].
        """
        theta = np.array(position, float)
        tau = np.array(torque, float)
        dtheta = self._motor.step(theta, dt)
        q, dq = theta, dtheta
        if len(joint_position):
            q = np.array(joint_position, float)
            dq = self._joint.step(q, dt)
        gauges = np.array(strain, float) if len(strain) else None
        current = tau / self._per_ampere
        return EstimatedState(ArmState(q, dq, theta, dtheta, tau, gauges),
                              DriveReading(theta, dtheta, current, q, dq, gauges))

    def reset(self) -> None:
        """Forget the past, after a pause."""
        self._motor.reset()
        self._joint.reset()


def _filter(config: ArmConfig, kind: type[VelocityFilter] | None) -> VelocityFilter:
    period = 1.0 / config.rate
    if kind is None:
        return WeightedRegression(config.n, WINDOW, period)
    return kind(config.n, period=period)   # type: ignore[call-arg]
