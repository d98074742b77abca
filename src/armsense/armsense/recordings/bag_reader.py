"""Joint states in rosbag2 recordings: sqlite3 and MCAP, split, compressed, cut off.

The storage files are read themselves: a metadata.yaml may be missing or belong to another bag.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
import functools
import os
from pathlib import Path
import shutil
import sqlite3
import struct
import tempfile
from typing import Any, NamedTuple

from mcap.records import Channel, Message, Schema
from mcap.stream_reader import StreamReader
import numpy as np
from rosbags.interfaces import Nodetype, Typestore
from rosbags.typesys import get_types_from_msg, get_typestore, Stores, TypesysError

from armsense.errors import ArmsenseError, UnknownName
from armsense.identify.robot_file import SourceConfig
from armsense.recordings.bag_facts import BagFacts
from armsense.recordings.bag_topic import choose_states
from armsense.recordings.fast_decoder import (
    Damaged,
    Field,
    fields_of,
    HEADER,
    JOINT_STATE,
    Layout,
    MOTOR_STATES,
)
from armsense.recordings.row_filter import PARTS, RowFilter
from armsense.recordings.row_store import MOST, RowStore
from armsense.recordings.signals import Signals

STORAGE = ('.db3', '.mcap')
PACKED = ('.zstd', '.zst')
ZSTD_MAGIC = b'\x28\xb5\x2f\xfd'
BATCH = 4096
MOST_LAYOUTS = 8                     # that are remembered
NUMBERS = (Nodetype.SEQUENCE, ((Nodetype.BASE, ('float64', 0)), 0))
NEEDED = {                           # of motor states, by rosbags' names for their types
    'header': (Nodetype.NAME, 'std_msgs/msg/Header'),
    **dict.fromkeys(('position', 'velocity', 'torque', 'joint_position', 'strain'), NUMBERS)}
Progress = Callable[[float], None]


class RawMessage(NamedTuple):
    topic: str
    type: str
    stamp: int        # [ns] of recording
    data: bytes       # CDR
    definition: str   # text of the message type, '' where the bag has none


def is_bag(path: Path) -> bool:
    """Whether a file or folder looks like a rosbag2 recording."""
    return bool(storage_files(path))


def storage_files(path: Path) -> list[Path]:
    """Storage files of a bag, in order of their names."""
    candidates = sorted(path.iterdir()) if path.is_dir() else [path]
    return [p for p in candidates if p.is_file() and (
        p.suffix in STORAGE or (p.suffix in PACKED and Path(p.stem).suffix in STORAGE))]


def messages(path: Path, notes: list[str]) -> Iterator[RawMessage]:
    """All messages of a bag, file by file; what is cut off or damaged is noted."""
    if not path.exists():
        raise ArmsenseError(f'cannot read {path}: no such file or folder')
    for file in storage_files(path):
        yield from _messages(file, notes)


def read_bag(path: Path, source: SourceConfig, joints: tuple[str, ...],
             progress: Progress | None = None, most_rows: int = MOST) -> Signals:
    """Signals of `joints` from the topic of the robot file, in bounded memory.

    Args:
        path: File or folder.
        source: Topic and names; no topic: that of the only motor states.
        joints: Names of the joints.
        progress: Told the share of the bag that is read, 0 to 1.
        most_rows: Samples that are kept; more are averaged in groups.
    """
    if not path.exists():
        raise ArmsenseError(f'cannot read {path}: no such file or folder')
    notes: list[str] = []
    topics: dict[str, str] = {}
    readers: dict[str, _Reader] = {}
    files = storage_files(path)
    total, seen = sum(file.stat().st_size for file in files), 0
    for file in files:
        for message in _messages(file, notes):
            topics.setdefault(message.topic, message.type)
            seen += len(message.data)
            if not (message.type == MOTOR_STATES if source.topic is None
                    else message.topic == source.topic):
                continue
            if message.topic not in readers:
                readers[message.topic] = _Reader(source.names or joints, path, most_rows)
            if readers[message.topic].take(message) and progress is not None:
                progress(min(seen / max(total, 1), 1.0))
    if not topics:
        raise ArmsenseError(f'{path.name} holds no message' + (f' ({notes[0]})' if notes else ''))
    reader = readers[_chosen(path.name, topics, source.topic)]
    reader.finish()
    if progress is not None:
        progress(1.0)
    return reader.signals(notes)


def _chosen(where: str, topics: dict[str, str], topic: str | None) -> str:
    if topic is None:
        return choose_states(where, topics, None)
    if topic not in topics:
        known = [f'{name} ({kind})' for name, kind in topics.items()]
        raise UnknownName('topic', topic, known, where)
    return topic


class _Reader:
    """Messages to rows [stamp, recorded, then the numbers of PARTS]."""

    def __init__(self, names: tuple[str, ...], path: Path, most_rows: int) -> None:
        self.names, self.path, self.where = names, path, path.name
        self.store = get_typestore(Stores.ROS2_JAZZY)
        self.fields: dict[str, list[Field]] = {}
        self.layouts: list[Layout] = []         # that came so far, the last one first
        self.batch: list[RawMessage] = []
        self.seen = self.damaged = self.others = 0
        self.reason = ''                        # why the first damaged message could not be read
        self.strangers: tuple[str, ...] = ()    # joints of messages that hold none of ours
        self.strange_count = 0                  # of joints in messages without names
        self.wall: float | None = None          # [s] stamp at time 0 of the driver's own clock
        self.usable = RowFilter(len(names))
        self.table = RowStore(2 + len(PARTS) * len(names), most_rows)

    def take(self, message: RawMessage) -> bool:
        """Keep a message; True: a batch is done."""
        if self.batch and self.batch[0].type != message.type:
            self.finish()
            self.layouts.clear()
        self.batch.append(message)
        if len(self.batch) < BATCH:
            return False
        self.finish()
        return True

    def finish(self) -> None:
        """Decode what is kept, in the order of its coming."""
        self.seen += len(self.batch)
        rows = np.full((len(self.batch), 2 + len(PARTS) * len(self.names)), np.nan)
        found = np.zeros(len(self.batch), bool)
        left = np.arange(len(self.batch))
        layouts = iter([*self.layouts])
        while len(left):
            layout = next(layouts, None) or self._new_layout(self.batch[left[0]])
            if layout is None:
                left = left[1:]
                continue
            alike = layout.alike([self.batch[k].data for k in left])
            mine, left = left[alike], left[~alike]
            if len(mine):
                found[mine] = self._decode(layout, mine, rows)
        self.table.add(self.usable(rows[found]))
        self.batch.clear()

    def _new_layout(self, message: RawMessage) -> Layout | None:
        """None: the message is damaged."""
        if message.type not in self.fields:
            self._learn(message)
        try:
            layout = Layout.of(self.fields[message.type], message.data)
        except Damaged as error:
            self.damaged += 1
            self.reason = self.reason or str(error)
            return None
        self.layouts = [layout, *self.layouts[:MOST_LAYOUTS - 1]]
        return layout

    def _decode(self, layout: Layout, which: Any, rows: Any) -> bool:
        """Fill the rows of messages of one layout; False: they are of other joints."""
        index = self._index(layout)
        if index is None:
            self.others += len(which)
            return False
        batch = [self.batch[k].data for k in which]
        stamps, arrays = layout.columns(batch)
        time = layout.monotonic(batch)
        if time is not None:                    # stamps as if their clock had never been set
            self.wall = stamps[0] - time[0] if self.wall is None else self.wall
            stamps = time + self.wall
        if 'torque' in arrays:
            arrays['effort'] = arrays['torque']
        parts = [stamps[:, None], np.array([[1e-9 * self.batch[k].stamp] for k in which])]
        for name in PARTS:
            values = arrays.get(name, np.empty((len(which), 0)))
            parts.append(values[:, index] if values.shape[1] > max(index)
                         else np.full((len(which), len(index)), np.nan))
        rows[which] = np.concatenate(parts, axis=1)
        return True

    def _index(self, layout: Layout) -> list[int] | None:
        """Places of the joints in a message; None: none of them is there."""
        present = layout.names
        if not present:     # such messages are of all joints of an arm
            counts = {count for _, count in layout.arrays.values() if count}
            if counts <= {len(self.names)}:
                return list(range(len(self.names)))
            self.strange_count = max(counts - {len(self.names)})
            return None
        missing = [name for name in self.names if name not in present]
        if len(missing) == len(self.names):     # such as a gripper's on the same topic
            self.strangers = present
            return None
        if missing:
            raise UnknownName('joint', missing[0], present, f'{self.where}: joint states')
        return [present.index(name) for name in self.names]

    def _learn(self, message: RawMessage) -> None:
        """Which fields the messages have."""
        if message.type not in (JOINT_STATE, MOTOR_STATES):
            raise ArmsenseError(f'{self.where}: {message.topic} carries {message.type}; '
                                f'{JOINT_STATE} or {MOTOR_STATES} is needed')
        if message.type == MOTOR_STATES:
            self._learn_motor_states(message)
        self.fields[message.type] = fields_of(self.store, message.type)

    def _learn_motor_states(self, message: RawMessage) -> None:
        if not message.definition:
            raise ArmsenseError(f'{self.where}: the type {message.type} is unknown and the bag '
                                'does not define it')
        try:
            self.store.register(get_types_from_msg(message.definition, message.type))
            fields = dict(self.store.get_msgdef(message.type).fields)
        except (TypesysError, KeyError) as error:   # the second: a part is not defined
            raise ArmsenseError(f'{self.where}: the definition of {message.type} is damaged'
                                ) from error
        wrong = [name for name, kind in NEEDED.items() if fields.get(name) != kind]
        if wrong:
            raise ArmsenseError(f'{self.where}: the definition of {message.type} lacks or changes '
                                f'{", ".join(wrong)}')

    def signals(self, notes: list[str]) -> Signals:
        """What was read."""
        rows = self.table.rows()
        if not len(rows):
            raise self._nothing()
        notes += [f'{self.where}: {note}' for note in self._left_out()]
        if self.table.group > 1:
            notes.append(f'{self.where}: a long recording; each {self.table.group} samples are '
                         'averaged')
        steady = self.wall is not None
        order = rows[:, 0 if steady else 1]
        if np.any(np.diff(order) < 0.0):
            rows = rows[np.argsort(order, kind='stable')]
        stamp, recorded = rows[:, 0], rows[:, 1]
        rising = steady or (np.all(np.diff(stamp) >= 0.0)
                            and np.ptp(stamp) > 0.5 * np.ptp(recorded))
        if not rising:
            notes.append(f'{self.where}: message stamps do not rise, times of recording are used')
        parts = dict(zip(PARTS, np.split(rows[:, 2:], len(PARTS), axis=1), strict=True))

        def given(name: str) -> Any:
            values = parts[name]
            return values if np.isfinite(values).all() and np.any(values) else None

        return Signals(stamp if rising else recorded, parts['position'], parts['effort'],
                       given('velocity'), self.where, tuple(notes), given('joint_position'),
                       given('strain'))

    def _nothing(self) -> ArmsenseError:
        """Why no message could be used."""
        lacking = self.usable.never()
        if lacking is not None:
            return ArmsenseError(f'{self.where}: the messages carry no {lacking}, nothing can be '
                                 'identified')
        if self.strange_count:
            return ArmsenseError(f'{self.where}: the messages are of {self.strange_count} joints, '
                                 f'the arm has {len(self.names)} ({", ".join(self.names)})'
                                 f'{_whose(self.path)}')
        if self.others:
            return UnknownName('joint', self.names[0], self.strangers,
                               f'{self.where}: joint states')
        return ArmsenseError(f'{self.where}: none of {self.seen} messages of the topic could be '
                             f'read; the first: {self.reason}')

    def _left_out(self) -> list[str]:
        strangers = ', '.join(self.strangers) or f'{self.strange_count} without names'
        counts = {f'damaged messages (the first: {self.reason})': self.damaged,
                  f'messages of other joints ({strangers})': self.others}
        return [*(f'{count} {what} are left out' for what, count in counts.items() if count),
                *self.usable.notes()]


def _whose(path: Path) -> str:
    """What a bag tells of its arm beside states without names."""
    facts = BagFacts.read(path)
    if facts is not None and facts.arm:
        return f'; the bag is of {facts.arm}'
    fields = fields_of(get_typestore(Stores.ROS2_JAZZY), JOINT_STATE)
    for message in messages(path, []):
        if message.type == JOINT_STATE:
            try:
                names = Layout.of(fields, message.data).names
            except Damaged:
                continue
            return f'; joints of {message.topic}: {", ".join(names)}'
    return ''


def deserialize(store: Typestore, message: RawMessage) -> Any:
    """Any message as an object; what follows its last field is padding of the sender."""
    little = message.data[:2] == b'\x00\x01'
    kind = store.get_msgdef(message.type)
    decode = kind.deserialize_cdr_le if little else kind.deserialize_cdr_be
    return decode(message.data[HEADER:], 0, kind.cls, store)[0]


def _messages(file: Path, notes: list[str]) -> Iterator[RawMessage]:
    if file.suffix in PACKED:
        with tempfile.TemporaryDirectory() as folder:
            plain = Path(folder) / file.stem
            try:
                plain.write_bytes(_unpack(file.read_bytes()))
            except Exception as error:   # zstd's own error, of one of two libraries
                raise ArmsenseError(f'{file.name} cannot be unpacked: {error}') from error
            yield from _messages(plain, notes)
    elif file.suffix == '.db3' and (missing := _missing_bytes(file)):
        notes.append(f'{file.name}: cut off, {missing} bytes are missing')
        with tempfile.TemporaryDirectory() as folder:   # sqlite wants all pages, even if empty
            padded = Path(folder) / file.name
            shutil.copyfile(file, padded)
            try:
                os.truncate(padded, file.stat().st_size + missing)
            except OSError as error:   # more than a disk holds: the header is damaged
                raise ArmsenseError(f'{file.name} is damaged: {error.strerror}') from error
            yield from _sqlite(padded, notes)
    elif file.suffix == '.db3':
        yield from _sqlite(file, notes)
    else:
        yield from _mcap(file, notes)


def _missing_bytes(file: Path) -> int:
    """What a cut-off sqlite file lacks: its header tells size and number of the pages."""
    with file.open('rb') as stream:
        header = stream.read(32)
    if len(header) < 32 or not header.startswith(b'SQLite format 3'):
        return 0
    page_size, pages = struct.unpack('>H', header[16:18])[0], struct.unpack('>I', header[28:32])[0]
    whole = int((65536 if page_size == 1 else page_size) * pages)
    return max(0, whole - file.stat().st_size)


def _sqlite(file: Path, notes: list[str]) -> Iterator[RawMessage]:
    connection = sqlite3.connect(f'file:{file.resolve()}?immutable=1', uri=True)
    connection.text_factory = functools.partial(str, encoding='utf-8', errors='replace')
    try:
        topics = {key: (str(name), str(kind)) for key, name, kind in
                  connection.execute('SELECT id, name, type FROM topics')}
        definitions: dict[str, str] = {}
        if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'message_definitions'"
                              ).fetchone():
            definitions = dict(connection.execute(
                'SELECT topic_type, encoded_message_definition FROM message_definitions'))
        for key, stamp, data in connection.execute(
                'SELECT topic_id, timestamp, data FROM messages ORDER BY id'):
            # Else a row of an empty or damaged page.
            if key in topics and isinstance(stamp, int) and isinstance(data, bytes) and data:
                name, kind = topics[key]
                yield RawMessage(name, kind, stamp, _unpack(data),
                                 str(definitions.get(kind, '')))
    except Exception as error:   # as below: even MemoryError for a length that is none
        notes.append(f'{file.name}: cut off or damaged, read as far as possible '
                     f'({type(error).__name__}: {error})')
    finally:
        connection.close()


def _mcap(file: Path, notes: list[str]) -> Iterator[RawMessage]:
    schemas: dict[int, Schema] = {}
    channels: dict[int, Channel] = {}
    with file.open('rb') as stream:
        try:
            for record in StreamReader(stream).records:
                if isinstance(record, Schema):
                    schemas[record.id] = record
                elif isinstance(record, Channel):
                    channels[record.id] = record
                elif isinstance(record, Message):
                    channel = channels[record.channel_id]
                    schema = schemas[channel.schema_id]
                    yield RawMessage(channel.topic, schema.name, record.log_time,
                                     _unpack(record.data), schema.data.decode())
        except Exception as error:   # damaged bytes make the library raise what it will
            notes.append(f'{file.name}: cut off or damaged, read as far as possible '
                         f'({type(error).__name__})')


def _unpack(data: bytes) -> bytes:
    if not data.startswith(ZSTD_MAGIC):
        return data
    try:
        from compression import zstd  # Python 3.14
    except ImportError:
        from backports import zstd
    return bytes(zstd.decompress(data))
