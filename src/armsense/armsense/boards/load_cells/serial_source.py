"""Readings from a microcontroller on a serial line (see `line_format`)."""

from __future__ import annotations

from glob import glob
from typing import Any

from armsense.boards.load_cells.line_format import LineReader
from armsense.boards.load_cells.reading import Counts
from armsense.boards.transport.base import TransportUnavailable

CHUNK = 4096   # [byte]


class SerialSource:
    """Newest line of a serial port; a port that disappears is opened again."""

    def __init__(self, port: str, baud_rate: int, cells: int) -> None:
        """Open a port.

        Args:
            port: Such as /dev/ttyACM0.
            baud_rate: [bit/s].
            cells: Number of cells in a line.

        Raises:
            TransportUnavailable: The port cannot be opened.
        """
        self._port, self._baud_rate = port, baud_rate
        self._reader = LineReader(cells)
        self._serial: Any = _open(port, baud_rate)
        self._lost = 0

    @property
    def problems(self) -> dict[str, int]:
        """See CellSource."""
        return {**self._reader.problems, 'lost connections': self._lost}

    def read(self) -> Counts | None:
        """See CellSource."""
        if self._serial is None:
            self._reopen()
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
        """See CellSource."""
        if self._serial is not None:
            self._serial.close()
            self._serial = None

    def _reopen(self) -> None:
        try:
            self._serial = _open(self._port, self._baud_rate)
        except TransportUnavailable:
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
