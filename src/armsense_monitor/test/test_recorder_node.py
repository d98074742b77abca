"""The recorder puts everything on one clock, and the robot description with it."""

import time

from diagnostic_msgs.msg import DiagnosticArray
from mcap.reader import make_reader
import rclpy
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from armsense.model import Arm
from armsense_monitor.recorder_node import delivery, LATCHED, RecorderNode


def record(bag):
    """Joint states at 3.0 and 3.1 s of virtual time; diagnostics of the wall clock."""
    rclpy.init(args=['--ros-args', '-r', '__ns:=/left', '-p', f'bag:={bag}', '-p', 'arm:=laas4'])
    node, talker = RecorderNode(), rclpy.create_node('talker')
    states = talker.create_publisher(JointState, 'joint_states', 10)
    health = talker.create_publisher(DiagnosticArray, '/diagnostics', 10)
    deadline = time.monotonic() + 30.0
    while not (states.get_subscription_count() and health.get_subscription_count()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    for nanoseconds in (0, 100_000_000):
        state, report = JointState(), DiagnosticArray()
        state.header.stamp.sec, state.header.stamp.nanosec = 3, nanoseconds
        report.header.stamp = talker.get_clock().now().to_msg()
        states.publish(state)
        health.publish(report)
        time.sleep(0.3)
        node._drain()
    told = node.health()
    node.close()
    node.destroy_node()
    talker.destroy_node()
    rclpy.shutdown()
    return told


def test_one_clock_and_the_description(tmp_path):
    told, = record(tmp_path / 'bag')
    assert told.message == f'5 messages in {tmp_path / "bag"}'
    with next((tmp_path / 'bag').glob('*.mcap')).open('rb') as file:
        found = [(channel.topic, message) for _, channel, message in
                 make_reader(file).iter_messages()]
    assert [topic for topic, _ in found].count('/diagnostics') == 2
    assert {message.log_time for _, message in found} == {3_000_000_000, 3_100_000_000}
    texts = [message.data for topic, message in found if topic == '/left/robot_description']
    assert [deserialize_message(text, String).data for text in texts] == [
        Arm.load('laas4').urdf]


def test_a_bag_says_what_publishers_offer():
    assert delivery('motor_states', lockstep=False) == 'stream'
    assert delivery('motor_states', lockstep=True) == 'event'      # none may be lost
    assert delivery('collision', lockstep=False) == 'event'
    assert {delivery(topic, lockstep) for topic in LATCHED for lockstep in (True, False)} == {
        'latched'}
