"""Bags as they are found: without metadata, split, compressed, cut off, of the wrong topic."""

from pathlib import Path
import sqlite3

import numpy as np
import pytest
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
from rosbags.typesys import get_typestore, Stores

from armsense.errors import ArmsenseError, UnknownName
from armsense.identify.robot_file import SourceConfig
from armsense.recordings import bag_reader
from armsense.recordings.bag_files import is_bag, RawMessage
from armsense.recordings.bag_reader import _Reader, read_bag

JOINTS = ('a', 'b')
SOURCE = SourceConfig()
N = 300


def truth():
    t = np.arange(N) * 0.01
    return t, np.stack([np.sin(t), np.cos(t)], axis=1)


def write_bag(folder: Path, storage: str = 'sqlite3', mode: str = 'none', effort: bool = True,
              topic: str = '/joint_states', rows: slice = slice(None)) -> Path:
    store = get_typestore(Stores.ROS2_JAZZY)
    State = store.types['sensor_msgs/msg/JointState']
    Header = store.types['std_msgs/msg/Header']
    Time = store.types['builtin_interfaces/msg/Time']
    plugin = StoragePlugin.SQLITE3 if storage == 'sqlite3' else StoragePlugin.MCAP
    writer = Writer(folder, version=9, storage_plugin=plugin)
    if mode != 'none':
        writer.set_compression(CompressionMode[mode], CompressionFormat.ZSTD)
    t, q = truth()
    with writer:
        connection = writer.add_connection(topic, 'sensor_msgs/msg/JointState', typestore=store)
        for k in range(N)[rows]:
            stamp = round(t[k] * 1e9)
            message = State(Header(Time(100, stamp % 10**9) if stamp < 10**9 else Time(
                100 + stamp // 10**9, stamp % 10**9), ''), ['b', 'a', 'gripper'],
                np.array([q[k, 1], q[k, 0], 0.0]), np.array([0.2, 0.1, 0.0]),
                np.array([2.0, 1.0, 0.0]) if effort else np.zeros(0))
            data = store.serialize_cdr(message, 'sensor_msgs/msg/JointState')
            writer.write(connection, 100 * 10**9 + stamp, data)
    return folder


def check(signals, count=N):
    t, q = truth()
    assert len(signals.t) == count
    np.testing.assert_allclose(signals.t - signals.t[0], t[:count], atol=1e-6)
    np.testing.assert_allclose(signals.position, q[:count])
    np.testing.assert_allclose(signals.effort[0], [1.0, 2.0])
    np.testing.assert_allclose(signals.velocity[0], [0.1, 0.2])


@pytest.mark.parametrize('storage', ['sqlite3', 'mcap'])
def test_bag_without_metadata_and_with_another_order_of_joints(tmp_path, storage):
    bag = write_bag(tmp_path / 'bag', storage)
    (bag / 'metadata.yaml').write_text('rosbag2_bagfile_information: {version: 8}')
    assert is_bag(bag)
    check(read_bag(bag, SOURCE, JOINTS))
    file = next(p for p in bag.iterdir() if p.suffix in ('.db3', '.mcap'))
    check(read_bag(file, SOURCE, JOINTS))


@pytest.mark.parametrize('mode', ['FILE', 'MESSAGE'])
def test_compressed_bags(tmp_path, mode):
    check(read_bag(write_bag(tmp_path / 'bag', 'sqlite3', mode), SOURCE, JOINTS))


def test_split_bag(tmp_path):
    first = write_bag(tmp_path / 'one', rows=slice(0, 100))
    second = write_bag(tmp_path / 'two', rows=slice(100, N))
    whole = tmp_path / 'whole'
    whole.mkdir()
    next(first.glob('*.db3')).rename(whole / 'bag_0.db3')
    next(second.glob('*.db3')).rename(whole / 'bag_1.db3')
    check(read_bag(whole, SOURCE, JOINTS))


@pytest.mark.parametrize('storage', ['sqlite3', 'mcap'])
def test_cut_off_bag_is_read_as_far_as_it_goes(tmp_path, storage):
    bag = write_bag(tmp_path / 'bag', storage)
    file = next(p for p in bag.iterdir() if p.suffix in ('.db3', '.mcap'))
    file.write_bytes(file.read_bytes()[:int(0.7 * file.stat().st_size)])
    if storage == 'mcap':   # rosbags writes one chunk, which the cut destroys
        with pytest.raises(ArmsenseError, match='cut off'):
            read_bag(bag, SOURCE, JOINTS)
        return
    signals = read_bag(bag, SOURCE, JOINTS)
    assert 0 < len(signals.t) < N
    assert any('cut off' in note for note in signals.notes)


def test_wrong_topic_joint_and_effort_are_told(tmp_path):
    bag = write_bag(tmp_path / 'bag')
    with pytest.raises(UnknownName, match='/joint_states'):
        read_bag(bag, SourceConfig(topic='/states'), JOINTS)
    with pytest.raises(UnknownName, match="unknown joint 'c'"):
        read_bag(bag, SOURCE, ('a', 'c'))
    with pytest.raises(ArmsenseError, match='no effort'):
        read_bag(write_bag(tmp_path / 'silent', effort=False), SOURCE, JOINTS)
    empty = write_bag(tmp_path / 'empty', rows=slice(0, 0))
    with pytest.raises(ArmsenseError, match='no message'):
        read_bag(empty, SOURCE, JOINTS)
    with pytest.raises(ArmsenseError, match='no such file'):
        read_bag(tmp_path / 'nothing', SOURCE, JOINTS)


NAN = float('nan')
GOOD = [(['a', 'b'], [k, k], [1.0, 1.0], [1.0, 2.0]) for k in range(200)]


def odd_bag(folder, rows):
    """Joint states of (names, position, velocity, effort), one every 10 ms."""
    store = get_typestore(Stores.ROS2_JAZZY)
    Header, Time = store.types['std_msgs/msg/Header'], store.types['builtin_interfaces/msg/Time']
    kind = 'sensor_msgs/msg/JointState'
    with Writer(folder, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        connection = writer.add_connection('/joint_states', kind, typestore=store)
        for k, (names, *numbers) in enumerate(rows):
            stamp = 10**11 + k * 10**7
            message = store.types[kind](Header(Time(stamp // 10**9, stamp % 10**9), ''), names,
                                        *(np.array(x, float) for x in numbers))
            writer.write(connection, stamp, store.serialize_cdr(message, kind))
    return folder


@pytest.mark.parametrize('batch', [64, 4096])   # all of them odd, or among sound ones
@pytest.mark.parametrize(('odd', 'text'), [
    ((['a', 'b'], [0.0, 0.0], [NAN, NAN], [NAN, NAN]), 'without position or effort'),
    ((['a', 'b'], [0.0, 0.0], [0.0, 0.0], []), 'without position or effort'),
    ((['a', 'b'], [0.0, NAN], [0.0, 0.0], [1.0, 1.0]), 'without position or effort'),
    ((['gripper'], [0.0], [0.0], [0.0]), 'of other joints (gripper)'),
    ((['a', 'b'], [0.0, 0.0], [NAN, 1.0], [1.0, 1.0]), 'without velocities')])
def test_a_few_odd_messages_are_left_out_and_counted(tmp_path, monkeypatch, batch, odd, text):
    monkeypatch.setattr(bag_reader, 'BATCH', batch)
    rows = [*GOOD[:100], *[odd] * 3, *GOOD[100:]]
    signals = read_bag(odd_bag(tmp_path / 'bag', rows), SOURCE, JOINTS)
    np.testing.assert_allclose(signals.position[:, 0], np.arange(200))
    assert np.all(signals.velocity == 1.0)
    assert signals.notes == (f'bag: 3 messages {text} are left out',)


def test_odd_messages_are_left_out_before_samples_are_averaged(tmp_path, monkeypatch):
    monkeypatch.setattr(bag_reader, 'BATCH', 50)
    odd = (['a', 'b'], [0.0, 0.0], [NAN, NAN], [NAN, NAN])
    bag = odd_bag(tmp_path / 'bag', [odd, *GOOD])
    signals = read_bag(bag, SOURCE, JOINTS, most_rows=100)
    np.testing.assert_allclose(signals.position[:, 0], np.arange(0.5, 200.0, 2.0))


def test_velocities_that_often_lack_are_not_used(tmp_path):
    blind = (['a', 'b'], [0.0, 0.0], [NAN, NAN], [1.0, 2.0])
    signals = read_bag(odd_bag(tmp_path / 'bag', [*GOOD, *[blind] * 40]), SOURCE, JOINTS)
    assert len(signals.t) == 240
    assert signals.velocity is None
    assert signals.notes == ('bag: measured velocities are not used, 40 messages lack them',)
    without = [(names, q, [], tau) for names, q, _, tau in GOOD]
    signals = read_bag(odd_bag(tmp_path / 'none', without), SOURCE, JOINTS)
    assert signals.velocity is None
    assert signals.notes == ()


def test_joints_that_never_come_are_told(tmp_path):
    with pytest.raises(UnknownName, match="unknown joint 'a'.*known: gripper"):
        read_bag(odd_bag(tmp_path / 'bag', [(['gripper'], [0.0], [0.0], [0.0])] * 60), SOURCE,
                 JOINTS)
    some = [*GOOD, (['b', 'gripper'], [0.0, 0.0], [0.0, 0.0], [1.0, 1.0])]
    with pytest.raises(UnknownName, match="unknown joint 'a'.*known: b, gripper"):
        read_bag(odd_bag(tmp_path / 'some', some), SOURCE, JOINTS)
    unplaced = [(['a', 'b'], [NAN, NAN], [0.0, 0.0], [1.0, 1.0])] * 60
    with pytest.raises(ArmsenseError, match='the messages carry no position'):
        read_bag(odd_bag(tmp_path / 'unplaced', unplaced), SOURCE, JOINTS)


def damaged(tmp_path, change) -> Path:
    """A sqlite3 bag after `change`(its bytes)."""
    file = next(write_bag(tmp_path / 'bag').glob('*.db3'))
    data = bytearray(file.read_bytes())
    change(data)
    file.write_bytes(data)
    return file


def test_a_header_that_promises_more_than_a_disk_holds(tmp_path):
    def promise(data):
        data[16:18] = b'\xc3\xa9'              # size of a page
        data[28:32] = b'\xff\xff\xff\xff'      # pages
    with pytest.raises(ArmsenseError, match=r'holds no message|is damaged'):
        read_bag(damaged(tmp_path, promise), SOURCE, JOINTS)


def test_a_table_whose_name_is_no_text(tmp_path):   # nor is sqlite's message about it
    def scribble(data):
        data[:] = data.replace(b'CREATE TABLE topics', b'CREATE TABLE \x92\xff \x9fcs')
    with pytest.raises(ArmsenseError, match='cut off or damaged'):
        read_bag(damaged(tmp_path, scribble), SOURCE, JOINTS)


def test_stamps_that_are_no_numbers(tmp_path):
    file = next(write_bag(tmp_path / 'bag').glob('*.db3'))
    with sqlite3.connect(file) as connection:
        connection.execute("UPDATE messages SET timestamp = 'noon' WHERE id = 5")
        connection.execute("UPDATE messages SET data = 'text' WHERE id = 7")
    assert len(read_bag(file, SOURCE, JOINTS).t) == N - 2


@pytest.mark.parametrize(('row', 'change'), [
    (7, "UPDATE messages SET data = x'28b52ffd00' WHERE id = 7"),          # no zstd after all
    (N + 1, 'UPDATE message_definitions SET encoded_message_definition = 5')])
def test_rows_that_are_not_what_they_seem(tmp_path, row, change):
    file = next(write_bag(tmp_path / 'bag').glob('*.db3'))
    with sqlite3.connect(file) as connection:
        connection.execute(change)
    assert len(read_bag(file, SOURCE, JOINTS).t) == row - 1


MOTOR_STATES = 'armsense_msgs/msg/MotorStates'


def read_one(message):
    reader = _Reader(JOINTS, Path('bag'), 10)
    reader.take(message)
    reader.finish()


@pytest.mark.parametrize(('definition', 'error'), [
    ("float64' position", 'is damaged'), ('foreign/Header header', 'is damaged'),
    ('std_msgs/Header header\nfloat64[] position\nfloat64[3] velocity\nfloat64[] torque',
     'lacks or changes velocity, joint_position, strain')])
def test_a_damaged_definition_of_motor_states(definition, error):
    message = RawMessage('/motor_states', MOTOR_STATES, 0, b'', definition)
    with pytest.raises(ArmsenseError, match=f'the definition of {MOTOR_STATES} {error}'):
        read_one(message)


def test_fields_that_cannot_be_walked_through_are_named():
    lists = '\n'.join(f'float64[] {name}' for name in (
        'position', 'velocity', 'torque', 'joint_position', 'strain'))
    message = RawMessage('/motor_states', MOTOR_STATES, 0, b'',
                         f'std_msgs/Header header\nstd_msgs/Header[] others\n{lists}')
    with pytest.raises(ArmsenseError, match='its field others is neither of numbers nor of texts'):
        read_one(message)


def test_another_type_is_named():
    message = RawMessage('/joint_states', 'mine/m/State', 0, b'', 'float64 position')
    with pytest.raises(ArmsenseError, match='/joint_states carries mine/m/State; sensor_msgs'):
        read_one(message)
