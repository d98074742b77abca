"""Topics `~/push` and `~/pull`: hands on the simulated arm, whatever engine moves it."""

from __future__ import annotations

from typing import Protocol

from geometry_msgs.msg import WrenchStamped
from numpy.typing import ArrayLike
from rclpy.node import Node

from armsense.errors import ArmsenseError
from armsense_msgs.msg import Pull
from armsense_node.loop import DirectSubscription, event_qos

PUSH = 0.2       # [s] that a push lasts; a stream of messages is one that goes on
PULL = 0.5       # [s] likewise; a page that is closed lets go


class Pushable(Protocol):
    """What all plants can do."""

    def apply_force(self, link: str, point: ArrayLike, force: ArrayLike,
                    duration: float | None = None) -> None: ...

    def release(self) -> None: ...


class Pullable(Pushable, Protocol):
    """What MuJoCo's can."""

    def pull(self, link: str, point: ArrayLike, target: ArrayLike, stiffness: float,
             duration: float | None = None) -> None: ...


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


class PullTopic:
    """One hand: a new pull goes on where the last one was."""

    def __init__(self, node: Node) -> None:
        self._logger = node.get_logger()
        self._messages = DirectSubscription(node, Pull, '~/pull', event_qos())

    def act_on(self, plant: Pullable) -> None:
        for message in self._messages.drain():
            plant.release()
            if message.stiffness == 0.0:
                continue
            point, target = message.point, message.target
            try:
                plant.pull(message.link, [point.x, point.y, point.z],
                           [target.x, target.y, target.z], message.stiffness, PULL)
            except ArmsenseError as error:
                self._logger.error(str(error))
