"""Which arm of a bag is read: the only one, the one that is named, never one of several."""

import numpy as np
import pytest
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

from armsense.cli.identify_command import _setup, parser
from armsense.errors import ArmsenseError, UnknownName
from armsense.identify.robot_file import SourceConfig
from armsense.jobs import identify_job
from armsense.jobs.identify_job import recorded_motion, run, Setup
from armsense.recordings.bag_files import BagFacts
from armsense.recordings.bag_reader import read_bag
from armsense.recordings.bag_writer import BagWriter
from armsense_msgs.msg import MotorStates

JOINTS = ('a', 'b')


def write_bag(folder, *topics):
    """Sixty states of each arm, whose positions tell which one it is."""
    bag = BagWriter(folder)
    for topic in topics:
        bag.add_topic(topic, 'armsense_msgs/msg/MotorStates')
    for k in range(60):
        for number, topic in enumerate(topics):
            state = MotorStates(seq=k, position=[float(number), 0.01 * k], torque=[1.0, 2.0])
            state.header.stamp.nanosec = k * 1_000_000
            bag.write(topic, serialize_message(state), k * 1_000_000)
    bag.close()
    return folder


def test_the_only_arm_of_a_bag_is_found_in_its_namespace(tmp_path):
    bag = write_bag(tmp_path / 'bag', '/left/motor_states')
    signals = read_bag(bag, Setup.of_arm('laas4').source, JOINTS)
    np.testing.assert_allclose(signals.position[:, 1], 0.01 * np.arange(60))


def test_of_several_arms_one_is_named(tmp_path):
    bag = write_bag(tmp_path / 'bag', '/left/motor_states', '/right/motor_states')
    with pytest.raises(ArmsenseError, match='several arms.*: /left/motor_states, /right/motor_st'):
        read_bag(bag, SourceConfig(topic=None), JOINTS)
    right = read_bag(bag, SourceConfig(topic='/right/motor_states'), JOINTS)
    assert np.all(right.position[:, 0] == 1.0)
    with pytest.raises(UnknownName, match='/left/motor_states'):
        read_bag(bag, SourceConfig(topic='/middle/motor_states'), JOINTS)


def rubbish(data, seed):
    """The message with other bytes where nothing is meant: padding, and behind its end."""
    noise = np.random.default_rng(seed).integers(0, 256, 32, np.uint8).tobytes()
    body = bytearray(data[:4 + 112])        # as far as `time_ns` of two joints
    # before seq, position, torque and time_ns
    for begin, end in ((13, 16), (28, 32), (60, 64), (97, 104)):
        body[4 + begin:4 + end] = noise[begin % 16:begin % 16 + end - begin]
    return bytes(body) + noise[:seed % 17]


def states(count, joints=2):
    for k in range(count):
        state = MotorStates(seq=k, position=[0.01 * k] * joints, torque=[1.0] * joints)
        state.header.stamp.nanosec = k * 1_000_000
        yield serialize_message(state)


def bag_of(folder, data, **others):
    bag = BagWriter(folder)
    bag.add_topic('/motor_states', 'armsense_msgs/msg/MotorStates')
    for topic, (kind, _) in others.items():
        bag.add_topic(topic, kind)
    for k, content in enumerate(data):
        bag.write('/motor_states', content, k * 1_000_000)
    for topic, (_, content) in others.items():
        bag.write(topic, content, 0)
    bag.close()
    return folder


def test_bytes_without_meaning_do_not_matter(tmp_path):
    data = [rubbish(message, k) for k, message in enumerate(states(60))]
    signals = read_bag(bag_of(tmp_path / 'bag', data), SourceConfig(topic=None), JOINTS)
    np.testing.assert_allclose(signals.position[:, 1], 0.01 * np.arange(60))
    assert signals.notes == ()


def test_damaged_messages_are_counted_with_the_reason(tmp_path):
    data = [message[:50] if k % 3 == 0 else message for k, message in enumerate(states(60))]
    signals = read_bag(bag_of(tmp_path / 'some', data), SourceConfig(topic=None), JOINTS)
    assert len(signals.t) == 40
    assert signals.notes == ('some: 20 damaged messages (the first: MotorStates is cut off: 50 '
                             'bytes cannot hold what they announce) are left out',)
    with pytest.raises(ArmsenseError, match='none of 20 messages of the topic could be read; '
                                            'the first: MotorStates is cut off: 50 bytes'):
        read_bag(bag_of(tmp_path / 'all', data[::3]), SourceConfig(topic=None), JOINTS)


def test_states_of_an_arm_with_more_joints_are_not_read(tmp_path):
    bag = bag_of(tmp_path / 'bag', states(60, joints=3))
    with pytest.raises(ArmsenseError, match=r'are of 3 joints, the arm has 2 \(a, b\)$'):
        read_bag(bag, SourceConfig(topic=None), JOINTS)
    named = serialize_message(JointState(name=['x', 'y', 'z'], position=[0.0] * 3))
    bag = bag_of(tmp_path / 'named', states(60, joints=3),
                 **{'/joint_states': ('sensor_msgs/msg/JointState', named)})
    with pytest.raises(ArmsenseError, match='3 joints.*; joints of /joint_states: x, y, z$'):
        read_bag(bag, SourceConfig(topic=None), JOINTS)
    BagFacts(arm='seven').write(bag)
    with pytest.raises(ArmsenseError, match='3 joints.*; the bag is of seven$'):
        read_bag(bag, SourceConfig(topic=None), JOINTS)


def subject_of(*arguments):
    return _setup(parser().parse_args(['bag', *arguments]))


def test_the_command_takes_a_topic():
    assert subject_of('--arm', 'laas4').source.topic is None
    named = subject_of('--arm', 'laas4', '--topic', '/left/motor_states')
    assert named.source.topic == '/left/motor_states'


@pytest.mark.parametrize(('arm', 'reader', 'work'), [
    ('tudor', 'read_strain', lambda bag, setup: recorded_motion(bag, setup)),
    ('biorob', 'read_elastic', lambda bag, setup: run(setup, [bag]))])
def test_every_reader_is_told_the_topic(tmp_path, monkeypatch, arm, reader, work):
    class Told(Exception):
        pass

    def read(path, origin, window=None):
        raise Told(origin.source.topic)

    monkeypatch.setattr(identify_job, reader, read)
    with pytest.raises(Told, match='/left/motor_states'):
        work(tmp_path / 'bag', subject_of('--arm', arm, '--topic', '/left/motor_states'))


@pytest.mark.parametrize('leap', [-3600.0, -0.005, 0.2, 86400.0])     # [s]
def test_a_wall_clock_that_was_set_in_the_recording_does_not_matter(tmp_path, leap):
    bag = BagWriter(tmp_path / 'bag')
    bag.add_topic('/motor_states', 'armsense_msgs/msg/MotorStates')
    for k in range(60):
        wall = 1_700_000_000 * 10**9 + k * 1_000_000 + (round(leap * 1e9) if k >= 30 else 0)
        state = MotorStates(seq=k, position=[0.5, 0.01 * k], torque=[1.0, 2.0],
                            time_ns=5_000_000_000 + k * 1_000_000)
        state.header.stamp.sec, state.header.stamp.nanosec = divmod(wall, 10**9)
        bag.write('/motor_states', serialize_message(state), wall)
    bag.close()
    signals = read_bag(tmp_path / 'bag', SourceConfig(topic=None), JOINTS)
    np.testing.assert_allclose(np.diff(signals.t), 0.001, atol=1e-6)
    np.testing.assert_allclose(signals.position[:, 1], 0.01 * np.arange(60))
