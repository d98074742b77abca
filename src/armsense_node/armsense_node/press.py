"""Contact on purpose, told by the controller to the observers: the latched topic `press`.

The force is along the direction in which the tool presses, in the base frame, as large as it may
become; zero: every contact is a collision.
"""

from __future__ import annotations

from geometry_msgs.msg import WrenchStamped
import numpy as np
from rclpy.node import Node

from armsense.types import Press
from armsense_node.qos import latched_qos

TOPIC = 'press'


def press_message(press: Press | None) -> WrenchStamped:
    """What the tool presses with, None: with nothing, as a message."""
    message = WrenchStamped()
    if press is not None:
        force = message.wrench.force
        force.x, force.y, force.z = (press.most * press.direction).tolist()
    return message


def make_press(force: np.ndarray, limit: float = 0.0) -> Press | None:
    """From a force [N], (3,), and from where on it is a collision [N]; 0: twice as much."""
    size = float(np.linalg.norm(force))
    return Press(force / size, size, limit or 2.0 * size) if size > 0.0 else None


class PressTopic:
    """Hears on the executor's thread whether the tool presses."""

    def __init__(self, node: Node) -> None:
        self.press: Press | None = None
        node.create_subscription(WrenchStamped, TOPIC, self._on_press, latched_qos())

    def _on_press(self, message: WrenchStamped) -> None:
        force = message.wrench.force
        most = np.array([force.x, force.y, force.z])
        size = float(np.linalg.norm(most))
        self.press = make_press(most, size) if np.isfinite(size) else None
