"""`state_publisher`: `robot_description` and `tf` of an arm.

Where robot_state_publisher is installed, this program only hands it the description and becomes
it. Elsewhere it does the work itself: all links relative to the base.

`tf` is in the arm's namespace: two arms have the same frames, and meet in no tree. Listeners of
tf2 use `/tf` wherever they are; there they need what RViz gets in arm.launch.xml (`OWN_TREE`).
"""

import os
from pathlib import Path
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

from ament_index_python.packages import get_package_prefix, PackageNotFoundError
from geometry_msgs.msg import TransformStamped
import numpy as np
import rclpy
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage
import trimesh
import yaml

from armsense.model import Arm
from armsense_node.health import Health, HealthTopic, Level
from armsense_node.loop import DirectSubscription, latched_qos, PacedLoop, run_node
from armsense_node.parameters import ArmParameters, declare

RATE = 50.0      # [Hz] of tf
OWN_TREE = ('-r', '/tf:=tf', '-r', '/tf_static:=tf_static')

Settings = ArmParameters   # all that it has


class StatePublisherNode(Node):
    """The part of robot_state_publisher that an arm needs."""

    def __init__(self) -> None:
        super().__init__('robot_state_publisher')
        self._model = Arm.load(declare(self, Settings).arm)
        links, children = _links(self._model.urdf)
        self._base = next(link for link in links if link not in children)
        self._links = [link for link in links if link in children]
        self._states = DirectSubscription(
            self, JointState, 'joint_states',
            QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT))
        self._tf = self.create_publisher(TFMessage, 'tf', 100)
        self._description = self.create_publisher(String, 'robot_description', latched_qos())
        self._description.publish(String(data=self._model.urdf))
        self._sent = 0      # since the last look at the health
        HealthTopic(self, self.health)
        self.loop = PacedLoop(1.0 / RATE, self._step)

    def _step(self, tick: int) -> None:
        state = self._states.take_latest()
        if state is None:
            return
        angles = dict(zip(state.name, state.position, strict=False))
        if not set(self._model.joint_names) <= set(angles):
            return                          # joint states of something else
        q = [angles[name] for name in self._model.joint_names]
        self._tf.publish(TFMessage(transforms=[
            self._transform(link, q, state) for link in self._links]))
        self._sent += 1

    def health(self) -> list[Health]:
        """Of the time since it was last asked."""
        sent, self._sent = self._sent, 0
        if not sent:
            return [Health('tf', 'joint_states of this arm do not arrive', Level.WARN)]
        return [Health('tf', 'follows the joints')]

    def _transform(self, link: str, q: list[float], state: JointState) -> TransformStamped:
        pose = self._model.frame_pose(np.array(q), link)
        out = TransformStamped(header=state.header, child_frame_id=link)
        out.header.frame_id = self._base
        place, turn = out.transform.translation, out.transform.rotation
        place.x, place.y, place.z = pose[:3, 3].tolist()
        turn.w, turn.x, turn.y, turn.z = trimesh.transformations.quaternion_from_matrix(
            pose).tolist()
        return out


def _links(urdf: str) -> tuple[list[str], set[str]]:
    """Names of all links, and of those that hang on a joint."""
    root = ElementTree.fromstring(urdf)
    return ([link.get('name', '') for link in root.findall('link')],
            {child.get('link', '') for child in root.findall('joint/child')})


def robot_state_publisher() -> Path | None:
    """The program, where it is installed."""
    try:
        prefix = get_package_prefix('robot_state_publisher')
    except PackageNotFoundError:
        return None
    return Path(prefix, 'lib', 'robot_state_publisher', 'robot_state_publisher')


def _become(program: Path) -> None:
    """Replace this process; names, namespace and remappings of its command line stay."""
    rclpy.init()
    node = rclpy.create_node('robot_state_publisher')
    arm = declare(node, Settings).arm
    node.destroy_node()
    rclpy.shutdown()
    with tempfile.NamedTemporaryFile('w', suffix='.yaml', delete=False) as file:
        yaml.safe_dump({'/**': {'ros__parameters': {
            'robot_description': Arm.load(arm).urdf}}}, file)
    os.execv(program, [str(program), *sys.argv[1:], '--ros-args', *OWN_TREE, '--params-file',
                       file.name])


def main() -> int:
    program = robot_state_publisher()
    if program is not None:
        _become(program)
    return run_node(StatePublisherNode)


if __name__ == '__main__':
    sys.exit(main())
