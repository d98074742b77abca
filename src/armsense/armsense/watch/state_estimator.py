"""From what the boards report to what controllers and observers need.

Both use this one module, so that they see the same arm. Velocities come from the positions by
weighted regression (see `velocity`): the boards' own estimate is a filtered difference of counts,
with a lag that differs between firmwares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from armsense.drive.reading import DriveReading
from armsense.errors import ArmsenseError
from armsense.model.arm_config import ArmConfig
from armsense.schema import quantity
from armsense.types import ArmState, Array
from armsense.velocity import WeightedRegression

NO_LINK_SIDE = ('the states have no joint_position; an arm with elastic joints needs the '
                'link-side angles beside those of the motors')


@dataclass(frozen=True, kw_only=True)
class VelocityOptions:
    """Regression that turns positions into velocities; coarse encoders need a longer window."""

    window: int = quantity(12, low=2, high=500, text='samples')
    degree: int = quantity(1, low=1, high=2, text='1: least noise; 2: no lag while accelerating')


class EstimatedState(NamedTuple):
    """One cycle."""

    arm: ArmState           # for control laws
    drive: DriveReading     # for the torque on the links


class StateEstimator:
    """State of one arm, cycle by cycle."""

    def __init__(self, config: ArmConfig, velocity: VelocityOptions | None = None,
                 max_gap: float | None = None) -> None:
        """Prepare for an arm.

        Args:
            config: The arm.
            velocity: Regression of the velocities.
            max_gap: Longest pause that it bridges [s]; None: as `WeightedRegression`.
        """
        options = velocity or VelocityOptions()
        self._motor, self._joint = (
            WeightedRegression(config.n, options.window, 1.0 / config.rate, degree=options.degree,
                               max_gap=max_gap)
            for _ in range(2))
        self._elastic = any(joint.elastic is not None for joint in config.joints.values())
        self.settled = True   # no velocity of the last sample rests on a short window after a gap
        self._per_ampere = np.array([j.torque_per_ampere for j in config.joints.values()])

    def step(self, position: Sequence[float], torque: Sequence[float],
             joint_position: Sequence[float], strain: Sequence[float],
             dt: float) -> EstimatedState:
        """Take one sample.

        Args:
            position: Motor angles [rad], (n,).
            torque: Motor torques by current [Nm], (n,).
            joint_position: Link-side angles [rad], (n,); empty for arms without elastic joints.
            strain: At the gauges, (n,) or empty.
            dt: Time since the sample before [s].
        """
        theta = np.array(position, float)
        tau = np.array(torque, float)
        dtheta = self._motor.step(theta, dt)
        self.settled = self._motor.settled
        q, dq = theta, dtheta
        if len(joint_position):
            q = np.array(joint_position, float)
            dq = self._joint.step(q, dt)
            self.settled &= self._joint.settled
        elif self._elastic:
            raise ArmsenseError(NO_LINK_SIDE)
        gauges = np.array(strain, float) if len(strain) else None
        current = tau / self._per_ampere
        return EstimatedState(ArmState(q, dq, theta, dtheta, tau, gauges),
                              DriveReading(theta, dtheta, current, q, dq, gauges))

    def batch(self, position: Array, torque: Array, joint_position: Array,
              strain: Array) -> DriveReading:
        """A recording at the nominal period at once, each (N, n), gaps and NaN excluded.

        The first samples, which have no full window behind them, are stepped through.
        """
        def velocity(regression: WeightedRegression, rows: Array) -> Array:
            out = np.empty_like(rows)
            head = min(regression.window - 1, len(rows))
            regression.reset()
            for k in range(head):
                out[k] = regression.step(rows[k], regression.period if k else 0.0)
            if head < len(rows):
                out[head:] = regression.batch(rows)
            return out

        dtheta = velocity(self._motor, position)
        q, dq = position, dtheta
        if joint_position.shape[1]:
            q, dq = joint_position, velocity(self._joint, joint_position)
        elif self._elastic:
            raise ArmsenseError(NO_LINK_SIDE)
        return DriveReading(position, dtheta, torque / self._per_ampere, q, dq,
                            strain if strain.shape[1] else None)

    def reset(self) -> None:
        """Forget the past, after a pause."""
        self._motor.reset()
        self._joint.reset()

