"""What a microcontroller with load cells says, for tests and fuzzing."""

from __future__ import annotations

from armsense.boards.load_cells.serial_source import checksum, SEQ_MODULUS


def encode_line(seq: int, values: tuple[int | None, ...],
                saturated: tuple[bool, ...] | None = None) -> bytes:
    """The line of one set of readings."""
    ends = saturated or (False,) * len(values)
    cells = ['+' if end else '-' if value is None else str(value)
             for value, end in zip(values, ends, strict=True)]
    body = ','.join(['LC', str(seq % SEQ_MODULUS), *cells]).encode()
    return body + b'*%04X\n' % checksum(body)
