"""Gazebo's stand-in: the nodes of `gazebo.launch.xml` on Gazebo's arm, engine and topics."""

from arm_system import arm_system
from geometry_msgs.msg import WrenchStamped
import numpy as np
import pytest
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState

from armsense.model import Arm
from armsense_msgs.msg import DriverMode, LoadCells
from armsense_node.qos import event_qos, stream_qos

ARM = Arm.load('laas4')
HOME = np.array(ARM.config.home)
SPEED = 0.1       # of real time: a busy machine keeps up
BRIDGE = 'ros2_control_bridge'
# The bridge counts in real time; a machine that stands still for a moment is no fault here.
LIMITS = {BRIDGE: {'command_timeout': 1.0, 'command_age': 1.0, 'collision_answer': 1.0,
                   'silence': 1.0}}


class Heard:
    """What Gazebo's side says."""

    def __init__(self, node) -> None:
        self.states: list[JointState] = []
        self.clock: list[Clock] = []
        self.wrench: list[WrenchStamped] = []
        self.cells: list[LoadCells] = []
        for kind, topic, place in ((JointState, 'joint_states', self.states),
                                   (Clock, '/clock', self.clock),
                                   (WrenchStamped, 'base/force_torque', self.wrench)):
            node.create_subscription(kind, topic, place.append, event_qos(10))
        node.create_subscription(LoadCells, 'load_cells', self.cells.append, stream_qos())
        self.push = node.create_publisher(WrenchStamped, 'dart_simulator/push', 10)


def wait_enabled(client, *more: str) -> None:
    """Until everybody is there. The arm enables itself and stands where Gazebo put it."""
    for topic in ('residual', 'motor_commands', *more):
        client.wait(lambda topic=topic: client.node.count_publishers(topic), what=topic)
    client.find_controller()
    client.wait(lambda: client.state is not None, what='a state')
    client.wait(lambda: client.phases, what='a controller that runs')
    client.wait_mode(DriverMode.ENABLED)
    np.testing.assert_allclose(client.state.position, HOME, atol=1e-3)


@pytest.mark.timing
def test_the_arm_is_enabled_moves_feels_a_push_and_reacts():
    with arm_system(parameters=LIMITS, hardware='dart', real_time_factor=str(SPEED),
                    base='true') as (client, supervisor):
        heard = Heard(client.node)
        wait_enabled(client, 'base/residual')
        goal = HOME + [0.5, -0.2, 0.3, 0.3]
        assert client.result(client.send([(1.5, goal)])).error_code == 0
        np.testing.assert_allclose(client.state.position, goal, atol=0.02)
        assert not client.collisions, client.collisions[0]

        push = WrenchStamped()
        push.header.frame_id = 'link4'
        push.wrench.force.y = 15.0
        handle = client.send([(3.0, HOME)], reaction='stop')
        client.wait(lambda: np.abs(client.state.velocity).max() > 0.05, what='a motion')
        heard.push.publish(push)
        client.wait(lambda: client.collisions, what='a collision')
        assert client.result(handle).error_code != 0
        client.wait(lambda: 'holding' in client.phases, what=f'holding ({client.phases})')
        assert client.modes[-1].mode == DriverMode.ENABLED, client.modes[-1].explanation

        # The topics are those of Gazebo.
        state = heard.states[-1]
        assert state.name == list(ARM.joint_names)
        assert len(state.position) == len(state.velocity) == len(state.effort) == 4
        stamps = [s.header.stamp.sec + 1e-9 * s.header.stamp.nanosec for s in heard.states]
        assert np.median(np.diff(stamps)) == pytest.approx(1e-3)      # simulated time
        assert heard.clock[-1].clock.sec >= 1
        weight = 9.81 * (ARM.masses.sum() + 0.3)
        assert heard.wrench[-1].wrench.force.z == pytest.approx(-weight, rel=0.1)
        assert sum(heard.cells[-1].force) == pytest.approx(weight, rel=0.1)   # pressed
    assert supervisor.exit_code == 0, supervisor.last_words


@pytest.mark.timing
def test_the_post_of_the_world_is_in_the_way():
    with arm_system(parameters=LIMITS, hardware='dart',
                    real_time_factor=str(SPEED)) as (client, supervisor):
        wait_enabled(client)
        handle = client.send([(3.0, HOME + [1.2, -0.4, 0.0, 0.4])], reaction='stop')
        client.wait(lambda: client.collisions, 90.0, 'the post')
        assert client.result(handle).error_code != 0
    assert supervisor.exit_code == 0, supervisor.last_words
