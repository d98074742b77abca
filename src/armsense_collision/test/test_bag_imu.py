"""Readings of a recorded inertial unit meet the states of a recorded arm."""

import numpy as np
from rclpy.serialization import serialize_message
from sensor_msgs.msg import Imu

from armsense.cli import replay_command
from armsense.cli.command import mounting
from armsense.recordings.bag_tape import base_motion, Mounting, read_tape
from armsense.recordings.bag_writer import BagWriter
from armsense.recordings.record import new_record
from armsense_msgs.msg import MotorStates

MS = 1_000_000   # [ns]


def reading(stamp, x=0.0, y=0.0, turn=0.0):
    message = Imu()
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10**9)
    message.linear_acceleration.x, message.linear_acceleration.y = float(x), float(y)
    message.angular_velocity.z = float(turn)
    return bytes(serialize_message(message))


def test_each_state_gets_the_newest_reading_that_is_not_later():
    stamps = MS * np.array([1, 2, 3, 4, 5])
    data = [reading(4 * MS, 40.0), reading(2 * MS, 20.0), reading(2 * MS + 5, 25.0)]
    rows = base_motion(stamps, data, Mounting())
    np.testing.assert_array_equal(rows[:, 0, 0], [np.nan, 20.0, 25.0, 40.0, 40.0])


def test_a_silent_unit_is_unknown():
    rows = base_motion(MS * np.array([1, 50, 150]), [reading(MS, 1.0)], Mounting())
    assert np.isfinite(rows[:2]).all()
    assert np.isnan(rows[2]).all()


def test_mounting_turns_and_moves_the_unit():
    """Turned by 90 degrees about z, at 0.5 m along x of a base that turns at 2 rad/s."""
    where = Mounting((0.0, 0.0, np.pi / 2), (0.5, 0.0, 0.0))
    rows = base_motion(np.array([MS]), [reading(MS, x=3.0, y=2.0, turn=2.0)], where)
    np.testing.assert_allclose(rows[0, 0], [-2.0 + 0.5 * 2.0**2, 3.0, 0.0], atol=1e-9)
    np.testing.assert_allclose(rows[0, 1], [0.0, 0.0, 2.0])


def test_a_bag_tells_how_the_base_moved(tmp_path):
    writer = BagWriter(tmp_path / 'bag')
    writer.add_topic('/left/motor_states', 'armsense_msgs/msg/MotorStates')
    writer.add_topic('/left/imu', 'sensor_msgs/msg/Imu')
    state = new_record(MotorStates, 4, {'joint_position': 0, 'strain': 0})
    for k in range(1, 20):
        state.seq, state.stamp_ns = k, k * MS
        writer.write('/left/motor_states', state.wire(), k * MS)
        writer.write('/left/imu', reading(k * MS, x=k), k * MS)
    writer.close()
    bag = read_tape(tmp_path / 'bag', 4)
    np.testing.assert_array_equal(bag.tape.base_motion[:, 0, 0], np.arange(1, 20))
    assert bag.notes == ('the base moves as /left/imu says',)
    assert read_tape(tmp_path / 'bag', 4, imu=None).tape.base_motion is None


def test_options_of_the_commands():
    parse = replay_command.parser().parse_args
    assert mounting(parse(['bag'])) == Mounting()
    assert mounting(parse(['bag', '--ignore-imu'])) is None
    turned = mounting(parse(['bag', '--imu-rpy', '0', '0', '1.5',
                             '--imu-position', '1', '2', '3']))
    assert turned == Mounting((0.0, 0.0, 1.5), (1.0, 2.0, 3.0))
