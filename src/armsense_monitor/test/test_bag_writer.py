"""Bags written here are read by other people's readers."""

from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory
import pytest
from rclpy.serialization import serialize_message
from rosbags.highlevel import AnyReader
from rosbags.rosbag2.metadata import dump_qos_v9
from std_msgs.msg import String
import yaml

from armsense.errors import ArmsenseError
from armsense.recordings.bag_files import schema_text
from armsense.recordings.bag_writer import BagWriter
from armsense_msgs.msg import Collision, MotorStates


def state(seq):
    message = MotorStates(seq=seq, position=[0.1 * seq, -0.2], enabled=True)
    message.header.stamp.nanosec = seq * 1_000_000
    return message


@pytest.fixture
def bag(tmp_path):
    writer = BagWriter(tmp_path / 'bag')
    writer.add_topic('/motor_states', 'armsense_msgs/msg/MotorStates', 'stream')
    writer.add_topic('/collision', 'armsense_msgs/msg/Collision')
    for seq in range(1, 6):
        writer.write('/motor_states', serialize_message(state(seq)), seq * 1_000_000)
    writer.add_topic('/robot_description', 'std_msgs/msg/String', 'latched')
    writer.write('/collision', serialize_message(Collision(link='link4')), 3_500_000)
    writer.write('/robot_description', serialize_message(String(data='<robot/>')), 6_000_000)
    writer.close()
    return tmp_path / 'bag'


def test_mcap_readers_decode_it_with_the_schema_inside(bag):
    with next(bag.glob('*.mcap')).open('rb') as file:
        reader = make_reader(file, decoder_factories=[DecoderFactory()])
        decoded = [(c.topic, m) for _, c, _, m in reader.iter_decoded_messages()]
    assert [m.seq for topic, m in decoded if topic == '/motor_states'] == [1, 2, 3, 4, 5]
    assert decoded[1][1].position[0] == pytest.approx(0.2)
    assert [m.link for topic, m in decoded if topic == '/collision'] == ['link4']


def test_rosbag2_readers_take_the_folder(bag):
    with AnyReader([bag]) as reader:
        topics = {c.topic: c.msgcount for c in reader.connections}
        stamps = [t for _, t, _ in reader.messages()]
    assert topics == {'/motor_states': 5, '/collision': 1, '/robot_description': 1}
    assert stamps == sorted(stamps)
    assert stamps[0] == 1_000_000


@pytest.mark.parametrize('part', ['.', 'bag_0.mcap'])   # metadata.yaml, or the file alone
def test_a_player_is_told_how_each_topic_was_published(bag, part):
    with AnyReader([bag / part]) as reader:
        profiles = {c.topic: c.ext.offered_qos_profiles for c in reader.connections}
    assert {topic: (qos.reliability.name, qos.durability.name)
            for topic, (qos,) in profiles.items()} == {
        '/motor_states': ('BEST_EFFORT', 'VOLATILE'), '/collision': ('RELIABLE', 'VOLATILE'),
        '/robot_description': ('RELIABLE', 'TRANSIENT_LOCAL')}


def test_profiles_are_those_of_rosbag2_field_by_field(bag):
    """`rosbags` has rosbag2's form of version 9, too; rosbag2 throws where a field is missing."""
    with AnyReader([bag]) as reader:
        described = [dump_qos_v9(c.ext.offered_qos_profiles) for c in reader.connections]
    topics = yaml.safe_load((bag / 'metadata.yaml').read_text())[
        'rosbag2_bagfile_information']['topics_with_message_count']
    assert [t['topic_metadata']['offered_qos_profiles'] for t in topics] == described


def test_schema_contains_every_nested_type_once():
    text = schema_text('armsense_msgs/msg/Collision')
    for name in ('std_msgs/Header', 'builtin_interfaces/Time', 'geometry_msgs/Vector3',
                 'geometry_msgs/Point'):
        assert text.count(f'MSG: {name}') == 1


def test_an_existing_bag_is_never_overwritten(bag):
    with pytest.raises(ArmsenseError, match='exists already'):
        BagWriter(bag)
