"""`markers`: what RViz shows beside the arm: residuals in their thresholds, contact, force."""

from collections.abc import Iterator
from dataclasses import dataclass
import sys
from typing import Any

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point
import numpy as np
from rclpy.node import Node
from visualization_msgs.msg import Marker, MarkerArray

from armsense.model import Arm
from armsense.schema import quantity
from armsense.types import Array
from armsense_monitor.arm_history import ArmHistory, Contact
from armsense_monitor.feed import Feed, LiveFeed
from armsense_node.health import Health, HealthTopic, Level
from armsense_node.loop import PacedLoop, run_node
from armsense_node.parameters import ArmParameters, declare

THRESHOLD_RADIUS = 0.06      # [m] of the shell that stands for the threshold
FULLEST = 2.0                # times the threshold: larger residuals look the same
ARROW = 0.012                # [m/N]
GREEN, RED = (0.18, 0.62, 0.27), (0.88, 0.19, 0.19)
GREY = (0.6, 0.6, 0.6)


@dataclass(frozen=True, kw_only=True)
class Settings(ArmParameters):
    """Parameters."""

    rate: float = quantity(20.0, unit='Hz', low=1, high=100, text='of the markers')


class MarkersNode(Node):
    """Draws what the history says."""

    def __init__(self) -> None:
        super().__init__('markers')
        settings = declare(self, Settings)
        self._model = Arm.load(settings.arm)
        self._history = ArmHistory(self._model.joint_names)
        self._live = LiveFeed(self, Feed(self._history))
        self._publisher = self.create_publisher(MarkerArray, 'markers', 1)
        self._shown: float | None = None      # [s] stamp at the last look at the health
        HealthTopic(self, self.health)
        self.loop = PacedLoop(1.0 / settings.rate, self._step)

    def _step(self, tick: int) -> None:
        self._live.drain()
        if self._history.time is None:
            return
        nanoseconds = round(1e9 * self._history.time)
        stamp = Time(sec=nanoseconds // 10**9, nanosec=nanoseconds % 10**9)
        self._publisher.publish(markers(self._model, self._history, stamp))

    def health(self) -> list[Health]:
        """Of the time since it was last asked."""
        before, self._shown = self._shown, self._history.time
        if self._shown == before:
            return [Health('markers', 'nothing of an arm arrives', Level.WARN)]
        return [Health('markers', 'follow the arm')]


def markers(model: Arm, history: ArmHistory, stamp: Any) -> MarkerArray:
    """Markers of the newest state, with a time message; those that do not apply are deleted."""
    found = MarkerArray()
    if history.position is not None:
        found.markers += _residuals(model, history)
    found.markers += _contact(history.present_contact())
    for marker in found.markers:
        marker.header.frame_id = 'base_link'
        marker.header.stamp = stamp
    return found


def _residuals(model: Arm, history: ArmHistory) -> Iterator[Marker]:
    """A ball inside a shell at each joint; the residual is beyond its threshold if it sticks out.

    A text beside it has the number.
    """
    assert history.position is not None
    poses = model.joint_poses(history.position)
    for k, (pose, ratio) in enumerate(zip(poses, history.ratio, strict=True)):
        over = ratio > 1.0
        radius = THRESHOLD_RADIUS * float(np.clip(ratio, 0.02, FULLEST))
        yield _ball('residual', k, pose[:3, 3], radius, (*(RED if over else GREEN), 0.9))
        yield _ball('threshold', k, pose[:3, 3], THRESHOLD_RADIUS, (*GREY, 0.25))
        above = np.array([0.0, 0.0, 0.02 + max(radius, THRESHOLD_RADIUS)])   # not inside the ball
        text = _ball('residual_text', k, pose[:3, 3] + above, 0.015,
                     (*(RED if over else GREY), 1.0))
        text.type = Marker.TEXT_VIEW_FACING
        text.scale.x = text.scale.y = 0.0    # z is the height; RViz makes spaces x wide
        text.text = f'{model.joint_names[k]} {100.0 * ratio:.0f} %'
        yield text


def _contact(contact: Contact | None) -> list[Marker]:
    point = None if contact is None else contact.point
    force = None if contact is None else contact.force
    if point is None:
        return [_gone('contact'), _gone('force')]
    ball = _ball('contact', 0, point, 0.02, (*RED, 1.0))
    if force is None:
        return [ball, _gone('force')]
    arrow = Marker(ns='force', type=Marker.ARROW, action=Marker.ADD)
    arrow.points = [_point(point - ARROW * force), _point(point)]
    arrow.scale.x, arrow.scale.y, arrow.scale.z = 0.01, 0.025, 0.04
    _paint(arrow, (*RED, 1.0))
    return [ball, arrow]


def _ball(namespace: str, number: int, place: Array, radius: float,
          color: tuple[float, ...]) -> Marker:
    marker = Marker(ns=namespace, id=number, type=Marker.SPHERE, action=Marker.ADD)
    marker.pose.position = _point(place)
    marker.pose.orientation.w = 1.0
    marker.scale.x = marker.scale.y = marker.scale.z = 2.0 * radius
    _paint(marker, color)
    return marker


def _gone(namespace: str) -> Marker:
    return Marker(ns=namespace, action=Marker.DELETE)


def _paint(marker: Marker, color: tuple[float, ...]) -> None:
    marker.color.r, marker.color.g, marker.color.b, marker.color.a = color


def _point(place: Array) -> Point:
    x, y, z = (float(value) for value in place)
    return Point(x=x, y=y, z=z)


def main() -> int:
    return run_node(MarkersNode)


if __name__ == '__main__':
    sys.exit(main())
