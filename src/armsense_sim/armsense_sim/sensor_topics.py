"""Simulated inertial unit and load cells as topics, published by the simulator itself."""

from __future__ import annotations

import numpy as np
from rclpy.node import Node
from rclpy.qos import QoSProfile
from sensor_msgs.msg import Imu

from armsense.errors import ArmsenseError
from armsense.model.arm_config import ArmConfig
from armsense.sim.carrier import InertialUnit
from armsense.sim.mujoco_plant import MujocoPlant
from armsense.sim.sensors import SimulatedCells
from armsense.types import Array
from armsense_msgs.msg import LoadCells
from armsense_node.loop import StreamPublisher


class ImuTopic:
    """Topic `imu`, one reading per step."""

    def __init__(self, node: Node, seed: int, qos: QoSProfile) -> None:
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


class LoadCellTopic:
    """Topic `load_cells`: what the cells make of the plant's base wrench at every step."""

    def __init__(self, node: Node, config: ArmConfig, seed: int, qos: QoSProfile) -> None:
        if config.load_cells is None:
            raise ArmsenseError(f"{config.arm}: its yaml has no 'load_cells'")
        self.cells = SimulatedCells(config.load_cells, seed)
        self._capacity = config.load_cells.capacity
        self._dt = 1.0 / config.rate
        self._every = max(1, round(config.rate / config.load_cells.rate))
        self._stream = StreamPublisher(node, LoadCells, 'load_cells',
                                       len(config.load_cells.positions), frame_id='base_link',
                                       qos=qos)

    def step(self, plant: MujocoPlant, seq: int, now: float) -> None:
        """After a step of the plant; `now` [s] is the stamp, `seq` that of the motor state."""
        force = self.cells.step(plant.base_wrench, self._dt)
        if seq % self._every:
            return
        message = self._stream.message
        message.seq, message.stamp_ns = seq, round(now * 1e9)
        message.force = force
        message.valid = np.abs(force) < self._capacity
        self._stream.publish()
