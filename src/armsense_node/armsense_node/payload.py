"""What the tool carries, told once to every node that has a model: the latched topic `payload`."""

from __future__ import annotations

from collections import deque

from geometry_msgs.msg import InertiaStamped
import numpy as np
from numpy.typing import ArrayLike
from rclpy.node import Node

from armsense.errors import ArmsenseError
from armsense.model import Arm
from armsense.model.arm import carrying
from armsense_node.qos import latched_qos

TOPIC = 'payload'


def payload_message(tool_frame: str, mass: float, center: ArrayLike = (0.0, 0.0, 0.0),
                    inertia: ArrayLike | None = None) -> InertiaStamped:
    """The arguments of `Arm.with_payload` as a message."""
    message = InertiaStamped()
    message.header.frame_id = tool_frame
    out = message.inertia
    out.m = float(mass)
    out.com.x, out.com.y, out.com.z = np.asarray(center, float).tolist()
    tensor = np.zeros((3, 3)) if inertia is None else np.asarray(inertia, float)
    (out.ixx, out.ixy, out.ixz), (_, out.iyy, out.iyz), (_, _, out.izz) = tensor.tolist()
    return message


class PayloadTopic:
    """Hears on the executor's thread what the tool carries; the loop asks for the model."""

    def __init__(self, node: Node, model: Arm) -> None:
        """Listen; the model is that of the arm with an empty tool."""
        self._node, self._empty = node, model
        self._newest: deque[Arm] = deque(maxlen=1)
        self._mass = 0.0   # [kg] as told last
        node.create_subscription(InertiaStamped, TOPIC, self._on_payload, latched_qos())

    def changed(self) -> Arm | None:
        """The arm with its new payload, once; None: as before."""
        return self._newest.pop() if self._newest else None

    def _on_payload(self, message: InertiaStamped) -> None:
        log = self._node.get_logger()
        if message.inertia.m == self._mass == 0.0:
            return                       # a controller starts: the tool is as empty as before
        try:
            self._newest.append(carrying(self._empty, message))
        except ArmsenseError as error:
            log.error(f'{TOPIC}: {error}')
            return
        self._mass = message.inertia.m
        log.info(f'the tool carries {self._mass:g} kg')
