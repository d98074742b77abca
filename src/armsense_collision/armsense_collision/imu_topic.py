"""The topic `imu` of a base that moves, for both observers."""

from __future__ import annotations

from typing import Any

from rclpy.node import Node
from sensor_msgs.msg import Imu

from armsense_core.base.imu_motion import ImuMotion
from armsense_core.model.base_motion import BaseMotion
from armsense_driver.loop import DirectSubscription, stream_qos
from armsense_driver.parameters import Parameter

IMU_PARAMETERS = (
    Parameter('imu', False, 'the base moves; its motion comes from the topic imu'),
    Parameter('imu_rpy', [0.0, 0.0, 0.0], '[rad] turn of the imu in the base frame, about fixed '
              'x, y, z'),
    Parameter('imu_position', [0.0, 0.0, 0.0], '[m] of the imu in the base frame'),
)


class ImuTopic:
    """Motion of the base at each state."""

    def __init__(self, node: Node, settings: Any) -> None:
        """Subscribe; `settings` has the values of IMU_PARAMETERS."""
        self._imu = ImuMotion(rpy=settings.imu_rpy, position=settings.imu_position)
        self._topic = DirectSubscription(node, Imu, 'imu', stream_qos())

    def motion(self, stamp_ns: int) -> BaseMotion:
        """At a state of this stamp; unknown where the unit is silent."""
        now = stamp_ns * 1e-9
        message = self._topic.take_latest()
        if message is not None:
            stamp, a, w = message.header.stamp, message.linear_acceleration, \
                message.angular_velocity
            self._imu.take((a.x, a.y, a.z), (w.x, w.y, w.z), stamp.sec + 1e-9 * stamp.nanosec, now)
        return self._imu.at(now)
