"""Under ros2_control: its hardware plugin is played by this test, everything else is real."""

from arm_system import arm_system, JOINTS
import numpy as np
from sensor_msgs.msg import JointState

from armsense_msgs.msg import DriverMode
from armsense_node.qos import stream_qos

STEP = 5e-4   # [rad] per state


class HardwarePlugin:
    """Reads `hardware/joint_states`, answers each with a position, like the topic-based plugin."""

    def __init__(self, node):
        self.q, self.target = None, None
        self._sent = None
        self._commands = node.create_publisher(JointState, 'hardware/joint_commands', 1)
        node.create_subscription(JointState, 'hardware/joint_states', self._on_state,
                                 stream_qos())

    def _on_state(self, message):
        self.q = np.array(message.position)
        if self._sent is None:
            self._sent = self.q
        if self.target is not None:
            self._sent = self._sent + np.clip(self.target - self._sent, -STEP, STEP)
        self._commands.publish(JointState(name=JOINTS, position=self._sent.tolist()))


def test_positions_from_ros2_control_move_the_arm():
    system = arm_system(controller='joint_command_controller', lockstep='true')
    with system as (client, supervisor):
        client.wait_mode(DriverMode.ENABLED)
        plugin = HardwarePlugin(client.node)
        client.wait(lambda: plugin.q is not None, what='hardware/joint_states')
        target = plugin.q + [0.3, -0.1, 0.1, 0.1]
        plugin.target = target
        client.wait(lambda: np.abs(plugin.q - target).max() < 0.03, what='the arm follows')
        assert client.modes[-1].mode == DriverMode.ENABLED, client.modes[-1].explanation
        assert not client.collisions
    assert supervisor.exit_code == 0, supervisor.last_words
