"""The drift monitor on the topics of an arm: residuals in, diagnostics out."""

from __future__ import annotations

from typing import Any

import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import JointState

from armsense.identify.drift import DriftMonitor, DriftOptions
from armsense.model import Arm
from armsense.model.model_file import ModelFile
from armsense_msgs.msg import Collision, Residual
from armsense_node.health import Health, HealthTopic, Level
from armsense_node.loop import DirectSubscription, event_qos, stream_qos

SAMPLING = 0.1       # [s] between two looks: the newest residual is enough for a mean square
MOVING = 0.05        # [rad/s] slower, friction may hold any torque
AFTER_CONTACT = 2.0  # [s] that do not count


class DriftWatch:
    """Feeds a `DriftMonitor` and publishes its verdict."""

    def __init__(self, node: Node, model: Arm, settings: Any) -> None:
        """Subscribe.

        Args:
            node: The server.
            model: The arm that is watched.
            settings: Its parameters.
        """
        self._node, self._joints = node, model.joint_names
        self._monitor = DriftMonitor(
            model.joint_names, _baseline(settings.model, model),
            DriftOptions(window=settings.drift_window, factor=settings.drift_factor))
        self._stamp = self._contact = -1e9        # [s]
        self._moving = False
        self._outdated = False
        # Taken by hand: the executor would wake with every one of these messages.
        self._residuals = DirectSubscription(node, Residual, 'residual', stream_qos())
        self._joint_states = DirectSubscription(node, JointState, 'joint_states', stream_qos())
        node.create_subscription(Collision, 'collision', self._on_collision, event_qos())
        node.create_timer(SAMPLING, self._look)
        HealthTopic(node, self._health)

    def _on_collision(self, message: Collision) -> None:
        self._contact = message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec

    def _look(self) -> None:
        joints = self._joint_states.take_latest()
        if joints is not None:
            self._moving = max(map(abs, joints.velocity), default=0.0) > MOVING
        message = self._residuals.take_latest()
        if message is None:
            return
        stamp = message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec
        dt, self._stamp = stamp - self._stamp, stamp
        after_contact = 0.0 <= stamp - self._contact <= AFTER_CONTACT   # else: or a clock was set
        usable = message.valid and self._moving and not after_contact
        self._monitor.step(np.array(message.filtered), dt, usable)

    def _health(self) -> list[Health]:
        verdict = self._monitor.verdict()
        if verdict.outdated and not self._outdated:
            self._node.get_logger().warning(verdict.text)
        self._outdated = verdict.outdated
        values = {f'{kind} {joint} [Nm]': float(value)
                  for kind, row in (('error', verdict.error), ('baseline', verdict.baseline))
                  for joint, value in zip(self._joints, row, strict=True)}
        return [Health('model fit', verdict.text, Level.WARN if verdict.outdated else Level.OK,
                       values)]


def _baseline(path: str, model: Arm) -> np.ndarray | None:
    """RMS of the residual when the model was new, where its file tells."""
    known = ModelFile.read(path, model.name).residual if path else None
    if known is None:
        return None
    return np.asarray(np.hypot(known.mean, known.sigma))
