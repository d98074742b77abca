"""Numbers out of serialised messages, thousands at a time.

Messages of one stream look alike: the same names, the same lengths. One of them is walked
through, field by field of its definition, to find where its numbers lie; all that agree with it
are cut into columns at once. Only bytes that mean something are compared: what lies between two
fields (padding) and behind the last one is whatever the sender's memory held.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import struct
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rosbags.interfaces import Nodetype, Typestore

from armsense.errors import ArmsenseError
from armsense.types import Array

ORDERS = {b'\x00\x00': '>', b'\x00\x01': '<'}    # by the encapsulation that CDR begins with
HEADER = 4                # [bytes] before the content
JOINT_STATE = 'sensor_msgs/msg/JointState'
MOTOR_STATES = 'armsense_msgs/msg/MotorStates'
CODES = {'bool': '?', 'octet': 'B', 'char': 'B', 'byte': 'B', 'int8': 'b', 'uint8': 'B',
         'int16': 'h', 'uint16': 'H', 'int32': 'i', 'uint32': 'I', 'int64': 'q', 'uint64': 'Q',
         'float32': 'f', 'float64': 'd'}


class Damaged(Exception):
    """A message that cannot be what its definition says; the text tells why."""


class Field(NamedTuple):
    """One field of a message, those of its parts included."""

    name: str
    kind: str       # of one item: `float64`, `string`
    items: int      # as many; -1: a scalar; 0: the message tells how many


def fields_of(store: Typestore, kind: str) -> list[Field]:
    """Fields in the order of the bytes.

    Raises:
        ArmsenseError: One of them is neither number nor text nor a list of these.
    """
    fields: list[Field] = []
    detail: Any
    for name, (node, detail) in store.get_msgdef(kind).fields:
        if node == Nodetype.NAME:
            fields += fields_of(store, detail)
            continue
        item, items = (detail, -1) if node == Nodetype.BASE else (detail[0][1], detail[1])
        if node == Nodetype.SEQUENCE:
            items = 0       # what the definition gives is the most that there may be
        if item[0] not in CODES and item[0] != 'string':
            raise ArmsenseError(f'{kind}: its field {name} is neither of numbers nor of texts')
        fields.append(Field(name, item[0], items))
    return fields


@dataclass(frozen=True)
class Layout:
    """Where the numbers of a message lie."""

    order: str                             # of the bytes, as struct writes it
    end: int                               # behind the last field [bytes]
    arrays: dict[str, tuple[int, int]]     # lists of float64: first byte, count of numbers
    scalars: dict[str, tuple[int, str]]    # first byte, code of the number
    names: tuple[str, ...]                 # of the joints; empty: not in the message
    fixed: NDArray[np.intp]                # bytes that say where the others lie: counts and texts
    reference: NDArray[np.uint8]           # what they are

    @classmethod
    def of(cls, fields: Sequence[Field], data: bytes) -> Layout:
        """Walk through a message.

        Raises:
            Damaged: It is cut off, or no CDR.
        """
        if data[:2] not in ORDERS:
            raise Damaged(f'it begins with {data[:2].hex()}, which is no CDR')
        cursor = _Cursor(data, ORDERS[data[:2]])
        arrays: dict[str, tuple[int, int]] = {}
        scalars: dict[str, tuple[int, str]] = {}
        texts: dict[str, tuple[str, ...]] = {}
        try:
            for field in fields:
                count = cursor.count() if field.items == 0 else abs(field.items)
                if field.kind == 'string':
                    texts[field.name] = tuple(cursor.text() for _ in range(count))
                    continue
                place = cursor.skip(CODES[field.kind], count)
                if field.items < 0:
                    scalars[field.name] = (place, CODES[field.kind])
                elif field.kind == 'float64':
                    arrays[field.name] = (place, count)
        except (struct.error, UnicodeDecodeError) as error:
            raise Damaged(f'{len(data)} bytes cannot hold what they announce') from error
        fixed = np.array(cursor.fixed, np.intp)
        return cls(cursor.order, cursor.place, arrays, scalars, texts.get('name', ()), fixed,
                   np.frombuffer(data, np.uint8)[fixed])

    def alike(self, batch: Sequence[bytes]) -> NDArray[np.bool_]:
        """Which messages have this layout, (N,)."""
        long_enough = np.array([len(data) >= self.end for data in batch])
        table = self._table([data for data, fits in zip(batch, long_enough, strict=True) if fits])
        order = next(key for key, value in ORDERS.items() if value == self.order)
        same = (table[:, self.fixed] == self.reference).all(axis=1)
        same &= (table[:, :2] == np.frombuffer(order, np.uint8)).all(axis=1)
        long_enough[long_enough] = same
        return long_enough

    def columns(self, batch: Sequence[bytes]) -> tuple[Array, dict[str, Array]]:
        """Stamps [s], (N,), and arrays, (N, count) each, of messages with this layout."""
        table = self._table(batch)
        sec, nanosec = (self._numbers(table, *self.scalars[name], 1)[:, 0]
                        for name in ('sec', 'nanosec'))
        return sec + 1e-9 * nanosec, {name: self._numbers(table, start, 'd', count)
                                      for name, (start, count) in self.arrays.items()}

    def monotonic(self, batch: Sequence[bytes]) -> Array | None:
        """Time of the states on their driver's own clock [s], (N,); None: they do not tell."""
        if 'time_ns' not in self.scalars:
            return None
        time = self._numbers(self._table(batch), *self.scalars['time_ns'], 1)[:, 0]
        return 1e-9 * time if time.all() else None

    def _numbers(self, table: NDArray[np.uint8], start: int, code: str, count: int) -> Array:
        size = struct.calcsize(code) * count
        block = np.ascontiguousarray(table[:, start:start + size])
        return block.view(np.dtype(self.order + code)).astype(float)

    def _table(self, batch: Sequence[bytes]) -> NDArray[np.uint8]:
        """Bytes that are read, (N, end)."""
        joined = b''.join(data[:self.end] for data in batch)
        return np.frombuffer(joined, np.uint8).reshape(len(batch), self.end)


class _Cursor:
    """Walks through a message; alignment counts from behind the header."""

    def __init__(self, data: bytes, order: str) -> None:
        self.data, self.order, self.place = data, order, HEADER
        self.fixed: list[int] = []      # bytes of counts and texts

    def skip(self, code: str, count: int) -> int:
        """Go past numbers; returns where they begin. None of them: no padding either."""
        size = struct.calcsize(code)
        if count:
            self.place += -(self.place - HEADER) % size
        start = self.place
        self._go(size * count)
        return start

    def count(self) -> int:
        place = self.skip('I', 1)
        self.fixed += range(place, self.place)
        return int(struct.unpack_from(f'{self.order}I', self.data, place)[0])

    def text(self) -> str:
        length = self.count()
        place = self.place
        self._go(length)
        self.fixed += range(place, self.place)
        return self.data[place:self.place].rstrip(b'\x00').decode()

    def _go(self, size: int) -> None:
        self.place += size
        if self.place > len(self.data):
            raise struct.error('cut off')
