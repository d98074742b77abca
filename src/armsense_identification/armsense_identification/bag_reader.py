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
from rosbags.interfaces import Nodetype
from rosbags.serde import SerdeError
from rosbags.typesys import get_types_from_msg, get_typestore, Stores, TypesysError

from armsense_core.errors import ArmsenseError, UnknownName
from armsense_core.identify.robot_file import SourceConfig
from armsense_identification.bag_topic import choose_states
from armsense_identification.fast_decoder import JOINT_STATE, Layout, MOTOR_STATES
from armsense_identification.row_filter import PARTS, RowFilter
from armsense_identification.row_store import MOST, RowStore
from armsense_identification.signals import Signals

STORAGE = ('.db3', '.mcap')
PACKED = ('.zstd', '.zst')
ZSTD_MAGIC = b'\x28\xb5\x2f\xfd'
BATCH = 4096
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
                readers[message.topic] = _Reader(source.names or joints, path.name, most_rows)
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

    def __init__(self, names: tuple[str, ...], where: str, most_rows: int) -> None:
        self.names, self.where = names, where
        self.decode = _Decoder(names, where)
        self.layout: Layout | None = None
        self.batch: list[RawMessage] = []
        self.damaged = self.others = 0
        self.usable = RowFilter(len(names))
        self.store = RowStore(2 + len(PARTS) * len(names), most_rows)

    def take(self, message: RawMessage) -> bool:
        """Keep a message; True: a batch is done."""
        self.batch.append(message)
        if len(self.batch) < BATCH:
            return False
        self.finish()
        return True

    def finish(self) -> None:
        """Decode what is kept."""
        if not self.batch:
            return
        rows = self._fast()
        if rows is None:
            slow = []
            for message in self.batch:
                try:
                    slow.append(self.decode(message))
                except SerdeError:
                    self.damaged += 1
            found = [row for row in slow if row is not None]
            self.others += len(slow) - len(found)
            rows = np.array(found) if found else self._no_rows()
        self.store.add(self.usable(rows))
        self.batch.clear()

    def _no_rows(self) -> Any:
        return np.empty((0, 2 + len(PARTS) * len(self.names)))

    def _fast(self) -> Any:
        """Rows of messages that are all alike; None: they are not."""
        first = self.batch[0]
        if self.layout is None:
            self.layout = Layout.of(first.type, first.data)
        if self.layout is None or any(m.type != self.layout.kind for m in self.batch):
            return None
        found = self.layout.columns([message.data for message in self.batch])
        if found is None:
            self.layout = None        # perhaps the next batch is alike again
            return None
        stamps, arrays = found
        recorded = np.array([message.stamp for message in self.batch]) * 1e-9
        index = (self.decode.index(self.layout.names) if self.layout.names
                 else list(range(len(self.names))))
        if index is None:
            self.others += len(self.batch)
            return self._no_rows()
        parts = [stamps[:, None], recorded[:, None]]
        for name in PARTS:
            values = arrays.get(name, np.empty((len(stamps), 0)))
            parts.append(values[:, index] if values.shape[1] > max(index)
                         else np.full((len(stamps), len(index)), np.nan))
        return np.concatenate(parts, axis=1)

    def signals(self, notes: list[str]) -> Signals:
        """What was read."""
        rows = self.store.rows()
        if not len(rows):
            raise self._nothing()
        notes += [f'{self.where}: {note}' for note in self._left_out()]
        if self.store.group > 1:
            notes.append(f'{self.where}: a long recording; each {self.store.group} samples are '
                         'averaged')
        if np.any(np.diff(rows[:, 1]) < 0.0):
            rows = rows[np.argsort(rows[:, 1], kind='stable')]
        stamp, recorded = rows[:, 0], rows[:, 1]
        rising = np.all(np.diff(stamp) >= 0.0) and np.ptp(stamp) > 0.5 * np.ptp(recorded)
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
        if self.others:
            return UnknownName('joint', self.names[0], self.decode.strangers,
                               f'{self.where}: joint states')
        return ArmsenseError(f'{self.where}: no message of the topic could be read')

    def _left_out(self) -> list[str]:
        counts = {'damaged messages': self.damaged,
                  f'messages of other joints ({", ".join(self.decode.strangers)})': self.others}
        return [*(f'{count} {what} are left out' for what, count in counts.items() if count),
                *self.usable.notes()]


class _Decoder:
    """Single messages to rows, whatever they look like."""

    def __init__(self, names: tuple[str, ...], where: str) -> None:
        self.names, self.where = names, where
        self.store = get_typestore(Stores.ROS2_JAZZY)
        self.order: tuple[tuple[str, ...], list[int] | None] | None = None
        self.strangers: tuple[str, ...] = ()    # joints of messages that hold none of ours

    def __call__(self, message: RawMessage) -> list[float] | None:
        """None: the message is of other joints."""
        if message.type not in (JOINT_STATE, MOTOR_STATES):
            raise ArmsenseError(f'{self.where}: {message.topic} carries {message.type}; '
                                f'{JOINT_STATE} or {MOTOR_STATES} is needed')
        if message.type not in self.store.fielddefs:
            self._learn(message)
        data: Any = self.store.deserialize_cdr(message.data, message.type)
        row = [data.header.stamp.sec + 1e-9 * data.header.stamp.nanosec, 1e-9 * message.stamp]
        index: list[int] | None
        if message.type == JOINT_STATE:
            index = self.index(tuple(data.name))
            if index is None:
                return None
            fields = (data.position, data.velocity, data.effort, (), ())
        else:
            index = list(range(len(self.names)))
            fields = (data.position, data.velocity, data.torque, data.joint_position, data.strain)
        for values in fields:
            row += ([float(values[k]) for k in index] if len(values) > max(index)
                    else [np.nan] * len(index))
        return row

    def index(self, present: tuple[str, ...]) -> list[int] | None:
        """Places of the joints among the names of a message; None: none of them is there."""
        if self.order is None or self.order[0] != present:
            missing = [name for name in self.names if name not in present]
            if len(missing) == len(self.names):     # such as a gripper's on the same topic
                self.order, self.strangers = (present, None), present
            elif missing:
                raise UnknownName('joint', missing[0], present, f'{self.where}: joint states')
            else:
                self.order = (present, [present.index(name) for name in self.names])
        return self.order[1]

    def _learn(self, message: RawMessage) -> None:
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
