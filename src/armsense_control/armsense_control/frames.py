"""Where a frame is, as seen from the arm's base: frames of the arm, and those that `tf` tells."""

from __future__ import annotations

from typing import Any

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from tf2_msgs.msg import TFMessage

from armsense.errors import UnknownName
from armsense.model import Arm
from armsense.task import Pose
from armsense.types import Array
from armsense_node.loop import DirectSubscription

KEPT = 100            # messages of tf that wait until somebody asks for a frame
ROOT = 'universe'     # Pinocchio's name of what the base is fixed to


class Frames:
    """Serves one thread. Nobody wakes for `tf`: it is read when a frame is asked for."""

    def __init__(self, node: Node, model: Arm) -> None:
        self._model = model.replace()
        self.base = next(name for name in model.frame_names if name != ROOT)
        self._parents: dict[str, tuple[str, Pose]] = {}    # of a frame, and its pose therein
        latched = QoSProfile(depth=KEPT, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self._topics = [DirectSubscription(node, TFMessage, 'tf', QoSProfile(depth=KEPT)),
                        DirectSubscription(node, TFMessage, 'tf_static', latched)]

    def tool(self, q: Array) -> Pose:
        """Of the tool in the base frame at q [rad], (n,)."""
        return Pose.of_matrix(self._model.frame_pose(q))

    def find(self, frame: str, q: Array) -> Pose:
        """Pose of a frame in the base frame, with the arm at q [rad], (n,); empty: the base."""
        if frame in ('', self.base):
            return Pose.of([0.0, 0.0, 0.0])
        if frame in self._model.frame_names:
            return Pose.of_matrix(self._model.frame_pose(q, frame))
        self._read()
        here, there = self._up(self.base), self._up(frame)
        common = next((name for name in there if name in here), None)
        if common is None:
            raise UnknownName('frame', frame, sorted({*self._model.frame_names, *self._parents}),
                              'the arm and tf')
        base, other = here[common], there[common]
        R = base.rotation.T
        return Pose(R @ (other.position - base.position), R @ other.rotation)

    def _up(self, frame: str) -> dict[str, Pose]:
        """A frame's pose in itself, in its parent, and so on."""
        poses = {frame: Pose.of([0.0, 0.0, 0.0])}
        while frame in self._parents and self._parents[frame][0] not in poses:
            parent, placed = self._parents[frame]
            poses[parent] = poses[frame].within(placed)
            frame = parent
        return poses

    def _read(self) -> None:
        for topic in self._topics:
            while (message := topic.take()) is not None:
                for transform in message.transforms:
                    self._parents[transform.child_frame_id] = (
                        transform.header.frame_id, pose_of(transform.transform))


def pose_of(message: Any, turns: bool = True) -> Pose:
    """From a `geometry_msgs` Pose or Transform; its orientation may be of no interest."""
    place = message.position if hasattr(message, 'position') else message.translation
    turn = message.orientation if hasattr(message, 'orientation') else message.rotation
    quaternion = (turn.x, turn.y, turn.z, turn.w) if turns else (0.0, 0.0, 0.0, 1.0)
    return Pose.of((place.x, place.y, place.z), quaternion)
