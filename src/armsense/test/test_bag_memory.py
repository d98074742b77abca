"""Long bags: the same numbers as the general decoder, in memory that does not grow."""

import sqlite3
import tracemalloc

import numpy as np
import pytest
from rosbags.typesys import get_typestore, Stores

from armsense.errors import BadValue
from armsense.identify.robot_file import SourceConfig
from armsense.recordings import bag_reader
from armsense.recordings.bag_files import JOINT_STATE, message_type
from armsense.recordings.bag_reader import read_bag, RowStore
from armsense.recordings.cdr import BadRecord, Columns, seconds

JOINTS = ('a', 'b', 'c')


def messages(count, names=JOINTS, frame=''):
    """Serialised joint states at 1 kHz whose numbers are functions of time."""
    store = get_typestore(Stores.ROS2_JAZZY)
    Header, Time = store.types['std_msgs/msg/Header'], store.types['builtin_interfaces/msg/Time']
    out = []
    for k in range(count):
        stamp = 10**9 + k * 10**6
        numbers = np.array([np.sin(1e-3 * k + j) for j in range(len(names))])
        message = store.types[JOINT_STATE](
            Header(Time(stamp // 10**9, stamp % 10**9), frame), list(names), numbers,
            2.0 * numbers, 3.0 * numbers)
        out.append((stamp, bytes(store.serialize_cdr(message, JOINT_STATE))))
    return out


def write(path, content, times=1):
    """The messages `times` over, each time later."""
    with sqlite3.connect(path) as bag:
        bag.execute('CREATE TABLE topics (id INTEGER PRIMARY KEY, name TEXT, type TEXT)')
        bag.execute('CREATE TABLE messages (id INTEGER PRIMARY KEY, topic_id INTEGER, '
                    'timestamp INTEGER, data BLOB)')
        bag.execute('INSERT INTO topics VALUES (1, "/joint_states", ?)', (JOINT_STATE,))
        for again in range(times):
            bag.executemany('INSERT INTO messages (topic_id, timestamp, data) VALUES (1, ?, ?)',
                            ((stamp + again * 10**9, data) for stamp, data in content))


KIND = message_type(JOINT_STATE)


def test_messages_of_several_layouts_are_read_in_the_order_of_their_coming(tmp_path, monkeypatch):
    monkeypatch.setattr(bag_reader, 'BATCH', 64)
    other = messages(300, ('c', 'gripper', 'a', 'b'), 'base')
    content = [pair for pairs in zip(messages(300), other, strict=True) for pair in pairs]
    path = tmp_path / 'bag.db3'
    write(path, content)
    signals = read_bag(path, SourceConfig(), JOINTS)
    k = np.arange(600) // 2
    places = np.where(np.arange(600)[:, None] % 2, [2, 3, 0], [0, 1, 2])
    np.testing.assert_allclose(signals.position, np.sin(1e-3 * k[:, None] + places), rtol=1e-15)
    np.testing.assert_allclose(signals.effort, 3.0 * signals.position, rtol=1e-15)
    np.testing.assert_allclose(signals.t, 1.0 + 1e-3 * k, rtol=1e-12)


def test_messages_that_differ_are_not_taken_for_alike():
    first, other = messages(2)[0][1], messages(1, ('a', 'b', 'd'))[0][1]
    layout = Columns(KIND, first)
    assert layout.alike([first, other, first[:-8], first + b'rubbish']).tolist() == [
        True, False, False, True]
    with pytest.raises(BadRecord, match='20 bytes cannot hold'):
        Columns(KIND, first[:20])
    with pytest.raises(BadRecord, match='begins with 0700'):
        Columns(KIND, b'\x07\x00' + first[2:])


def test_both_orders_of_bytes_are_read():
    store = get_typestore(Stores.ROS2_JAZZY)
    little = messages(3)[2][1]
    message = store.deserialize_cdr(little, JOINT_STATE)
    big = bytes(store.serialize_cdr(message, JOINT_STATE, little_endian=False))
    assert not Columns(KIND, little).alike([big]).any()
    for ours, theirs in zip(_columns(little), _columns(big), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def _columns(data):
    columns = Columns(KIND, data).cut([data])
    return [seconds(columns), *columns.values()]


def test_memory_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(bag_reader, 'BATCH', 500)
    peaks = []
    content = messages(1000)
    for times in (8, 64):
        path = tmp_path / f'{times}.db3'
        write(path, content, times)
        tracemalloc.start()
        signals = read_bag(path, SourceConfig(), JOINTS, most_rows=4000)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert 2000 <= len(signals.t) <= 4000
    assert peaks[1] < 1.2 * peaks[0]
    assert any('samples are averaged' in note for note in signals.notes)


def test_averages_of_groups_keep_the_line():
    store = RowStore(2, most=100)
    rng = np.random.default_rng(1)
    t, x = 0.0, []
    for size in rng.integers(1, 40, 60):
        times = t + np.arange(size)
        store.add(np.stack([times, 3.0 * times + 1.0], axis=1))
        t += size
        x.append(times)
    rows = store.rows()
    assert len(rows) <= 100
    np.testing.assert_allclose(rows[:, 1], 3.0 * rows[:, 0] + 1.0)
    assert np.ptp(rows[:, 0]) > 0.9 * t
    assert np.all(np.diff(rows[:, 0]) > 0.0)
    with pytest.raises(BadValue, match='most rows'):
        RowStore(2, 1)
