"""A long bag of joint states, written fast: one message as a pattern, its numbers replaced."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
import sqlite3

import numpy as np
from rosbags.typesys import get_typestore, Stores

from armsense.types import Array

KIND = 'sensor_msgs/msg/JointState'
CHUNK = 20_000      # messages made at once


def write_long_bag(path: Path, joints: tuple[str, ...], seconds: float, rate: float,
                   sample: Callable[[Array], tuple[Array, Array, Array]]) -> int:
    """A rosbag2 storage file of /joint_states.

    Args:
        path: File to write (.db3).
        joints: Names.
        seconds: Duration.
        rate: [Hz].
        sample: Positions, velocities and efforts at times [s], (N, n) each.

    Returns:
        Number of messages.
    """
    pattern, places = _pattern(joints)
    count = int(seconds * rate)
    with sqlite3.connect(path) as bag:
        bag.execute('CREATE TABLE topics (id INTEGER PRIMARY KEY, name TEXT, type TEXT, '
                    'serialization_format TEXT, offered_qos_profiles TEXT)')
        bag.execute('CREATE TABLE messages (id INTEGER PRIMARY KEY, topic_id INTEGER, '
                    'timestamp INTEGER, data BLOB)')
        bag.execute('INSERT INTO topics VALUES (1, ?, ?, "cdr", "")', ('/joint_states', KIND))
        for first in range(0, count, CHUNK):
            k = np.arange(first, min(first + CHUNK, count))
            rows = np.tile(np.frombuffer(pattern, np.uint8), (len(k), 1))
            nanoseconds = np.round(k / rate * 1e9).astype(np.int64) + 10**9
            stamp = np.stack([nanoseconds // 10**9, nanoseconds % 10**9], axis=1)
            rows[:, 4:12] = stamp.astype('<u4').view(np.uint8)
            for place, values in zip(places, sample(k / rate), strict=True):
                numbers = np.ascontiguousarray(values, '<f8').view(np.uint8)
                rows[:, place:place + numbers.shape[1]] = numbers
            bag.executemany('INSERT INTO messages (topic_id, timestamp, data) VALUES (1, ?, ?)',
                            ((int(t), row.tobytes())
                             for t, row in zip(nanoseconds, rows, strict=True)))
    return count


def _pattern(joints: tuple[str, ...]) -> tuple[bytes, list[int]]:
    """A serialised message and the places of its three arrays."""
    store = get_typestore(Stores.ROS2_JAZZY)
    Header, Time = store.types['std_msgs/msg/Header'], store.types['builtin_interfaces/msg/Time']
    marks = [np.full(len(joints), 1000.0 + k) for k in range(3)]
    message = store.types[KIND](Header(Time(0, 0), ''), list(joints), *marks)
    data = bytes(store.serialize_cdr(message, KIND))
    return data, [data.index(mark.astype('<f8').tobytes()) for mark in marks]
