"""A recording as a rosbag2 of `/motor_states`, as the recorder node writes it."""

from __future__ import annotations

from pathlib import Path

from armsense.identify.signals.recording import Recording
from armsense.recordings.bag_files import message_type, MOTOR_STATES
from armsense.recordings.bag_writer import BagWriter
from armsense.recordings.record import new_record

TOPIC = '/motor_states'


def write_bag(folder: Path, recording: Recording) -> Path:
    """One message per sample, the same bytes each time; the folder must not be there yet."""
    writer = BagWriter(folder)
    writer.add_topic(TOPIC, MOTOR_STATES)
    record = new_record(message_type(MOTOR_STATES), recording.q.shape[1],
                        {'current': 0, 'joint_position': 0, 'strain': 0})
    velocity = recording.dq if recording.dq is not None else 0.0 * recording.q
    for k, t in enumerate(recording.t.tolist()):
        record.seq, record.stamp_ns, record.enabled = k, round(1e9 * t), True
        record.position, record.velocity, record.torque = (
            recording.q[k], velocity[k], recording.tau[k])
        writer.write(TOPIC, record.wire(), record.stamp_ns)
    writer.close()
    return folder
