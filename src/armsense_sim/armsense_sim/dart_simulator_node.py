"""`dart_simulator`: stands in for Gazebo where it is not installed.

DART, Gazebo's engine, simulates the description and the world that `gazebo.launch.xml` gives to
Gazebo, and the node speaks the topics of what that launch file starts: `joint_states` of the
joint_state_broadcaster, `effort_controller/commands` of the effort controller, `/clock` and
`base/force_torque` of the bridge. Efforts in `joint_states` are what friction leaves, as
gz_ros2_control tells them. Until the first effort that is not zero the arm is held, as joints are
that no controller claims.
"""

from __future__ import annotations

from dataclasses import dataclass
import sys

from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from armsense import share
from armsense.model import Arm
from armsense.schema import quantity, same_as
from armsense.sim.dart_plant import DartPlant, state_period
from armsense.sim.gazebo_description import description
from armsense_node.loop import DirectSubscription, event_qos, PacedLoop, run_node
from armsense_node.parameters import ArmParameters, declare, ModelParameters
from armsense_sim.push_topic import PushTopic


@dataclass(frozen=True, kw_only=True)
class Settings(ArmParameters):
    """Parameters."""

    model: str = same_as(ModelParameters, 'model')
    world: str = quantity('', text='SDF file; empty: config/worlds/obstacles.sdf')
    real_time_factor: float = quantity(1.0, above=0, high=100,
                                       text='simulated over real time, at most')


class DartSimulatorNode(Node):
    """Plant and topics."""

    def __init__(self) -> None:
        super().__init__('dart_simulator')
        settings = declare(self, Settings)
        arm = Arm.load(settings.arm, settings.model or None)
        world = settings.world or share.find('config/worlds/obstacles.sdf')
        self._plant = DartPlant(description(arm), world)
        self._dt = state_period(arm.config.rate)
        self._torque = [0.0] * self._plant.n
        self._held = True
        qos = event_qos(10)                     # reliable, as the originals are
        self._states = self.create_publisher(JointState, 'joint_states', qos)
        self._clock_topic = self.create_publisher(Clock, '/clock', qos)
        self._wrench = self.create_publisher(WrenchStamped, 'base/force_torque', qos)
        self._efforts = DirectSubscription(self, Float64MultiArray, 'effort_controller/commands',
                                           event_qos(1))
        self._pushes = PushTopic(self)
        self._state = JointState(name=list(self._plant.names))
        self._state.header.frame_id = 'base_link'
        self.loop = PacedLoop(self._dt / settings.real_time_factor, self._step)
        self.get_logger().info(f'{arm.name} in DART, among {", ".join(self._plant.obstacles)}')

    def _step(self, tick: int) -> None:
        plant = self._plant
        for message in self._efforts.drain():
            self._take(message)
        self._pushes.act_on(plant)
        if self._held:
            plant.hold(self._dt)
        else:
            plant.step(self._torque, self._dt)
        self._tell()

    def _take(self, message: Float64MultiArray) -> None:
        """As the forwarding controller: wrong lengths are refused, the last effort stays."""
        if len(message.data) != self._plant.n:
            self.get_logger().error(f'{len(message.data)} efforts for {self._plant.n} joints')
            return
        self._torque = list(message.data)
        self._held = self._held and not any(self._torque)

    def _tell(self) -> None:
        plant = self._plant
        seconds, nanoseconds = divmod(round(plant.time * 1e9), 10**9)
        clock = Clock()
        state, wrench = self._state, WrenchStamped()
        wrench.header.frame_id = 'base_link'
        for stamp in (clock.clock, state.header.stamp, wrench.header.stamp):
            stamp.sec, stamp.nanosec = seconds, nanoseconds
        state.position, state.velocity = plant.q.tolist(), plant.dq.tolist()
        state.effort = plant.transmitted.tolist()
        f, m = wrench.wrench.force, wrench.wrench.torque
        f.x, f.y, f.z, m.x, m.y, m.z = plant.base_wrench.tolist()
        self._clock_topic.publish(clock)
        self._states.publish(state)
        self._wrench.publish(wrench)


def main() -> int:
    return run_node(DartSimulatorNode)


if __name__ == '__main__':
    sys.exit(main())
