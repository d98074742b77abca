"""A recording as a rosbag2 of `/motor_states`, as the recorder node writes it."""

from __future__ import annotations

from pathlib import Path

from rclpy.serialization import serialize_message

from armsense.identify.recording import Recording
from armsense_monitor.bag_writer import BagWriter
from armsense_msgs.msg import MotorStates

TOPIC, TYPE = '/motor_states', 'armsense_msgs/msg/MotorStates'


def write_bag(folder: Path, recording: Recording) -> Path:
    """One message per sample; the folder must not be there yet."""
    writer = BagWriter(folder)
    writer.add_topic(TOPIC, TYPE)
    velocity = recording.dq if recording.dq is not None else 0.0 * recording.q
    for k, t in enumerate(recording.t.tolist()):
        stamp = round(1e9 * t)
        message = MotorStates(seq=k, position=recording.q[k].tolist(),
                              velocity=velocity[k].tolist(), torque=recording.tau[k].tolist(),
                              enabled=True)
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10**9)
        writer.write(TOPIC, serialize_message(message), stamp)
    writer.close()
    return folder
