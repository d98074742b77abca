"""Where the fields of a serialised message lie: one walk for loops, bags and replays.

CDR puts one field behind the other, each on a multiple of its size; a list or a text begins with
its count. So the counts of a message tell where all its numbers are. `record` reads and writes
one message at a time by that, `Columns` thousands at once: messages of one stream look alike, so
one of them shows where the numbers lie, and all that agree with it are cut at once. Only bytes
that mean something are compared: what lies between two fields (padding) and behind the last one is
whatever the sender's memory held.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
import re
import struct
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from armsense.errors import ArmsenseError
from armsense.types import Array

ORDERS = {b'\x00\x00': '>', b'\x00\x01': '<'}    # of the bytes, by what CDR begins with
HEADER = 4                # [bytes] before the content
TEXT = 's'                # code of a text, which is a list of characters with a closing zero
CHARACTER = 'c'
# Names of definitions, then those that generated classes have for the same.
CODES = {'bool': '?', 'byte': 'B', 'char': 'B', 'int8': 'b', 'uint8': 'B', 'int16': 'h',
         'uint16': 'H', 'int32': 'i', 'uint32': 'I', 'int64': 'q', 'uint64': 'Q', 'float32': 'f',
         'float64': 'd', 'string': TEXT, 'boolean': '?', 'octet': 'B', 'float': 'f', 'double': 'd'}
# Fields that were added at the end of a message: recordings of older versions stop before them.
_ADDED = {'MotorStates': ('time_ns',)}
_TYPE = re.compile(r'(?:sequence<(?P<item>\w+)>|(?P<fixed>\w+)\[(?P<size>\d+)\]|(?P<scalar>\w+))$')
CountOf = Callable[[str, int], int]   # (name of a list, offset of its count) -> items
Column = NDArray[Any]


class BadRecord(ArmsenseError):
    """Bytes that cannot be what their definition says, or a type that is none of numbers."""


class Field(NamedTuple):
    """One field of a message, those of its parts included."""

    name: str
    code: str       # of struct and numpy for one item, or TEXT
    items: int      # as many; -1: a scalar; 0: the message tells how many


STAMP = (Field('stamp_ns', 'i', 2), Field('frame_id', TEXT, -1))   # a `std_msgs/Header`


class MessageType(NamedTuple):
    """Name, such as `MotorStates`, and fields in the order of the bytes."""

    name: str
    fields: tuple[Field, ...]

    @classmethod
    def of(cls, kind: Any) -> MessageType:
        """From a generated class, or as it is; BadRecord: a field is of another kind."""
        if isinstance(kind, MessageType):
            return kind
        fields: list[Field] = []
        for name, type_name in kind.get_fields_and_field_types().items():
            if type_name == 'std_msgs/Header':
                fields += STAMP
                continue
            match = _TYPE.match(type_name)
            item = next((g for g in match.group(1, 2, 4) if g), '') if match else ''
            if CODES.get(item, TEXT) == TEXT or match is None:
                raise BadRecord(
                    f'{kind.__name__}.{name} is a {type_name}; a record holds scalars, arrays of '
                    'scalars and a header: use an ordinary publisher')
            items = 0 if match['item'] else int(match['size'] or -1)
            fields.append(Field(name, CODES[item], items))
        return cls(kind.__name__, tuple(fields))


class Slot(NamedTuple):
    """Where one field, or one text of a list, lies behind the encapsulation."""

    name: str
    code: str    # of struct and numpy for one item
    offset: int  # [byte]
    items: int   # -1: a scalar


class Layout(NamedTuple):
    """Where all fields lie, for one set of counts."""

    type_name: str
    slots: tuple[Slot, ...]
    counts: tuple[tuple[str, int, int], ...]  # (name, offset, items) of what may vary
    size: int  # [byte] behind the encapsulation
    order: str = '<'              # of the bytes, as struct writes it
    absent: tuple[str, ...] = ()  # scalars that an older sender did not know; they read 0

    @classmethod
    def of(cls, kind: MessageType, data: bytes) -> Layout:
        """Of a serialised message; BadRecord: it is cut off, or no CDR."""
        order = ORDERS.get(data[:2])
        if order is None:
            raise BadRecord(f'{kind.name} begins with {data[:2].hex()}, which is no CDR')
        count = struct.Struct(f'{order}I').unpack_from
        try:
            layout = cls.with_counts(kind, lambda _, at: int(count(data, at + HEADER)[0]), order)
        except struct.error:
            raise _cut_off(kind, data) from None
        while layout.size + HEADER > len(data) and layout.slots[-1].name in _ADDED.get(
                kind.name, ()):
            layout = layout._without_last()
        if layout.size + HEADER > len(data):
            raise _cut_off(kind, data)
        return layout

    @classmethod
    def with_counts(cls, kind: MessageType, count_of: CountOf, order: str = '<') -> Layout:
        """For lists, and texts with their closing zero, of the given lengths."""
        slots: list[Slot] = []
        counts: list[tuple[str, int, int]] = []
        at = 0

        def counted(name: str) -> int:
            nonlocal at
            at = _align(at, 4)
            items = count_of(name, at)
            counts.append((name, at, items))
            at += 4
            return items

        def put(name: str, code: str, items: int) -> None:
            nonlocal at
            size = struct.calcsize(code)
            at = _align(at, size) if items else at      # nothing takes no padding either
            slots.append(Slot(name, code, at, items))
            at += size * abs(items)

        for name, code, fixed in kind.fields:
            items = fixed or counted(name)
            if code != TEXT:
                put(name, code, items)
                continue
            for _ in range(abs(items)):
                put(name, CHARACTER, counted(name))
        return cls(kind.name, tuple(slots), tuple(counts), at, order)

    def _without_last(self) -> Layout:
        """As a sender lays it out that does not know the last scalar."""
        *slots, last = self.slots
        end = slots[-1].offset + struct.calcsize(slots[-1].code) * abs(slots[-1].items)
        return self._replace(slots=tuple(slots), size=end, absent=(last.name, *self.absent))


def _align(offset: int, size: int) -> int:
    """The next multiple of `size`."""
    return offset + -offset % size


def _cut_off(kind: MessageType, data: bytes) -> BadRecord:
    return BadRecord(f'{kind.name} is cut off: {len(data)} bytes cannot hold what they announce')


class Columns:
    """Cuts messages that look like the one it was made from."""

    def __init__(self, kind: MessageType, data: bytes) -> None:
        """Look at one message; BadRecord: it is cut off, or no CDR."""
        self.layout = Layout.of(kind, data)
        self._end = HEADER + self.layout.size
        texts = [slot for slot in self.layout.slots if slot.code == CHARACTER]
        spans = [(0, 2), *((HEADER + at, 4) for _, at, _ in self.layout.counts),
                 *((HEADER + slot.offset, slot.items) for slot in texts)]
        # Bytes that say where the others lie, and what they are: order, counts and texts.
        self._fixed = np.concatenate([np.arange(start, start + size) for start, size in spans])
        self._reference = np.frombuffer(data, np.uint8)[self._fixed]
        try:
            self.names = tuple(     # of the joints; empty: not in the message
                data[HEADER + slot.offset:][:slot.items].rstrip(b'\x00').decode()
                for slot in texts if slot.name == 'name')
        except UnicodeDecodeError:
            raise BadRecord(f'{kind.name} has a name that is no text') from None

    def alike(self, batch: Sequence[bytes]) -> NDArray[np.bool_]:
        """Which messages have this layout, (N,)."""
        found = np.array([len(data) >= self._end for data in batch], bool)
        table = self._table([data for data, fits in zip(batch, found, strict=True) if fits])
        found[found] = (table[:, self._fixed] == self._reference).all(axis=1)
        return found

    def cut(self, batch: Sequence[bytes], names: Collection[str] | None = None,
            ) -> dict[str, Column]:
        """Numbers of messages with this layout by field, (N,) of a scalar, else (N, items)."""
        table, columns = self._table(batch), {}
        for name, code, offset, items in self.layout.slots:
            if code == CHARACTER or (names is not None and name not in names):
                continue
            item = np.dtype(code if code == '?' else self.layout.order + code)
            start = HEADER + offset
            block = np.ascontiguousarray(table[:, start:start + item.itemsize * abs(items)])
            values = block.view(item) if items else np.zeros((len(batch), 0), item)
            columns[name] = values[:, 0] if items < 0 else values
        return columns

    def _table(self, batch: Sequence[bytes]) -> NDArray[np.uint8]:
        """Bytes that are read, (N, end)."""
        joined = b''.join(data[:self._end] for data in batch)
        return np.frombuffer(joined, np.uint8).reshape(len(batch), self._end)


def seconds(columns: dict[str, Column]) -> Array:
    """Stamps of messages with a header [s], (N,)."""
    sec, nanosec = columns['stamp_ns'].astype(float).T
    return np.asarray(sec + 1e-9 * nanosec)


def nanoseconds(columns: dict[str, Column]) -> NDArray[np.int64]:
    """Stamps of messages with a header [ns], (N,)."""
    sec, nanosec = columns['stamp_ns'].astype(np.int64).T
    return np.asarray(sec * 10**9 + nanosec)
