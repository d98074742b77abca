"""Stream messages as bytes with numpy views on their fields.

rclpy turns a message into Python objects field by field; at 1 kHz that is most of a node's cost
(taking a `MotorCommands` of four joints lasts five times as long as taking its bytes). The layout
of our stream messages is fixed by their array lengths, so a *record* reads and writes the fields
in the serialised bytes (CDR, little endian: what every ROS 2 middleware sends on such machines).
Other nodes, bags and tools see ordinary messages on the topic. Padding is zero, so equal values
give equal bytes.

Attribute names are the message's: `record.seq`, `record.position` (an ndarray); the header is
`record.stamp_ns` (int, [ns]) and `record.frame_id`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
import re
import struct
from typing import Any, NamedTuple

import numpy as np

from armsense.errors import ArmsenseError, BadValue

ENCAPSULATION = b'\x00\x01\x00\x00'  # CDR, little endian, no options
_PAD = 4  # puts the body of an outgoing record on an 8-byte boundary

_CODES = {
    'double': 'd', 'float': 'f', 'boolean': '?', 'uint8': 'B', 'int8': 'b', 'uint16': 'H',
    'int16': 'h', 'uint32': 'I', 'int32': 'i', 'uint64': 'Q', 'int64': 'q'}
# Fields that were added at the end of a message: recordings of older versions stop before them.
_ADDED = {'MotorStates': ('time_ns',)}
_TYPE = re.compile(r'(?:sequence<(?P<item>\w+)>|(?P<fixed>\w+)\[(?P<size>\d+)\]|(?P<scalar>\w+))$')

LengthOf = Callable[[str, int], int]  # (name, offset of the count) -> number of items


class BadRecord(ArmsenseError):
    """Bytes or a message type that cannot be read as a record."""


class Slot(NamedTuple):
    """Where one field lies in the body (the bytes behind the encapsulation header)."""

    name: str
    code: str    # struct and numpy code of one item
    offset: int  # [byte]
    items: int   # -1: a scalar


class Layout(NamedTuple):
    """Where all fields lie, for one set of array lengths."""

    type_name: str
    slots: tuple[Slot, ...]
    counts: tuple[tuple[str, int, int], ...]  # (name, offset, items) of what may vary
    size: int  # [byte] of the body
    absent: tuple[str, ...] = ()  # scalars that an older sender did not know; they read 0

    def without_last(self) -> Layout:
        """As a sender lays it out that does not know the last scalar."""
        *slots, last = self.slots
        end = slots[-1].offset + struct.calcsize(slots[-1].code) * abs(slots[-1].items)
        return self._replace(slots=tuple(slots), size=end, absent=(last.name, *self.absent))


def align(offset: int, size: int) -> int:
    """The next multiple of `size`."""
    return offset + -offset % size


def place(msg_type: Any, length_of: LengthOf) -> Layout:
    """Lays the fields of a message type out as CDR does.

    Args:
        msg_type: A message of scalars, arrays of scalars and at most a `std_msgs/Header`.
        length_of: Gives the number of items of each unbounded array (and of `frame_id`).

    Raises:
        BadRecord: The type has a field that a record cannot hold.
    """
    slots: list[Slot] = []
    counts: list[tuple[str, int, int]] = []
    at = 0

    def counted(name: str) -> int:
        nonlocal at
        at = align(at, 4)
        items = length_of(name, at)
        counts.append((name, at, items))
        at += 4
        return items

    def put(name: str, code: str, count: int) -> None:
        nonlocal at
        size = struct.calcsize(code)
        # An array without items takes no padding.
        at = align(at, size) if count else at
        slots.append(Slot(name, code, at, count))
        at += size * abs(count)

    for name, type_name in msg_type.get_fields_and_field_types().items():
        if type_name == 'std_msgs/Header':
            put('stamp_ns', 'i', 2)  # seconds, nanoseconds
            put('frame_id', 'c', counted('frame_id'))
            continue
        match = _TYPE.match(type_name)
        code = _CODES.get(next((g for g in match.group(1, 2, 4) if g), '')) if match else None
        if match is None or code is None:
            raise BadRecord(
                f'{msg_type.__name__}.{name} is a {type_name}; a record holds scalars, arrays of '
                'scalars and a header: use an ordinary publisher')
        if match['item']:
            put(name, code, counted(name))
        else:
            put(name, code, int(match['size'] or -1))
    return Layout(msg_type.__name__, tuple(slots), tuple(counts), at)


def place_lengths(
    msg_type: Any, length: int, lengths: Mapping[str, int], frame_id: str,
) -> Layout:
    """The layout for given array lengths: `length` items, except those in `lengths`."""
    characters = len(frame_id.encode()) + 1  # CDR counts the closing zero
    layout = place(
        msg_type,
        lambda name, _: characters if name == 'frame_id' else lengths.get(name, length))
    known = [name for name, _, _ in layout.counts if name != 'frame_id']
    for name in lengths:
        if name not in known:
            raise BadRecord(
                f'{layout.type_name} has no unbounded array {name!r}; known: {", ".join(known)}')
    return layout


def place_bytes(msg_type: Any, data: bytes) -> Layout:
    """The layout of a serialised message."""
    if data[:2] != ENCAPSULATION[:2]:
        raise BadRecord(f'{msg_type.__name__} begins with {data[:4].hex()}; '
                        f'a record is little-endian CDR ({ENCAPSULATION.hex()})')
    try:
        layout = place(msg_type, lambda _, at: struct.unpack_from('<I', data, at + 4)[0])
    except struct.error:
        raise BadRecord(f'{msg_type.__name__} of {len(data)} bytes is cut off') from None
    added = _ADDED.get(layout.type_name, ())
    while layout.size + 4 > len(data) and layout.slots[-1].name in added:
        layout = layout.without_last()
    if layout.size + 4 > len(data):
        raise BadRecord(f'{msg_type.__name__} of {len(data)} bytes is cut off; '
                        f'its fields need {layout.size + 4}')
    return layout


class RecordIn:
    """A received message; every array is a read-only view of its bytes."""

    __slots__ = ('_body',)
    _layout: Layout

    def __init__(self, data: bytes) -> None:
        # The copy puts float64 on 8-byte boundaries, as linear algebra likes them.
        self._body = data[4:]

    def wire(self) -> bytes:
        """The serialised message."""
        return ENCAPSULATION + self._body

    def __repr__(self) -> str:
        return _describe(self)


class RecordOut:
    """A message to be sent, filled in place; it keeps its values from one sending to the next.

    Assigning to an array attribute copies the values into the bytes, and a wrong length raises:
    `record.position = q`; a scalar fills all items.
    """

    __slots__ = ('_buffer', '_wire', '_views')
    _layout: Layout

    def __init__(self, frame_id: str = '') -> None:
        self._buffer = bytearray(_PAD + 4 + self._layout.size)
        self._buffer[_PAD:_PAD + 4] = ENCAPSULATION
        self._wire = memoryview(self._buffer)[_PAD:]
        self._views: dict[str, np.ndarray] = {}
        for _, offset, items in self._layout.counts:
            struct.pack_into('<I', self._wire, offset + 4, items)
        for slot in self._layout.slots:
            if slot.name == 'frame_id':
                text = frame_id.encode()
                self._wire[slot.offset + 4:slot.offset + 4 + len(text)] = text
            elif slot.items >= 0:
                self._views[slot.name] = np.frombuffer(
                    self._wire, _dtype(slot), slot.items, slot.offset + 4)

    def wire(self) -> bytes:
        """The serialised message."""
        return bytes(self._wire)

    def __repr__(self) -> str:
        return _describe(self)


def record_in(layout: Layout) -> type[RecordIn]:
    """The class that reads messages of this layout."""
    attributes: dict[str, Any] = {'__slots__': (), '_layout': layout}
    for slot in layout.slots:
        attributes[slot.name] = property(_getter(slot))
    attributes |= dict.fromkeys(layout.absent, 0)
    return type(f'{layout.type_name}In', (RecordIn,), attributes)


def record_out(layout: Layout) -> type[RecordOut]:
    """The class that writes messages of this layout."""
    attributes: dict[str, Any] = {'__slots__': (), '_layout': layout}
    for slot in layout.slots:
        attributes[slot.name] = _out_property(layout.type_name, slot)
    return type(f'{layout.type_name}Out', (RecordOut,), attributes)


def _dtype(slot: Slot) -> np.dtype:
    return np.dtype(slot.code if slot.code == '?' else '<' + slot.code)


def _getter(slot: Slot) -> Callable[[Any], Any]:
    """Reads one field of a received record."""
    offset, items = slot.offset, slot.items
    if slot.name == 'stamp_ns':
        unpack = struct.Struct('<iI').unpack_from

        def stamp(record: Any) -> int:
            seconds, nanoseconds = unpack(record._body, offset)
            return int(seconds * 1_000_000_000 + nanoseconds)
        return stamp
    if slot.name == 'frame_id':
        return lambda record: record._body[offset:offset + items - 1].decode()
    if items < 0:
        unpack = struct.Struct('<' + slot.code).unpack_from
        return lambda record: unpack(record._body, offset)[0]
    dtype = _dtype(slot)
    if not items:
        empty = np.empty(0, dtype)
        return lambda record: empty
    view = np.frombuffer
    return lambda record: view(record._body, dtype, items, offset)


def _out_property(type_name: str, slot: Slot) -> property:
    """Reads and writes one field of an outgoing record."""
    offset, name = slot.offset + 4, slot.name
    if name == 'stamp_ns':
        code = struct.Struct('<iI')

        def get_stamp(record: Any) -> int:
            seconds, nanoseconds = code.unpack_from(record._wire, offset)
            return int(seconds * 1_000_000_000 + nanoseconds)

        def set_stamp(record: Any, value: int) -> None:
            code.pack_into(record._wire, offset, *divmod(int(value), 1_000_000_000))
        return property(get_stamp, set_stamp)
    if name == 'frame_id':
        end = offset + slot.items - 1
        return property(lambda record: bytes(record._wire[offset:end]).decode())
    if slot.items < 0:
        return _out_scalar(type_name, slot)

    def set_array(record: Any, values: Any) -> None:
        try:
            record._views[name][:] = values
        except ValueError:
            raise BadValue(f'{type_name}.{name}', np.shape(values),
                           f'an array of {slot.items}') from None
    return property(lambda record: record._views[name], set_array)


def _out_scalar(type_name: str, slot: Slot) -> property:
    code, offset = struct.Struct('<' + slot.code), slot.offset + 4

    def get_scalar(record: Any) -> Any:
        return code.unpack_from(record._wire, offset)[0]

    def set_scalar(record: Any, value: Any) -> None:
        try:
            code.pack_into(record._wire, offset, value)
        except struct.error as error:
            raise BadValue(f'{type_name}.{slot.name}', value, str(error)) from None
    return property(get_scalar, set_scalar)


def _describe(record: Any) -> str:
    values = (f'{slot.name}={getattr(record, slot.name)!r}' for slot in record._layout.slots)
    return f'{type(record).__name__}({", ".join(values)})'
