"""The simulated inertial unit as the topic `imu`, published by the simulator itself."""

from __future__ import annotations

import numpy as np
from rclpy.node import Node
from rclpy.qos import QoSProfile
from sensor_msgs.msg import Imu

from armsense.sim.carrier import InertialUnit
from armsense.types import Array


class ImuTopic:
    """Publishes one reading per step."""

    def __init__(self, node: Node, seed: int, qos: QoSProfile) -> None:
        """Publish for a node; `seed` is that of the unit's noise."""
        self._unit = InertialUnit(seed)
        self._publisher = node.create_publisher(Imu, 'imu', qos)
        self._message = Imu()
        self._message.header.frame_id = 'base_link'
        self._message.orientation_covariance[0] = -1.0   # as the message has it: not told
        variance = self._unit.deviation**2
        self._message.linear_acceleration_covariance = np.diag(variance[:3]).ravel()
        self._message.angular_velocity_covariance = np.diag(variance[3:]).ravel()

    def publish(self, gravity: Array, stamp_ns: int) -> None:
        """Of a base that feels this gravity [m/s^2], (3,)."""
        force, turn = self._unit.read(gravity)
        message = self._message
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp_ns, 10**9)
        a, w = message.linear_acceleration, message.angular_velocity
        a.x, a.y, a.z = force.tolist()
        w.x, w.y, w.z = turn.tolist()
        self._publisher.publish(message)
