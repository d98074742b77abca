"""The topic `diagnostics` of a node: once a second what the node says of itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.node import Node

from armsense_node.health import diagnostics, Health

PERIOD = 1.0   # [s]


class HealthTopic:
    """Asks and publishes, in the executor's thread."""

    def __init__(self, node: Node, health: Callable[[], Sequence[Health]]) -> None:
        """Begin.

        Args:
            node: In whose name it speaks.
            health: Parts of the node; none: nothing is published.
        """
        self._node, self._health = node, health
        self._publisher = node.create_publisher(DiagnosticArray, 'diagnostics', 1)
        node.create_timer(PERIOD, self._publish)

    def _publish(self) -> None:
        parts = self._health()
        if not parts:
            return
        message = diagnostics(self._node.get_name(), parts)
        message.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(message)
