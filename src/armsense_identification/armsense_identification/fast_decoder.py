"""Numbers out of serialised messages, thousands at a time.

Messages of one stream look alike: the same names, the same lengths. The first one is walked
through to find where its arrays lie; a batch whose other bytes agree with it is cut into columns
without looking at single messages. Everything else is left to the general decoder.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import struct

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
LITTLE = b'\x00\x01'      # encapsulation of little-endian CDR
HEADER = 4                # [bytes] before the content
STAMP = slice(4, 12)      # seconds and nanoseconds
JOINT_STATE = 'sensor_msgs/msg/JointState'
MOTOR_STATES = 'armsense_msgs/msg/MotorStates'
FIELDS = {JOINT_STATE: ('position', 'velocity', 'effort'),
          MOTOR_STATES: ('position', 'velocity', 'current', 'effort', 'joint_position', 'strain')}


@dataclass(frozen=True)
class Layout:
    """Where the arrays of a message lie."""

    kind: str
    size: int                              # of the whole message [bytes]
    arrays: dict[str, tuple[int, int]]     # first byte and count of numbers
    names: tuple[str, ...]                 # of the joints; empty: not in the message
    reference: bytes

    @classmethod
    def of(cls, kind: str, data: bytes) -> Layout | None:
        """Layout of a message; None: not a kind that is known, or not little-endian."""
        if kind not in FIELDS or data[:2] != LITTLE:
            return None
        try:
            return cls._walk(kind, data)
        except (struct.error, UnicodeDecodeError):
            return None

    @classmethod
    def _walk(cls, kind: str, data: bytes) -> Layout:
        cursor = _Cursor(data, HEADER + 8)
        cursor.text()                                      # frame
        names: tuple[str, ...] = ()
        if kind == JOINT_STATE:
            names = tuple(cursor.text() for _ in range(cursor.count()))
        else:
            cursor.align(8)
            cursor.place += 8                              # cycle number
        arrays = {}
        for field in FIELDS[kind]:
            count = cursor.count()
            if count:
                cursor.align(8)
            arrays[field] = (cursor.place, count)
            cursor.place += 8 * count
        if cursor.place > len(data):
            raise struct.error('cut off')
        return cls(kind, len(data), arrays, names, data)

    def columns(self, batch: Sequence[bytes]) -> tuple[Array, dict[str, Array]] | None:
        """Stamps [s], (N,), and arrays, (N, count) each; None: the messages are not alike."""
        if any(len(data) != self.size for data in batch):
            return None
        table = np.frombuffer(b''.join(batch), np.uint8).reshape(len(batch), self.size)
        alike = np.ones(self.size, bool)
        alike[STAMP] = False
        end = 0
        for start, count in self.arrays.values():
            alike[start:start + 8 * count] = False
            end = start + 8 * count
        alike[end:] = False                                # what follows is not read
        if self.kind == MOTOR_STATES:
            first = self.arrays['position'][0]
            alike[first - 16:first - 4] = False            # cycle number and padding
        fixed = np.flatnonzero(alike)
        if not np.array_equal(table[:, fixed], np.broadcast_to(
                np.frombuffer(self.reference, np.uint8)[fixed], (len(batch), len(fixed)))):
            return None
        stamp = np.ascontiguousarray(table[:, STAMP]).view('<u4')
        arrays = {field: np.ascontiguousarray(table[:, start:start + 8 * count]).view('<f8')
                  for field, (start, count) in self.arrays.items()}
        return stamp[:, 0] + 1e-9 * stamp[:, 1], arrays


class _Cursor:
    """Reads the fixed parts of a message; alignment counts from behind the header."""

    def __init__(self, data: bytes, place: int) -> None:
        self.data, self.place = data, place

    def align(self, size: int) -> None:
        self.place += -(self.place - HEADER) % size

    def count(self) -> int:
        self.align(4)
        value = int(struct.unpack_from('<I', self.data, self.place)[0])
        self.place += 4
        return value

    def text(self) -> str:
        length = self.count()
        raw = self.data[self.place:self.place + length]
        self.place += length
        return raw.rstrip(b'\x00').decode()
