"""Long bags: the same numbers as the general decoder, in memory that does not grow."""

import sqlite3
import tracemalloc

import numpy as np
import pytest
from rosbags.typesys import get_typestore, Stores

from armsense_core.errors import BadValue
from armsense_core.identify.robot_file import SourceConfig
from armsense_identification import bag_reader
from armsense_identification.bag_reader import read_bag
from armsense_identification.fast_decoder import JOINT_STATE, Layout
from armsense_identification.row_store import RowStore

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


def test_fast_and_general_decoder_agree(tmp_path, monkeypatch):
    path = tmp_path / 'bag.db3'
    write(path, [*messages(300), *messages(5, ('c', 'gripper', 'a', 'b'), 'base')])
    monkeypatch.setattr(bag_reader, 'BATCH', 64)
    fast = read_bag(path, SourceConfig(), JOINTS)
    monkeypatch.setattr(bag_reader.Layout, 'of', lambda kind, data: None)
    slow = read_bag(path, SourceConfig(), JOINTS)
    for name in ('t', 'position', 'velocity', 'effort'):
        np.testing.assert_allclose(getattr(fast, name), getattr(slow, name), rtol=1e-15)


def test_messages_that_differ_are_not_taken_for_alike():
    first, other = messages(2)[0][1], messages(1, ('a', 'b', 'd'))[0][1]
    layout = Layout.of(JOINT_STATE, first)
    assert layout.columns([first, other]) is None
    assert layout.columns([first, first[:-8]]) is None
    assert Layout.of('std_msgs/msg/String', first) is None
    assert Layout.of(JOINT_STATE, first[:20]) is None


def test_memory_is_bounded_and_progress_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(bag_reader, 'BATCH', 500)
    peaks = []
    content = messages(1000)
    for times in (8, 64):
        path = tmp_path / f'{times}.db3'
        write(path, content, times)
        told = []
        tracemalloc.start()
        signals = read_bag(path, SourceConfig(), JOINTS, told.append, most_rows=4000)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert 2000 <= len(signals.t) <= 4000
        assert told == sorted(told)
        assert told[-1] == 1.0
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
