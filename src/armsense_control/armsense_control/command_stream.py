"""`motor_commands`, the answer to every state."""

from __future__ import annotations

from typing import Any

from rclpy.node import Node
from rclpy.qos import QoSProfile

from armsense_core.control.types import Command
from armsense_driver.loop import StreamPublisher
from armsense_msgs.msg import MotorCommands


class CommandStream:
    """Publishes commands with the number and the stamp of the state that they answer."""

    def __init__(self, node: Node, n: int, qos: QoSProfile) -> None:
        """For n joints."""
        self._stream = StreamPublisher(node, MotorCommands, 'motor_commands', n, qos=qos)

    def publish(self, command: Command, state: Any, collision_seq: int) -> None:
        """Answer a state.

        Args:
            command: For the boards.
            state: The `motor_states` record.
            collision_seq: Of the last collision that the command takes into account.
        """
        out = self._stream.message
        out.seq, out.stamp_ns = state.seq, state.stamp_ns
        out.collision_seq = collision_seq
        out.position, out.velocity, out.torque = command.position, command.velocity, command.torque
        out.kp, out.kd, out.ki = command.kp, command.kd, command.ki
        self._stream.publish()
