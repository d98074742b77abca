"""The bridge as a process: a publisher of joint states is the robot, another the controller."""

from __future__ import annotations

from collections.abc import Callable, Iterator
import signal
import time

from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from node_process import finish, own_node, PATIENCE, start
import pytest
from rclpy.executors import SingleThreadedExecutor
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from armsense_msgs.msg import DriverMode, MotorCommands, MotorStates
from armsense_node.loop import latched_qos, stream_qos

JOINTS = ['joint1', 'joint2', 'joint3', 'joint4']
HOME = [0.0, 0.6, 0.0, -0.6]
ZERO = [0.0] * 4
SLOW = [0.1] * 4           # [rad/s] reported, so that damping is not zero
TORQUE = [0.1, 0.2, 0.3, 0.4]


class Robot:
    """Reports one pose and a slow motion; controllers answer what the bridge makes of it."""

    def __init__(self, node, process) -> None:
        self.process = process
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

    def live(self, until: Callable[[], bool], joints: list[str] = JOINTS) -> None:
        """Report these joints, none if it is empty, and hear the bridge."""
        deadline, n = time.monotonic() + PATIENCE, len(joints)
        while not until():
            assert time.monotonic() < deadline
            if joints:
                self._joint_states.publish(JointState(
                    name=joints, position=HOME[:n], velocity=SLOW[:n], effort=ZERO[:n]))
            self._executor.spin_once(timeout_sec=0.005)

    def move(self) -> None:
        """Until the controller's torque reaches the robot."""
        self.add_controller()
        self.live(lambda: bool(self.efforts) and list(self.efforts[-1].data) == TORQUE)

    def change_state(self, transition: int) -> None:
        client = self._node.create_client(ChangeState, 'ros2_control_bridge/change_state')
        assert client.wait_for_service(PATIENCE)
        future = client.call_async(ChangeState.Request(transition=Transition(id=transition)))
        self.live(future.done)
        assert future.result().success

    def close(self) -> None:
        self._executor.shutdown()


@pytest.fixture
def robot() -> Iterator[Robot]:
    process = start('armsense_driver.ros2_control_bridge_node', 'arm:=laas4',
                    'enable_on_start:=true', 'silence:=1.0', 'command_timeout:=1.0',
                    'command_age:=1.0')       # a busy machine is no fault here
    try:
        with own_node() as node:
            robot = Robot(node, process)
            yield robot
            robot.close()
    finally:
        _, errors, code = finish(process, signal.SIGINT)
    assert code == 0, errors


def test_one_controller_moves_the_robot_and_two_do_not(robot):
    robot.move()
    begin = len(robot.states)
    robot.live(lambda: len(robot.states) > begin + 20)
    assert robot.modes[-1].mode == DriverMode.ENABLED
    robot.add_controller()
    robot.live(lambda: robot.modes[-1].mode == DriverMode.DAMPING)
    assert robot.modes[-1].fault == 'two_controllers'
    assert 'stop the others' in robot.modes[-1].explanation
    robot.live(lambda: list(robot.efforts[-1].data) != TORQUE)


@pytest.mark.parametrize(('joints', 'cause'), [
    ([], 'no joint states'), (['finger'], 'lacks joint1, joint2, joint3, joint4; it has finger')])
def test_a_robot_that_tells_nothing_of_its_joints_is_left_without_effort(robot, joints, cause):
    robot.move()
    robot.live(lambda: robot.modes[-1].mode == DriverMode.DAMPING, joints)
    assert robot.modes[-1].fault == 'joint_states'
    assert cause in robot.modes[-1].explanation
    assert 'sinks' in robot.modes[-1].explanation
    robot.live(lambda: list(robot.efforts[-1].data) == ZERO, joints)


def test_damping_does_not_outlive_the_joint_states(robot):
    robot.move()
    robot.add_controller()
    robot.live(lambda: robot.modes[-1].mode == DriverMode.DAMPING)
    sent = len(robot.efforts)
    robot.live(lambda: len(robot.efforts) > sent + 20)
    assert max(robot.efforts[-1].data) < 0.0
    quiet = time.monotonic() + 0.5          # half of `silence`: nothing is under way any more
    robot.live(lambda: time.monotonic() > quiet, [])
    sent = len(robot.efforts)
    robot.live(lambda: len(robot.efforts) > sent, [])
    assert list(robot.efforts[-1].data) == ZERO


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_brakes_the_robot_and_the_last_words_are_zero_efforts(robot, number):
    robot.move()
    sent = len(robot.efforts)
    robot.process.send_signal(number)
    robot.process.send_signal(number)                 # as under `ros2 launch`
    robot.live(lambda: robot.process.poll() is not None)
    assert robot.modes[-2].mode == DriverMode.DAMPING
    assert 'the driver ends' in robot.modes[-2].explanation
    assert any(max(efforts.data) < 0.0 for efforts in robot.efforts[sent:])
    heard = time.monotonic() + 0.5
    robot.live(lambda: time.monotonic() > heard, [])
    assert list(robot.efforts[-1].data) == ZERO
    assert robot.modes[-1].mode == DriverMode.DISABLED


def test_a_deactivated_bridge_leaves_no_effort(robot):
    robot.move()
    sent = len(robot.efforts)
    robot.change_state(Transition.TRANSITION_DEACTIVATE)
    robot.live(lambda: list(robot.efforts[-1].data) == ZERO)
    assert any(max(efforts.data) < 0.0 for efforts in robot.efforts[sent:])   # braked before
    assert robot.modes[-2].mode == DriverMode.DAMPING
    assert robot.modes[-1].mode == DriverMode.DISABLED
    robot.change_state(Transition.TRANSITION_ACTIVATE)
    begin = len(robot.states)
    robot.live(lambda: len(robot.states) > begin + 20)
    assert list(robot.efforts[-1].data) == ZERO       # nobody has enabled it again
