"""tf and robot_description by our own node, and the step aside for robot_state_publisher."""

import os
from pathlib import Path
import subprocess
import sys
import time

import numpy as np
import rclpy
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage

from armsense.model import Arm
from armsense_monitor.state_publisher_node import StatePublisherNode
from armsense_node.loop import BackgroundExecutor, DirectSubscription, latched_qos

Q = [0.3, 0.6, -0.2, -0.6]


def test_tf_is_the_pose_of_every_link():
    rclpy.init()
    node, listener = StatePublisherNode(), rclpy.create_node('listener')
    model = Arm.load('laas4')
    tf = DirectSubscription(listener, TFMessage, 'tf')
    description = DirectSubscription(listener, String, 'robot_description', latched_qos())
    states = listener.create_publisher(JointState, 'joint_states', 1)
    message = JointState(name=list(reversed(model.joint_names)), position=Q[::-1])
    message.header.stamp.sec = 7
    found, text, deadline = None, None, time.monotonic() + 30.0
    with BackgroundExecutor(node):
        while (found is None or text is None) and time.monotonic() < deadline:
            states.publish(message)
            node._step(0)
            found, text = found or tf.take(), text or description.take()
            time.sleep(0.05)
    node.destroy_node()
    listener.destroy_node()
    rclpy.shutdown()
    assert text.data == model.urdf
    poses = {transform.child_frame_id: transform for transform in found.transforms}
    assert set(poses) == {'link1', 'link2', 'link3', 'link4', 'tool'}
    tool = poses['tool']
    assert (tool.header.frame_id, tool.header.stamp.sec) == ('base_link', 7)
    expected = model.frame_pose(np.array(Q))
    place, turn = tool.transform.translation, tool.transform.rotation
    np.testing.assert_allclose([place.x, place.y, place.z], expected[:3, 3], atol=1e-12)
    w, x, y, z = turn.w, turn.x, turn.y, turn.z
    first = [1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)]
    np.testing.assert_allclose(first, expected[:3, 0], atol=1e-9)     # the tool's x axis


def test_robot_state_publisher_takes_over_where_it_is_installed(tmp_path):
    prefix = tmp_path / 'prefix'
    index = prefix / 'share/ament_index/resource_index/packages'
    program = prefix / 'lib/robot_state_publisher/robot_state_publisher'
    for folder in (index, program.parent):
        folder.mkdir(parents=True)
    (index / 'robot_state_publisher').touch()
    program.write_text('#!/bin/sh\necho "$@"\ncat "$(echo "$@" | sed "s/.*params-file //")"\n')
    program.chmod(0o755)
    paths = os.pathsep.join([str(prefix), os.environ['AMENT_PREFIX_PATH']])
    done = subprocess.run(
        [sys.executable, '-m', 'armsense_monitor.state_publisher_node', '--ros-args', '-r',
         '__ns:=/left', '-p', 'arm:=tudor'], env={**os.environ, 'AMENT_PREFIX_PATH': paths},
        capture_output=True, text=True, timeout=60.0, check=True)
    assert '-r __ns:=/left' in done.stdout
    assert '--ros-args -r /tf:=tf -r /tf_static:=tf_static' in done.stdout   # as our own node
    assert 'robot name="tudor"' in done.stdout.replace('\\', '')
    Path(done.stdout.split('params-file ')[1].split()[0]).unlink()
