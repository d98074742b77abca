"""Numbers out of serialised messages, thousands at a time.

Messages of one stream look alike: the same names, the same lengths. One of them shows where the
numbers lie; all that agree with it are cut into columns at once. Only bytes that mean something
are compared: what lies between two fields (padding) and behind the last one is whatever the
sender's memory held.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armsense.recordings.cdr import BadRecord, CHARACTER, HEADER, Layout, MessageType
from armsense.types import Array

Column = NDArray[Any]


class Columns:
    """Cuts messages that look like the one it was made from."""

    def __init__(self, kind: MessageType, data: bytes) -> None:
        """Look at one message.

        Raises:
            BadRecord: It is cut off, or no CDR.
        """
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
        """Numbers of messages with this layout by field, (N,) of a scalar, else (N, items).

        Args:
            batch: The messages.
            names: Fields that are wanted; None: all of numbers.
        """
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
