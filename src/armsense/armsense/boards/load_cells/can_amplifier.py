"""A load-cell amplifier on CAN.

Message `base_id + k` carries cells 2k+1 and 2k+2 as two signed 32-bit numbers, little endian,
eight bytes. 0x80000000 means "not connected", 0x7FFFFFFF "at the end of the range". An odd last
cell is followed by "not connected". All messages of a set follow each other; the set is complete
with the highest identifier.
"""

from __future__ import annotations

import struct
from typing import Any

from armsense.boards.load_cells.reading import Counts
from armsense.errors import ArmsenseError

NOT_CONNECTED = -(2**31)
END_OF_RANGE = 2**31 - 1
DEFAULT_ID = 0x2C0


class BadMessage(ArmsenseError):
    """A CAN message that is no reading."""


def encode_pair(first: int | None, second: int | None) -> bytes:
    """Data of one message."""
    return struct.pack('<ii', *(NOT_CONNECTED if v is None else v for v in (first, second)))


def parse_pair(data: bytes) -> tuple[int | None, int | None]:
    """Counts of two cells; None: not connected.

    Raises:
        BadMessage: Not eight bytes.
    """
    if len(data) != 8:
        raise BadMessage(f'a reading of {len(data)} bytes; it must have 8')
    first, second = struct.unpack('<ii', data)
    return (None if first == NOT_CONNECTED else first, None if second == NOT_CONNECTED else second)


class CanSource:
    """Sets of readings out of a python-can bus."""

    def __init__(self, bus: Any, cells: int, base_id: int = DEFAULT_ID) -> None:
        """Read from a bus.

        Args:
            bus: A `can.BusABC`.
            cells: Number of cells.
            base_id: Identifier of cells 1 and 2.
        """
        self._bus = bus
        self._cells = cells
        self._base = base_id
        self._messages = (cells + 1) // 2
        self._set: dict[int, tuple[int | None, int | None]] = {}
        self.problems = {'bad messages': 0, 'incomplete sets': 0}

    def read(self) -> Counts | None:
        """The newest complete set; None: none since the last call."""
        newest = None
        while (message := self._bus.recv(0.0)) is not None:
            newest = self.take(message.arbitration_id, bytes(message.data),
                               bool(message.is_error_frame)) or newest
        return newest

    def take(self, identifier: int, data: bytes, error: bool = False) -> Counts | None:
        """One message; the set that it completes."""
        place = identifier - self._base
        if error or not 0 <= place < self._messages:
            return None
        try:
            self._set[place] = parse_pair(data)
        except BadMessage:
            self.problems['bad messages'] += 1
            return None
        if place < self._messages - 1:
            return None
        pairs, self._set = self._set, {}
        if len(pairs) < self._messages:
            self.problems['incomplete sets'] += 1
            return None
        values = [value for place in range(self._messages) for value in pairs[place]][:self._cells]
        return Counts(tuple(values), tuple(value == END_OF_RANGE for value in values))

    def close(self) -> None:
        """Leave the bus."""
        self._bus.shutdown()
