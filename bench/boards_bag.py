"""A bag of a simulated arm on its emulated boards, without nodes: what the recorder would keep."""

from pathlib import Path

from armsense.recordings.bag_files import message_type, MOTOR_STATES
from armsense.recordings.bag_writer import BagWriter
from armsense.recordings.record import new_record
from armsense.sim.closed_loop import ClosedLoop, Cycle
from armsense.trajectory import Trajectory

SETTLE = 0.3    # [s] at rest before the motion


def record_motion(loop: ClosedLoop, motion: Trajectory, folder: Path) -> Path:
    """Drive a motion, from its first sample to its last, into the bag `folder`."""
    joints = list(loop.config.joints.values())
    n = loop.config.n
    lengths = {'joint_position': n if any(j.joint_encoder for j in joints) else 0,
               'strain': n if any(j.strain for j in joints) else 0}
    record = new_record(message_type(MOTOR_STATES), n, lengths)
    bag = BagWriter(folder)
    bag.add_topic('/motor_states', MOTOR_STATES)

    def keep(cycle: Cycle) -> None:
        if cycle.reading is None:
            return
        reading, record.stamp_ns = cycle.reading, round(1e9 * cycle.time)
        record.time_ns, record.enabled = record.stamp_ns, True
        record.position, record.velocity = reading.position, reading.velocity
        record.current, record.torque = reading.current, reading.torque
        record.joint_position, record.strain = reading.joint_position, reading.strain
        bag.write('/motor_states', record.wire(), record.stamp_ns)

    loop.run(SETTLE)
    status = loop.controller.follow(motion)
    loop.run(motion.duration, keep)
    bag.close()
    if status.text:
        raise RuntimeError(f'{loop.config.arm} did not follow: {status.text}')
    return folder
