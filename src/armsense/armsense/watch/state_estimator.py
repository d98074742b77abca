"""From what the boards report to what controllers and observers need.

Both use this one module, each with a window of its own. Velocities come from the positions by
weighted regression (see `velocity`): the boards' own estimate is a filtered difference of counts,
with a lag that differs between firmwares.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from armsense.errors import ArmsenseError
from armsense.model.arm_config import ArmConfig
from armsense.schema import quantity
from armsense.types import ArmState, Array
from armsense.velocity import WeightedRegression

NO_LINK_SIDE = ('the states have no joint_position; an arm with elastic joints needs the '
                'link-side angles beside those of the motors')


@dataclass(frozen=True, kw_only=True)
class VelocityOptions:
    """Regression that turns positions into velocities; coarse encoders need a longer window.

    The default is the controller's: with the 8 samples of laas4's observer (detection.yaml) its
    torques would be nearly twice as rough, 0.061 instead of 0.034 Nm from sample to sample. An
    observer with 12 would report a push 1 ms later (`./armsense bench velocity --windows`).
    """

    window: int = quantity(12, low=2, high=500, text='samples')
    degree: int = quantity(1, low=1, high=2, text='1: least noise; 2: no lag while accelerating')


class StateEstimator:
    """State of one arm, cycle by cycle."""

    def __init__(self, config: ArmConfig, velocity: VelocityOptions | None = None,
                 max_gap: float | None = None) -> None:
        options = velocity or VelocityOptions()
        self._motor, self._joint = (
            WeightedRegression(config.n, options.window, 1.0 / config.rate, degree=options.degree,
                               max_gap=max_gap)
            for _ in range(2))
        self._elastic = any(joint.elastic is not None for joint in config.joints.values())
        self.settled = True   # no velocity of the last sample rests on a short window after a gap

    def step(self, position: Sequence[float], torque: Sequence[float],
             joint_position: Sequence[float], strain: Sequence[float],
             dt: float) -> ArmState:
        """Take one sample, `dt` [s] after the one before.

        Motor angles [rad] and torques by current [Nm], (n,); link-side angles [rad] and strain at
        the gauges, (n,), or empty where an arm has none.
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
        return ArmState(q, dq, theta, dtheta, tau, gauges)

    def batch(self, position: Array, torque: Array, joint_position: Array,
              strain: Array) -> ArmState:
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
        return ArmState(q, dq, position, dtheta, torque, strain if strain.shape[1] else None)

    def reset(self) -> None:
        self._motor.reset()
        self._joint.reset()
