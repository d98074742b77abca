"""From the bytes of a stream to records, fast for the array lengths seen before."""

from __future__ import annotations

from collections.abc import Callable, Collection
import struct
from typing import Any, NamedTuple

from armsense.errors import ArmsenseError
from armsense_node.loop_record import Layout, place_bytes, record_in, RecordIn

_KNOWN_SHAPES = 8  # of one topic; more of them means that somebody sends garbage


class _Shape(NamedTuple):
    """How to recognise and read messages of one layout."""

    pick: Callable[[bytes], tuple[int, ...]]  # byte order and all array lengths at once
    picked: tuple[int, ...]
    size: int  # [byte] at least
    record_type: type[RecordIn]


class RecordDecoder:
    """Turns serialised messages of one type into records.

    Args:
        msg_type: Message class.
        length: Items that every unbounded array must have; None accepts any.
        optional: Arrays that may also be empty.
    """

    def __init__(
        self, msg_type: Any, length: int | None = None, optional: Collection[str] = (),
    ) -> None:
        self._msg_type = msg_type
        self._length = length
        self._optional = frozenset(optional)
        self._shapes: dict[tuple[tuple[str, int, int], ...], _Shape | None] = {}  # None: refused
        self._last: _Shape | None = None

    def decode(self, data: bytes) -> Any | None:
        """A record, or None for a shape that was refused before.

        Raises:
            ArmsenseError: Not a message of this type, or array lengths that are not the expected
                ones and are seen for the first time.
        """
        last = self._last
        if last is None or len(data) < last.size or last.pick(data) != last.picked:
            layout = place_bytes(self._msg_type, data)
            if layout.counts not in self._shapes:
                self._learn(layout)
            last = self._shapes[layout.counts]
            if last is None:
                return None
            self._last = last
        return last.record_type(data)

    def _learn(self, layout: Layout) -> None:
        if len(self._shapes) >= _KNOWN_SHAPES:
            self._shapes.clear()
        self._shapes[layout.counts] = None
        self._check(layout)
        self._shapes[layout.counts] = _shape(layout)

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
        form += f'{offset + 4 - at}xI'
        at = offset + 8
    picked = (0x0100, *(count for _, _, count in layout.counts))
    return _Shape(struct.Struct(form).unpack_from, picked, layout.size + 4, record_in(layout))
