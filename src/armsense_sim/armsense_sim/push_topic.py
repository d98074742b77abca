"""Topic `~/push`: somebody pushes the simulated arm, whatever engine moves it."""

from __future__ import annotations

from typing import Protocol

from geometry_msgs.msg import WrenchStamped
from numpy.typing import ArrayLike
from rclpy.node import Node

from armsense.errors import ArmsenseError
from armsense_node.loop import DirectSubscription, event_qos

PUSH = 0.2       # [s] that a push lasts; a stream of messages is one that goes on


class Pushable(Protocol):
    """What all plants can do."""

    def apply_force(self, link: str, point: ArrayLike, force: ArrayLike,
                    duration: float | None = None) -> None: ...

    def release(self) -> None: ...


class PushTopic:
    """One hand: a new push ends the one before."""

    def __init__(self, node: Node) -> None:
        self._logger = node.get_logger()
        self._messages = DirectSubscription(node, WrenchStamped, '~/push', event_qos())

    def act_on(self, plant: Pushable) -> None:
        """Push at the origin of the link in `frame_id`; force [N] in the world frame."""
        for message in self._messages.drain():
            force = message.wrench.force
            plant.release()
            try:
                plant.apply_force(message.header.frame_id, [0.0, 0.0, 0.0],
                                  [force.x, force.y, force.z], PUSH)
            except ArmsenseError as error:
                self._logger.error(str(error))
