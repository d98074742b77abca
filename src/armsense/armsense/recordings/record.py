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

from collections.abc import Callable, Collection, Mapping
import struct
from typing import Any, NamedTuple

import numpy as np

from armsense.errors import ArmsenseError, BadValue
from armsense.recordings.cdr import BadRecord, HEADER, Layout, MessageType, Slot

ENCAPSULATION = b'\x00\x01\x00\x00'  # CDR, little endian, no options
_PAD = 4  # puts the body of an outgoing record on an 8-byte boundary
_KNOWN_SHAPES = 8  # of one topic; more of them means that somebody sends garbage


class _Record:
    __slots__ = ()
    _layout: Layout

    def __repr__(self) -> str:
        values = (f'{slot.name}={getattr(self, slot.name)!r}' for slot in self._layout.slots)
        return f'{type(self).__name__}({", ".join(values)})'


class RecordIn(_Record):
    """A received message; every array is a read-only view of its bytes."""

    __slots__ = ('_body',)

    def __init__(self, data: bytes) -> None:
        # The copy puts float64 on 8-byte boundaries, as linear algebra likes them.
        self._body = data[4:]

    def wire(self) -> bytes:
        """The serialised message."""
        return ENCAPSULATION + self._body


class RecordOut(_Record):
    """A message to be sent, filled in place; it keeps its values from one sending to the next.

    Assigning to an array attribute copies the values into the bytes, and a wrong length raises:
    `record.position = q`; a scalar fills all items.
    """

    __slots__ = ('_buffer', '_wire', '_views')

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
        return bytes(self._wire)


def _record_type(base: type[_Record], layout: Layout, fields: dict[str, Any]) -> Any:
    """The class that reads or writes messages of this layout."""
    return type(f'{layout.type_name}{base.__name__[6:]}', (base,),
                {'__slots__': (), '_layout': layout, **fields})


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


def new_record(
    kind: Any, length: int = 0, lengths: Mapping[str, int] | None = None, frame_id: str = '',
) -> Any:
    """A record of a message class or `MessageType`, to be filled and sent.

    Unbounded arrays have so many items, those of `lengths`, such as `{'strain': 0}`, another
    number.
    """
    lengths = lengths or {}
    characters = len(frame_id.encode()) + 1  # CDR counts the closing zero
    layout = Layout.with_counts(MessageType.of(kind), lambda name, _: (
        characters if name == 'frame_id' else lengths.get(name, length)))
    known = [name for name, _, _ in layout.counts if name != 'frame_id']
    for name in lengths:
        if name not in known:
            raise BadRecord(
                f'{layout.type_name} has no unbounded array {name!r}; known: {", ".join(known)}')
    return _record_type(RecordOut, layout, {
        slot.name: _out_property(layout.type_name, slot) for slot in layout.slots})(frame_id)


class _Shape(NamedTuple):
    """How to recognise and read messages of one layout."""

    pick: Callable[[bytes], tuple[int, ...]]  # byte order and all array lengths at once
    picked: tuple[int, ...]
    size: int  # [byte] at least
    record_type: type[RecordIn]


class RecordDecoder:
    """Turns serialised messages of one type into records.

    Args:
        kind: Message class or `MessageType`.
        length: Items that every unbounded array must have; None accepts any.
        optional: Arrays that may also be empty.
    """

    def __init__(
        self, kind: Any, length: int | None = None, optional: Collection[str] = (),
    ) -> None:
        self._kind = MessageType.of(kind)
        self._length = length
        self._optional = frozenset(optional)
        self._shapes: dict[tuple[tuple[str, int, int], ...], _Shape | None] = {}  # None: refused
        self._last: _Shape | None = None

    def decode(self, data: bytes) -> Any | None:
        """A record, or None for a shape that was refused before.

        Another type, or array lengths that are not expected, is an error when it is first seen.
        """
        last = self._last
        if last is None or len(data) < last.size or last.pick(data) != last.picked:
            layout = Layout.of(self._kind, data)
            if layout.order != '<':
                raise BadRecord(f'{layout.type_name} begins with {data[:4].hex()}; a record is '
                                f'little-endian CDR ({ENCAPSULATION.hex()})')
            if layout.counts not in self._shapes:
                if len(self._shapes) >= _KNOWN_SHAPES:
                    self._shapes.clear()
                self._shapes[layout.counts] = None
                self._check(layout)
                self._shapes[layout.counts] = _shape(layout)
            last = self._shapes[layout.counts]
            if last is None:
                return None
            self._last = last
        return last.record_type(data)

    def _check(self, layout: Layout) -> None:
        if self._length is None:
            return
        for name, _, count in layout.counts:
            optional = name in self._optional
            if name == 'frame_id' or count == self._length or (optional and count == 0):
                continue
            raise ArmsenseError(
                f'{layout.type_name}.{name} has {count} values; it must have {self._length}'
                + (' or none' if optional else ''))


def _shape(layout: Layout) -> _Shape:
    form, at = '<H', 2
    for _, offset, _ in layout.counts:
        form += f'{offset + HEADER - at}xI'
        at = offset + HEADER + 4
    picked = (0x0100, *(count for _, _, count in layout.counts))
    fields = {slot.name: property(_getter(slot)) for slot in layout.slots}
    return _Shape(struct.Struct(form).unpack_from, picked, layout.size + HEADER,
                  _record_type(RecordIn, layout, fields | dict.fromkeys(layout.absent, 0)))
