"""The topic `imu` of a base that moves, for both observers."""

from __future__ import annotations

import time
from typing import Any

from rclpy.node import Node
from sensor_msgs.msg import Imu

from armsense.base.imu_motion import ImuMotion
from armsense.errors import ArmsenseError
from armsense.model.base_motion import BaseMotion
from armsense_node.lockstep import lockstep_qos
from armsense_node.loop import DirectSubscription, stream_qos
from armsense_node.parameters import Parameter

LOCKSTEP_PATIENCE = 10.0   # [s] wall clock
IMU_PARAMETERS = (
    Parameter('imu', False, 'the base moves; its motion comes from the topic imu'),
    Parameter('imu_rpy', [0.0, 0.0, 0.0], '[rad] turn of the imu in the base frame, about fixed '
              'x, y, z'),
    Parameter('imu_position', [0.0, 0.0, 0.0], '[m] of the imu in the base frame'),
)


def stamp_ns(message: Imu) -> int:
    """Of a reading [ns]."""
    return int(message.header.stamp.sec) * 10**9 + int(message.header.stamp.nanosec)


def take(imu: ImuMotion, message: Imu, now: float) -> None:
    """Give a message to `imu`, with the state of stamp `now` [s]."""
    a, w = message.linear_acceleration, message.angular_velocity
    imu.take((a.x, a.y, a.z), (w.x, w.y, w.z), 1e-9 * stamp_ns(message), now)


class ImuTopic:
    """Motion of the base at each state."""

    def __init__(self, node: Node, settings: Any) -> None:
        """Subscribe; `settings` has `lockstep` and the values of IMU_PARAMETERS."""
        self._imu = ImuMotion(rpy=settings.imu_rpy, position=settings.imu_position)
        self._lockstep = settings.lockstep
        self._topic = DirectSubscription(node, Imu, 'imu',
                                         lockstep_qos() if self._lockstep else stream_qos())

    def motion(self, now: int) -> BaseMotion:
        """At a state of this time [ns]; unknown where the unit is silent."""
        message = self._wait_for(now) if self._lockstep else self._topic.take_latest()
        if message is not None:
            take(self._imu, message, now * 1e-9)
        return self._imu.at(now * 1e-9)

    def _wait_for(self, stamp: int) -> Imu:
        """The reading of the same instant, so that a run with the same seed is the same run."""
        end = time.monotonic() + LOCKSTEP_PATIENCE
        while (left := end - time.monotonic()) > 0.0:
            self._topic.heed_stop()
            message = self._topic.wait_oldest(min(left, 0.05))
            if message is not None and stamp_ns(message) == stamp:
                return message
        raise ArmsenseError(f'lock-step: no imu reading of {stamp * 1e-9:.3f} s within '
                            f'{LOCKSTEP_PATIENCE:.0f} s; does the simulator publish them?')
