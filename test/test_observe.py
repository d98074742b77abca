"""A robot with a driver of its own is watched through its joint states, and never moved."""

import math

from arm_system import ROOT
import pytest
import rclpy
from rclpy.executors import SingleThreadedExecutor
from sensor_msgs.msg import JointState

from armsense_bringup.launch.plan import load
from armsense_bringup.launch.supervisor import Supervisor
from armsense_msgs.msg import Collision, Residual
from armsense_node.qos import event_qos, stream_qos

URDF = """<robot name="pendulum">
  <link name="base_link"/>
  <link name="upper"><inertial><origin xyz="0.5 0 0"/><mass value="2"/>
    <inertia ixx="0.01" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="lower"><inertial><origin xyz="0.5 0 0"/><mass value="1"/>
    <inertia ixx="0.01" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="shoulder" type="revolute"><parent link="base_link"/><child link="upper"/>
    <axis xyz="0 1 0"/><limit lower="-3" upper="3" velocity="2" effort="40"/></joint>
  <joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/>
    <origin xyz="1 0 0"/><axis xyz="0 1 0"/>
    <limit lower="-3" upper="3" velocity="2" effort="20"/></joint>
</robot>"""
SHOULDER, ELBOW = 0.4, 0.5          # [rad] where the robot stands
PUSH = 12.0                         # [N] down, at the end of the lower link


def efforts(push: float) -> list[float]:
    """What a robot at rest needs against its weight and a push: levers times forces, by hand."""
    upper = math.cos(SHOULDER)
    lower = math.cos(SHOULDER + ELBOW)
    elbow = -(0.5 * 9.81 * lower + push * lower)
    shoulder = -(2 * 9.81 * 0.5 * upper + 9.81 * (upper + 0.5 * lower) + push * (upper + lower))
    return [elbow, 0.0, shoulder]


@pytest.fixture
def robot(tmp_path):
    """Launch file on a robot that a publisher pretends to be; gives a function that goes on."""
    (tmp_path / 'pendulum.urdf').write_text(URDF)
    plan = load(ROOT / 'launch' / 'observe.launch.xml',
                {'robot_description': str(tmp_path / 'pendulum.urdf'),
                 'joint_states': '/robot/joint_states'})
    context = rclpy.Context()
    rclpy.init(context=context)
    node = rclpy.create_node('robot', context=context)
    publisher = node.create_publisher(JointState, '/robot/joint_states', 10)
    felt: list[Collision] = []
    subscription = node.create_subscription(Collision, '/armsense/collision', felt.append,
                                            event_qos())
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    rate = 200.0
    ticks = 0

    def publish(push: float, states: int) -> list[Collision]:
        nonlocal ticks
        for _ in range(states):
            ticks += 1
            message = JointState(name=['elbow', 'gripper', 'shoulder'], effort=efforts(push),
                                 position=[ELBOW, 0.0, SHOULDER], velocity=[0.0] * 3)
            message.header.stamp.sec, nanoseconds = divmod(int(ticks / rate * 1e9), 10**9)
            message.header.stamp.nanosec = nanoseconds
            publisher.publish(message)
            executor.spin_once(timeout_sec=1.0 / rate)
        return felt

    heard: list[Residual] = []
    watched = node.create_subscription(Residual, '/armsense/residual', heard.append, stream_qos())
    with Supervisor(plan) as supervisor:
        while not (heard and heard[-1].valid):      # the observer watches
            publish(0.0, 20)
            assert ticks < 100 * rate, supervisor.last_words
        yield publish, node
    node.destroy_subscription(subscription)
    node.destroy_subscription(watched)
    executor.shutdown()
    node.destroy_node()
    context.try_shutdown()


@pytest.mark.timing
def test_a_push_on_a_foreign_robot_is_felt(robot):
    publish, node = robot
    assert not publish(0.0, 200)
    felt = publish(PUSH, 400)
    assert felt, 'the push was not felt'
    assert felt[0].link == 'lower'
    topics = dict(node.get_topic_names_and_types())
    assert not any('effort_controller' in name for name in topics), 'nobody may move the robot'
