"""Files of a bag: messages of sqlite3 and MCAP, split, compressed, cut off; their types; facts.

The storage files are read themselves: a metadata.yaml may be missing or belong to another bag.
What an excitation run writes about itself stands in the `custom_data` of that file, where rosbag2
keeps such things. Types come from the definitions of ROS and our own: no generated class is
needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
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
from rosbags.rosbag1 import Reader as Ros1Reader
from rosbags.typesys import get_types_from_msg, get_typestore, Stores, TypesysError
from rosbags.typesys.store import Typestore
import yaml

from armsense.errors import ArmsenseError, UnknownName
from armsense.model.arm_source import ArmSource
from armsense.recordings.cdr import BadRecord, CODES, Columns, Field, HEADER, MessageType, STAMP
from armsense.share import message_definitions

METADATA = 'metadata.yaml'
INFORMATION = 'rosbag2_bagfile_information'
STORAGE = ('.db3', '.mcap', '.bag')     # the last one of ROS 1
PACKED = ('.zstd', '.zst')
ZSTD_MAGIC = b'\x28\xb5\x2f\xfd'
JOINT_STATE = 'sensor_msgs/msg/JointState'
MOTOR_STATES = 'armsense_msgs/msg/MotorStates'
RESIDUAL = 'armsense_msgs/msg/Residual'
COLLISION = 'armsense_msgs/msg/Collision'
IMU = 'sensor_msgs/msg/Imu'
PAYLOAD = 'geometry_msgs/msg/InertiaStamped'
_NUMBERS = (Nodetype.SEQUENCE, ((Nodetype.BASE, ('float64', 0)), 0))
NEEDED = {                           # of motor states, by rosbags' names for their types
    'header': (Nodetype.NAME, 'std_msgs/msg/Header'),
    **dict.fromkeys(('position', 'velocity', 'torque', 'joint_position', 'strain'), _NUMBERS)}
_SEPARATOR = '=' * 80


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


def choose_states(where: str, kinds: Mapping[str, str], topic: str | None) -> str:
    """The topic that is wanted; None: the only one of motor states, else of joint states."""
    found = {kind: [name for name, own in kinds.items() if own == kind]
             for kind in (MOTOR_STATES, JOINT_STATE)}
    if topic is None:
        candidates = found[MOTOR_STATES] or found[JOINT_STATE]
        if len(candidates) == 1:
            return candidates[0]
        if candidates:
            raise ArmsenseError(f'{where} has several arms; choose a topic: '
                                f'{", ".join(candidates)}')
    elif topic in found[MOTOR_STATES] + found[JOINT_STATE]:
        return topic
    known = [f'{name} ({kind})' for name, kind in kinds.items()] or ['nothing']
    raise UnknownName('topic of MotorStates or JointState', topic or 'motor_states', known, where)


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
    elif file.suffix == '.bag':
        yield from _ros1(file, notes)
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


def _ros1(file: Path, notes: list[str]) -> Iterator[RawMessage]:
    """Joint states of ROS 1 as CDR; of other topics the name and type alone."""
    store = our_types()     # that of ROS 2 knows the headers of ROS 1 and leaves their count out
    try:
        with Ros1Reader(file) as reader:
            for connection, stamp, data in reader.messages():
                plain = (bytes(store.ros1_to_cdr(data, JOINT_STATE))
                         if connection.msgtype == JOINT_STATE else b'')
                yield RawMessage(connection.topic, connection.msgtype, stamp, plain, '')
    except Exception as error:   # as above
        notes.append(f'{file.name}: cut off or damaged, read as far as possible '
                     f'({type(error).__name__}: {error})')


def _unpack(data: bytes) -> bytes:
    if not data.startswith(ZSTD_MAGIC):
        return data
    try:
        from compression import zstd  # Python 3.14
    except ImportError:
        from backports import zstd
    return bytes(zstd.decompress(data))


@dataclass(frozen=True, kw_only=True)
class BagFacts:
    """All as text, as rosbag2 wants it."""

    arm: str = ''
    arm_file: str = ''         # of an arm that no name stands for
    arm_sha256: str = ''       # of that file
    model_sha256: str = ''     # of description, configuration and parameters that drove the arm
    motion: str = ''           # file of the motion
    motion_sha256: str = ''
    motion_start: str = ''     # stamp at which it began [s]
    motion_end: str = ''       # and ended
    periods: str = ''
    date: str = ''
    checks: str = ''           # what the checks of the recording said

    @classmethod
    def read(cls, bag: Path) -> BagFacts | None:
        """None where the bag tells nothing about itself."""
        try:
            data = yaml.safe_load((bag / METADATA).read_text())
            custom = data[INFORMATION]['custom_data'] or {}
        except (OSError, yaml.YAMLError, KeyError, TypeError):
            return None
        known = {key: str(value) for key, value in custom.items()
                 if key in cls.__dataclass_fields__}
        return cls(**known) if known else None

    def arm_of(self, bag: Path) -> str:
        """Name or file of the arm; empty: the bag does not tell."""
        if not self.arm_file:
            return self.arm
        return ArmSource(file=self.arm_file, sha256=self.arm_sha256).find(self.arm, bag)

    def window(self) -> tuple[float, float] | None:
        """Stamps between which the motion lies [s]; None: unknown."""
        try:
            return float(self.motion_start), float(self.motion_end)
        except ValueError:
            return None

    def write(self, bag: Path) -> None:
        """Add to the metadata of a finished bag."""
        path = bag / METADATA
        data: dict[str, Any] = yaml.safe_load(path.read_text())
        custom = data[INFORMATION].get('custom_data') or {}
        data[INFORMATION]['custom_data'] = custom | {k: v for k, v in asdict(self).items() if v}
        temporary = path.with_suffix('.tmp')
        temporary.write_text(yaml.safe_dump(data, sort_keys=False))
        os.replace(temporary, path)


def whose(path: Path) -> str:
    """What a bag tells of its arm beside states without names."""
    facts = BagFacts.read(path)
    if facts is not None and facts.arm:
        return f'; the bag is of {facts.arm}'
    for message in messages(path, []):
        if message.type == JOINT_STATE:
            try:
                names = Columns(message_type(JOINT_STATE), message.data).names
            except BadRecord:
                continue
            return f'; joints of {message.topic}: {", ".join(names)}'
    return ''


@functools.cache
def our_types() -> Typestore:
    """Types of ROS and of armsense_msgs; the latter in a bag may be of another version."""
    store = get_typestore(Stores.ROS2_JAZZY)
    for name, text in message_definitions().items():
        store.register(get_types_from_msg(text, name))
    return store


def message_type(name: str, store: Typestore | None = None) -> MessageType:
    """Fields of a type such as `sensor_msgs/msg/JointState`: numbers, texts and lists of these."""
    return MessageType(name.rpartition('/')[2], tuple(_fields(store or our_types(), name)))


def motor_states_type(definition: str, where: str) -> MessageType:
    """Motor states as a bag defines them, which may be of another version; '': it does not."""
    if not definition:
        raise ArmsenseError(f'{where}: the type {MOTOR_STATES} is unknown and the bag does not '
                            'define it')
    store = get_typestore(Stores.ROS2_JAZZY)
    try:
        store.register(get_types_from_msg(definition, MOTOR_STATES))
        fields = dict(store.get_msgdef(MOTOR_STATES).fields)
    except (TypesysError, KeyError) as error:   # the second: a part is not defined
        raise ArmsenseError(f'{where}: the definition of {MOTOR_STATES} is damaged') from error
    wrong = [name for name, kind in NEEDED.items() if fields.get(name) != kind]
    if wrong:
        raise ArmsenseError(f'{where}: the definition of {MOTOR_STATES} lacks or changes '
                            f'{", ".join(wrong)}')
    return message_type(MOTOR_STATES, store)


def _fields(store: Typestore, kind: str) -> list[Field]:
    fields: list[Field] = []
    detail: Any
    for name, (node, detail) in store.get_msgdef(kind).fields:
        if node == Nodetype.NAME:
            fields += STAMP if detail == 'std_msgs/msg/Header' else _fields(store, detail)
            continue
        item, items = (detail, -1) if node == Nodetype.BASE else (detail[0][1], detail[1])
        if node == Nodetype.SEQUENCE:
            items = 0       # what the definition gives is the most that there may be
        if item[0] not in CODES:
            raise ArmsenseError(f'{kind}: its field {name} is neither of numbers nor of texts')
        fields.append(Field(name, CODES[item[0]], items))
    return fields


def schema_text(name: str) -> str:
    """Definition of a type with everything it contains, as MCAP's `ros2msg` wants it."""
    own, separator, parts = our_types().generate_msgdef(name, ros_version=2)[0].partition(
        _SEPARATOR)
    return message_definitions().get(name, own) + separator + parts   # ours has its comments


def blank(name: str) -> Any:
    """A message of zeros and empty texts, with the attributes of a generated class."""
    values: dict[str, Any] = {}
    detail: Any
    for field, (node, detail) in our_types().get_msgdef(name).fields:
        if node == Nodetype.NAME:
            values[field] = blank(detail)
        elif node == Nodetype.BASE:
            values[field] = '' if detail[0] == 'string' else 0
        else:
            values[field] = np.zeros(detail[1], CODES[detail[0][1][0]])
    return our_types().types[name](**values)


def serialize(message: Any) -> bytes:
    """The bytes of a message made by `blank`."""
    return bytes(our_types().serialize_cdr(message, message.__msgtype__))


def deserialize(store: Typestore, name: str, data: bytes) -> Any:
    """Any message as an object; what follows its last field is padding of the sender."""
    kind = store.get_msgdef(name)
    little = data[:2] == b'\x00\x01'
    decode = kind.deserialize_cdr_le if little else kind.deserialize_cdr_be
    return decode(data[HEADER:], 0, kind.cls, store)[0]
