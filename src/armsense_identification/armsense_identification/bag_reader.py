"""Joint states in rosbag2 recordings: sqlite3 and MCAP, split, compressed, cut off.

The storage files are read themselves: a metadata.yaml may be missing or belong to another bag.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from pathlib import Path
import sqlite3
import struct
import tempfile
from typing import Any, NamedTuple

from mcap.exceptions import McapError
from mcap.records import Channel, Message, Schema
from mcap.stream_reader import StreamReader
import numpy as np
from rosbags.serde import SerdeError
from rosbags.typesys import get_types_from_msg, get_typestore, Stores

from armsense_core.errors import ArmsenseError, UnknownName
from armsense_core.identify.robot_file import SourceConfig
from armsense_identification.signals import Signals

STORAGE = ('.db3', '.mcap')
PACKED = ('.zstd', '.zst')
ZSTD_MAGIC = b'\x28\xb5\x2f\xfd'
JOINT_STATE = 'sensor_msgs/msg/JointState'
MOTOR_STATES = 'armsense_msgs/msg/MotorStates'


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


def read_bag(path: Path, source: SourceConfig, joints: tuple[str, ...]) -> Signals:
    """Signals of `joints` from the topic of the robot file."""
    if not path.exists():
        raise ArmsenseError(f'cannot read {path}: no such file or folder')
    names = source.names or joints
    notes: list[str] = []
    rows = array('d')                     # flat: an hour at 1 kHz stays below a gigabyte
    topics: dict[str, str] = {}
    decode = _Decoder(names, path.name)
    damaged = 0
    for file in storage_files(path):
        for message in _messages(file, notes):
            topics[message.topic] = message.type
            if message.topic == source.topic:
                try:
                    rows.extend(decode(message))
                except SerdeError:
                    damaged += 1
    if not topics:
        raise ArmsenseError(f'{path.name} holds no message' + (f' ({notes[0]})' if notes else ''))
    if not rows:
        known = [f'{topic} ({kind})' for topic, kind in topics.items()]
        raise UnknownName('topic', source.topic, known, path.name)
    if damaged:
        notes.append(f'{path.name}: {damaged} damaged messages are left out')
    table = np.frombuffer(rows).reshape(-1, 2 + 3 * len(names))
    return _signals(table, len(names), path.name, notes)


def _signals(rows: Any, n: int, name: str, notes: list[str]) -> Signals:
    rows = rows[np.argsort(rows[:, 1], kind='stable')]
    stamp, recorded = rows[:, 0], rows[:, 1]
    rising = np.all(np.diff(stamp) >= 0.0) and np.ptp(stamp) > 0.5 * np.ptp(recorded)
    if not rising:
        notes.append(f'{name}: message stamps do not rise, times of recording are used')
    t = stamp if rising else recorded
    position, velocity, effort = (rows[:, 2 + k * n:2 + (k + 1) * n] for k in range(3))
    if not np.isfinite(effort).all():
        raise ArmsenseError(f'{name}: the messages carry no effort, nothing can be identified')
    has_velocity = np.isfinite(velocity).all() and np.any(velocity)
    return Signals(t, position, effort, velocity if has_velocity else None, name, tuple(notes))


class _Decoder:
    """Messages to rows [stamp, recorded, positions, velocities, efforts]."""

    def __init__(self, names: tuple[str, ...], where: str) -> None:
        self.names, self.where = names, where
        self.store = get_typestore(Stores.ROS2_JAZZY)
        self.order: tuple[tuple[str, ...], list[int]] | None = None

    def __call__(self, message: RawMessage) -> list[float]:
        if message.type not in self.store.fielddefs:
            self._learn(message)
        data: Any = self.store.deserialize_cdr(message.data, message.type)
        stamp = data.header.stamp.sec + 1e-9 * data.header.stamp.nanosec
        head = [stamp, 1e-9 * message.stamp]
        if message.type == JOINT_STATE:
            index = self._index(tuple(data.name))
            fields = (data.position, data.velocity, data.effort)
        elif message.type == MOTOR_STATES:
            index = list(range(len(self.names)))
            fields = (data.position, data.velocity, data.torque)
        else:
            raise ArmsenseError(f'{self.where}: {message.topic} carries {message.type}; '
                                f'{JOINT_STATE} or {MOTOR_STATES} is needed')
        for values in fields:
            head += ([float(values[k]) for k in index] if len(values) > max(index)
                     else [np.nan] * len(index))
        return head

    def _index(self, present: tuple[str, ...]) -> list[int]:
        if self.order is None or self.order[0] != present:
            for name in self.names:
                if name not in present:
                    raise UnknownName('joint', name, present, f'{self.where}: joint states')
            self.order = (present, [present.index(name) for name in self.names])
        return self.order[1]

    def _learn(self, message: RawMessage) -> None:
        if not message.definition:
            raise ArmsenseError(f'{self.where}: the type {message.type} is unknown and the bag '
                                'does not define it')
        self.store.register(get_types_from_msg(message.definition, message.type))


def _messages(file: Path, notes: list[str]) -> Iterator[RawMessage]:
    if file.suffix in PACKED:
        with tempfile.TemporaryDirectory() as folder:
            plain = Path(folder) / file.stem
            plain.write_bytes(_unpack(file.read_bytes()))
            yield from _messages(plain, notes)
    elif file.suffix == '.db3' and (missing := _missing_bytes(file)):
        notes.append(f'{file.name}: cut off, {missing} bytes are missing')
        with tempfile.TemporaryDirectory() as folder:   # sqlite wants all pages, even if empty
            padded = Path(folder) / file.name
            padded.write_bytes(file.read_bytes() + bytes(missing))
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
    try:
        topics = {key: (name, kind) for key, name, kind in
                  connection.execute('SELECT id, name, type FROM topics')}
        definitions: dict[str, str] = {}
        if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'message_definitions'"
                              ).fetchone():
            definitions = dict(connection.execute(
                'SELECT topic_type, encoded_message_definition FROM message_definitions'))
        for key, stamp, data in connection.execute(
                'SELECT topic_id, timestamp, data FROM messages ORDER BY id'):
            if key in topics and stamp is not None and data:   # else a row of an empty page
                name, kind = topics[key]
                yield RawMessage(name, kind, stamp, _unpack(data), definitions.get(kind, ''))
    except sqlite3.DatabaseError as error:
        notes.append(f'{file.name}: cut off or damaged, read as far as possible ({error})')
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
        except (McapError, EOFError, struct.error) as error:
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
