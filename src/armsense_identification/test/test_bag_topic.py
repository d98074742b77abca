"""Which arm of a bag is read: the only one, the one that is named, never one of several."""

import numpy as np
import pytest
from rclpy.serialization import serialize_message

from armsense_core.errors import ArmsenseError, UnknownName
from armsense_core.identify.robot_file import SourceConfig
from armsense_identification import identify_job
from armsense_identification.bag_reader import read_bag
from armsense_identification.identify_command import _subject, parser
from armsense_identification.identify_job import recorded_motion, run, Subject
from armsense_monitor.bag_writer import BagWriter
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
    signals = read_bag(bag, Subject.of_arm('laas4').robot.source, JOINTS)
    np.testing.assert_allclose(signals.position[:, 1], 0.01 * np.arange(60))


def test_of_several_arms_one_is_named(tmp_path):
    bag = write_bag(tmp_path / 'bag', '/left/motor_states', '/right/motor_states')
    with pytest.raises(ArmsenseError, match='several arms.*: /left/motor_states, /right/motor_st'):
        read_bag(bag, SourceConfig(topic=None), JOINTS)
    right = read_bag(bag, SourceConfig(topic='/right/motor_states'), JOINTS)
    assert np.all(right.position[:, 0] == 1.0)
    with pytest.raises(UnknownName, match='/left/motor_states'):
        read_bag(bag, SourceConfig(topic='/middle/motor_states'), JOINTS)


def subject_of(*arguments):
    return _subject(parser().parse_args(['bag', *arguments]))


def test_the_command_takes_a_topic():
    assert subject_of('--arm', 'laas4').robot.source.topic is None
    named = subject_of('--arm', 'laas4', '--topic', '/left/motor_states')
    assert named.robot.source.topic == '/left/motor_states'


@pytest.mark.parametrize(('arm', 'reader', 'work'), [
    ('tudor', 'read_strain', lambda bag, subject: recorded_motion(bag, subject)),
    ('biorob', 'read_elastic', lambda bag, subject: run(subject, [bag]))])
def test_every_reader_is_told_the_topic(tmp_path, monkeypatch, arm, reader, work):
    class Told(Exception):
        pass

    def read(path, model, topic):
        raise Told(topic)

    monkeypatch.setattr(identify_job, reader, read)
    with pytest.raises(Told, match='/left/motor_states'):
        work(tmp_path / 'bag', subject_of('--arm', arm, '--topic', '/left/motor_states'))
