r"""Readings as lines of text, from a microcontroller on a serial line.

    LC,<seq>,<cell 1>,<cell 2>,...*<crc>\n

- `seq`: 0 ... 65535, one more with every line; gaps show lost lines.
- a cell: decimal counts with sign; `-` where its converter did not answer, `+` where it is at the
  end of its range.
- `crc`: CRC-16/CCITT-FALSE (polynomial 0x1021, start 0xFFFF) of all characters before `*`, four
  hexadecimal digits.

Example: `LC,17,8388,-120,-,99*` and its checksum. A carriage return before the newline is allowed.
"""

import binascii
from contextlib import suppress
from glob import glob
import re
from typing import Any

from armsense.boards.load_cells.cell_monitor import Counts
from armsense.errors import ArmsenseError, TransportUnavailable

MAX_LINE = 512        # [byte] longer lines are noise
MAX_COUNT = 2**31
SEQ_MODULUS = 65536
_LINE = re.compile(rb'LC,(\d{1,5})((?:,(?:[+-]?\d{1,10}|[+-]))+)\*([0-9A-Fa-f]{4})\r?')


class BadLine(ArmsenseError):
    """Bytes that are no reading; the text says why."""


def checksum(body: bytes) -> int:
    """CRC-16/CCITT-FALSE."""
    return binascii.crc_hqx(body, 0xFFFF)


def parse_line(line: bytes, cells: int | None = None) -> Counts:
    """Readings of one line without its newline; without `cells` it may have any number of them."""
    match = _LINE.fullmatch(line)
    if match is None:
        raise BadLine(f'not a reading: {line[:40]!r}')
    body = line[:line.index(b'*')]
    if checksum(body) != int(match[3], 16):
        raise BadLine(f'checksum {match[3].decode()} is not {checksum(body):04X}')
    seq = int(match[1])
    words = match[2][1:].split(b',')
    if seq >= SEQ_MODULUS or (cells is not None and len(words) != cells):
        raise BadLine(f'{len(words)} cells and counter {seq}; '
                      f'expected {cells} cells and a counter below {SEQ_MODULUS}')
    values = tuple(None if word in (b'-', b'+') else int(word) for word in words)
    if any(value is not None and abs(value) > MAX_COUNT for value in values):
        raise BadLine(f'a cell of more than {MAX_COUNT} counts')
    return Counts(values, tuple(word == b'+' for word in words), seq)


class LineReader:
    """Lines out of a stream that may begin anywhere and may contain anything."""

    def __init__(self, cells: int | None = None) -> None:
        self.problems = {'bad lines': 0, 'lost lines': 0}
        self.last_error = ''
        self._cells = cells
        self._buffer = b''
        self._seq: int | None = None
        self._synchronised = False    # the first piece of a stream is usually half a line

    def feed(self, data: bytes) -> list[Counts]:
        """All complete readings, oldest first."""
        self._buffer += data
        *lines, self._buffer = self._buffer.split(b'\n')
        if len(self._buffer) > MAX_LINE:
            self._buffer = self._buffer[-MAX_LINE:]
            self._complain('no end of line')
        found = []
        for line in lines:
            try:
                counts = parse_line(line, self._cells)
            except BadLine as error:
                if self._synchronised and line:
                    self._complain(str(error))
                self._synchronised = True
                continue
            self._synchronised = True
            if counts.seq is not None and self._seq is not None:
                self.problems['lost lines'] += (counts.seq - self._seq - 1) % SEQ_MODULUS
            self._seq = counts.seq
            found.append(counts)
        return found

    def _complain(self, error: str) -> None:
        self.problems['bad lines'] += 1
        self.last_error = error


CHUNK = 4096   # [byte]


class SerialSource:
    """Newest line of a serial port; a port that disappears is opened again."""

    def __init__(self, port: str, baud_rate: int, cells: int) -> None:
        """Open a port such as /dev/ttyACM0 at so many [bit/s]."""
        self._port, self._baud_rate = port, baud_rate
        self._reader = LineReader(cells)
        self._serial: Any = _open(port, baud_rate)
        self._lost = 0

    @property
    def problems(self) -> dict[str, object]:
        return {**self._reader.problems, 'lost connections': self._lost,
                'last bad line': self._reader.last_error}

    def read(self) -> Counts | None:
        if self._serial is None:
            with suppress(TransportUnavailable):
                self._serial = _open(self._port, self._baud_rate)
            return None
        try:
            data = self._serial.read(CHUNK)
        except OSError:
            self._lost += 1
            self.close()
            return None
        found = self._reader.feed(data) if data else []
        return found[-1] if found else None

    def close(self) -> None:
        if self._serial is not None:
            self._serial.close()
            self._serial = None


def _open(port: str, baud_rate: int) -> Any:
    import serial
    try:
        return serial.Serial(port, baud_rate, timeout=0, exclusive=True)
    except (OSError, ValueError) as error:
        present = ', '.join(sorted(glob('/dev/ttyACM*') + glob('/dev/ttyUSB*'))) or 'none'
        raise TransportUnavailable(
            f'cannot open serial port {port} ({error}); present: {present}. Add the user to group '
            'dialout') from error
