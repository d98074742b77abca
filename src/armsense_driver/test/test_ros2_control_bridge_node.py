"""The bridge as a process: a publisher of joint states is the robot, another the controller."""

from __future__ import annotations

from collections.abc import Callable, Iterator
import signal
import time

from node_process import finish, own_node, PATIENCE, start
import pytest
from rclpy.executors import SingleThreadedExecutor
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from armsense_driver.loop import latched_qos, stream_qos
from armsense_msgs.msg import DriverMode, MotorCommands, MotorStates

JOINTS = ['joint1', 'joint2', 'joint3', 'joint4']
HOME = [0.0, 0.6, 0.0, -0.6]
ZERO = [0.0] * 4
TORQUE = [0.1, 0.2, 0.3, 0.4]


class Robot:
    """At rest; every state that the bridge makes of it is answered by the controllers."""

    def __init__(self, node) -> None:
        self.states: list[MotorStates] = []
        self.modes: list[DriverMode] = []
        self.efforts: list[Float64MultiArray] = []
        self._node = node
        self._joint_states = node.create_publisher(JointState, 'joint_states', 1)
        self._controllers: list = []
        node.create_subscription(MotorStates, 'motor_states', self._answer, stream_qos())
        node.create_subscription(DriverMode, 'ros2_control_bridge/mode', self.modes.append,
                                 latched_qos())
        node.create_subscription(Float64MultiArray, 'effort_controller/commands',
                                 self.efforts.append, 1)
        self._executor = SingleThreadedExecutor(context=node.context)
        self._executor.add_node(node)

    def add_controller(self) -> None:
        self._controllers.append(self._node.create_publisher(
            MotorCommands, 'motor_commands', stream_qos()))

    def _answer(self, state: MotorStates) -> None:
        self.states.append(state)
        for publisher in self._controllers:
            publisher.publish(MotorCommands(seq=state.seq, position=HOME, velocity=ZERO,
                                            torque=TORQUE, kp=ZERO, kd=ZERO, ki=ZERO))

    def live(self, until: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not until():
            assert time.monotonic() < deadline
            self._joint_states.publish(JointState(name=JOINTS, position=HOME, velocity=ZERO,
                                                  effort=ZERO))
            self._executor.spin_once(timeout_sec=0.005)

    def close(self) -> None:
        self._executor.shutdown()


@pytest.fixture
def robot() -> Iterator[Robot]:
    process = start('armsense_driver.ros2_control_bridge_node', 'arm:=laas4',
                    'enable_on_start:=true', 'silence:=1.0')
    try:
        with own_node() as node:
            robot = Robot(node)
            yield robot
            robot.close()
    finally:
        _, errors, code = finish(process, signal.SIGINT)
    assert code == 0, errors


def test_one_controller_moves_the_robot_and_two_do_not(robot):
    robot.add_controller()
    robot.live(lambda: bool(robot.efforts) and list(robot.efforts[-1].data) == TORQUE)
    begin = len(robot.states)
    robot.live(lambda: len(robot.states) > begin + 20)
    assert robot.modes[-1].mode == DriverMode.ENABLED
    robot.add_controller()
    robot.live(lambda: robot.modes[-1].mode == DriverMode.DAMPING)
    assert robot.modes[-1].fault == 'two_controllers'
    assert 'stop the others' in robot.modes[-1].explanation
    robot.live(lambda: list(robot.efforts[-1].data) != TORQUE)
