"""Where load-cell readings come from: what the cells are connected to, and what that says.

CAN amplifier. Message `base_id + k` carries cells 2k+1 and 2k+2 as two signed 32-bit numbers,
little endian, eight bytes. 0x80000000 means "not connected", 0x7FFFFFFF "at the end of the range".
An odd last cell is followed by "not connected". All messages of a set follow each other; the set
is complete with the highest identifier.

Analogue-digital converters are read over SPI, one per cell. Both give 24 bits in two's complement;
the two ends of the range mean overload.

HX711: no SPI chip, but it can be clocked by one. Its clock input is wired to the controller's data
output, so that every byte 0xAA is four clock pulses; the answer appears on the data input, each
bit for the two halves of a pulse. 25 pulses read 24 bits, most significant first, and choose
channel A with gain 128; while the data line is high, no reading is ready.

ADS1220: the command RDATA (0x10) is answered by three bytes.

Text lines of a microcontroller: see `serial_source`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
import struct
from typing import Any, Protocol

from armsense.boards.load_cells.cell_monitor import Counts
from armsense.boards.load_cells.serial_source import SerialSource
from armsense.boards.transport.can_bus import open_can_bus
from armsense.boards.transport.link import SpiTransport
from armsense.boards.transport.spi_device import SpidevTransport
from armsense.errors import ArmsenseError
from armsense.schema import check_known, quantity

NOT_CONNECTED = -(2**31)
END_OF_RANGE = 2**31 - 1
DEFAULT_ID = 0x2C0
LOWEST, HIGHEST = -(1 << 23), (1 << 23) - 1
HX711_REQUEST = b'\xaa' * 6 + b'\x80'     # 25 pulses
ADS1220_REQUEST = b'\x10\x00\x00\x00'


class CellSource(Protocol):
    """Where readings come from."""

    @property
    def problems(self) -> Mapping[str, object]:
        """What went wrong how often since the start, by name; `last bad line` in words."""

    def read(self) -> Counts | None:
        """The newest readings since the last call; None: nothing new."""

    def close(self) -> None:
        """Release the device."""


def parse_pair(data: bytes) -> tuple[int | None, int | None]:
    """Counts of two cells; None: not connected."""
    first, second = struct.unpack('<ii', data)
    return (None if first == NOT_CONNECTED else first, None if second == NOT_CONNECTED else second)


class CanSource:
    """Sets of readings out of a python-can bus."""

    def __init__(self, bus: Any, cells: int, base_id: int = DEFAULT_ID) -> None:
        """Read so many cells from a `can.BusABC`; `base_id` is the identifier of cells 1 and 2."""
        self._bus = bus
        self._cells = cells
        self._base = base_id
        self._messages = (cells + 1) // 2
        self._set: dict[int, tuple[int | None, int | None]] = {}
        self.problems = {'bad messages': 0, 'incomplete sets': 0}

    def read(self) -> Counts | None:
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
        except struct.error:
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
        self._bus.shutdown()


def decode_hx711(reply: bytes) -> int | None:
    """Answer to HX711_REQUEST; the second half of each pulse carries the bit."""
    if len(reply) != len(HX711_REQUEST) or reply == b'\xff' * len(reply):
        return None               # the line stays high: nothing ready, or nothing connected
    bits = int.from_bytes(reply, 'big')
    # The chip shows the next bit within 0.1 us of the rising edge: the low half is settled.
    size = 8 * len(reply)
    word = 0
    for pulse in range(24):
        word = word << 1 | (bits >> (size - 2 - 2 * pulse)) & 1
    return int.from_bytes(word.to_bytes(3, 'big'), 'big', signed=True)


def decode_ads1220(reply: bytes) -> int | None:
    """Answer to ADS1220_REQUEST; None: no reading was ready."""
    ready = len(reply) == len(ADS1220_REQUEST)
    return int.from_bytes(reply[1:], 'big', signed=True) if ready else None


CONVERTERS = {'hx711': (HX711_REQUEST, decode_hx711), 'ads1220': (ADS1220_REQUEST, decode_ads1220)}


class SpiSource:
    """One converter per cell, each behind its own SPI transport."""

    def __init__(self, transports: Sequence[SpiTransport], converter: str) -> None:
        check_known('converter', converter, CONVERTERS)
        self._transports = tuple(transports)
        self._request, self._decode = CONVERTERS[converter]
        self.problems = {'not ready': 0}

    def read(self) -> Counts | None:
        values = tuple(self._decode(t.transfer(self._request)) for t in self._transports)
        self.problems['not ready'] += values.count(None)
        if all(value is None for value in values):
            return None
        return Counts(values, tuple(value in (LOWEST, HIGHEST) for value in values))

    def close(self) -> None:
        for transport in self._transports:
            transport.close()


@dataclass(frozen=True, kw_only=True)
class CellWiring:
    """What the load cells are connected to; only what belongs to the source counts."""

    source: str = quantity('serial', choices=('serial', *CONVERTERS, 'can'),
                           text='what the cells are connected to')
    port: str = quantity('/dev/ttyACM0', text='serial port of the microcontroller')
    baud_rate: int = quantity(1000000, unit='bit/s', low=1200, high=10000000,
                              text='of the serial port')
    spi_bus: int = quantity(1, low=0, high=10, text='SPI bus of the converters')
    spi_devices: tuple[int, ...] = quantity(
        (0, 1, 2, 3), text='chip select of each cell, in the order of the layout')
    spi_clock: int = quantity(1000000, unit='Hz', low=1000, high=20000000,
                              text='of the converters')
    can_interface: str = quantity('socketcan', text='python-can interface of the amplifier')
    can_channel: str = quantity('can2', text='CAN channel of the amplifier')
    can_id: int = quantity(DEFAULT_ID, low=0, high=2047, text='identifier of the first two cells')


def open_source(wiring: CellWiring, cells: int) -> CellSource:
    """Counts of so many cells."""
    if wiring.source == 'serial':
        return SerialSource(wiring.port, wiring.baud_rate, cells)
    if wiring.source == 'can':
        bus = open_can_bus(wiring.can_interface, wiring.can_channel)
        return CanSource(bus, cells, wiring.can_id)
    if len(wiring.spi_devices) != cells:
        raise ArmsenseError(f'{len(wiring.spi_devices)} spi_devices for {cells} cells')
    return SpiSource([SpidevTransport(wiring.spi_bus, device, 1, wiring.spi_clock)
                      for device in wiring.spi_devices], wiring.source)
