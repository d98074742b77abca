"""Analogue-digital converters for load cells that are read over SPI, one per cell.

HX711: no SPI chip, but it can be clocked by one. Its clock input is wired to the controller's data
output, so that every byte 0xAA is four clock pulses; the answer appears on the data input, each
bit for the two halves of a pulse. 25 pulses read 24 bits, most significant first, and choose
channel A with gain 128; while the data line is high, no reading is ready.

ADS1220: the command RDATA (0x10) is answered by three bytes.

Both give 24 bits in two's complement; the two ends of the range mean overload.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from armsense.boards.load_cells.reading import Counts
from armsense.boards.transport.base import SpiTransport
from armsense.errors import UnknownName

LOWEST, HIGHEST = -(1 << 23), (1 << 23) - 1
HX711_REQUEST = b'\xaa' * 6 + b'\x80'     # 25 pulses
ADS1220_REQUEST = b'\x10\x00\x00\x00'


class Converted(NamedTuple):
    """One answer; None: no reading was ready."""

    value: int | None
    saturated: bool


NOT_READY = Converted(None, False)


def signed24(data: bytes) -> int:
    """Three bytes, most significant first, as a number in two's complement."""
    value = int.from_bytes(data, 'big')
    return value - (1 << 24) if value & (1 << 23) else value


def decode_hx711(reply: bytes) -> Converted:
    """Answer to HX711_REQUEST; the second half of each pulse carries the bit."""
    if len(reply) != len(HX711_REQUEST):
        return NOT_READY
    bits = int.from_bytes(reply, 'big')
    # The chip shows the next bit within 0.1 us of the rising edge: the low half is settled.
    size = 8 * len(reply)
    word = 0
    for pulse in range(24):
        word = word << 1 | (bits >> (size - 2 - 2 * pulse)) & 1
    if reply == b'\xff' * len(reply):
        return NOT_READY          # the line stays high: nothing ready, or nothing connected
    return _converted(word.to_bytes(3, 'big'))


def decode_ads1220(reply: bytes) -> Converted:
    """Answer to ADS1220_REQUEST."""
    if len(reply) != len(ADS1220_REQUEST):
        return NOT_READY
    return _converted(reply[1:])


def _converted(data: bytes) -> Converted:
    value = signed24(data)
    return Converted(value, value in (LOWEST, HIGHEST))


CONVERTERS = {'hx711': (HX711_REQUEST, decode_hx711), 'ads1220': (ADS1220_REQUEST, decode_ads1220)}


class SpiSource:
    """One converter per cell, each behind its own SPI transport."""

    def __init__(self, transports: Sequence[SpiTransport], converter: str) -> None:
        """Read these.

        Args:
            transports: In the order of the cells.
            converter: hx711 or ads1220.
        """
        if converter not in CONVERTERS:
            raise UnknownName('converter', converter, CONVERTERS)
        self._transports = tuple(transports)
        self._request, self._decode = CONVERTERS[converter]
        self.problems = {'not ready': 0}

    def read(self) -> Counts | None:
        """Of all cells; None while no converter has anything new."""
        answers = [self._decode(t.transfer(self._request)) for t in self._transports]
        self.problems['not ready'] += sum(a.value is None for a in answers)
        if all(a.value is None for a in answers):
            return None
        return Counts(tuple(a.value for a in answers), tuple(a.saturated for a in answers))

    def close(self) -> None:
        """Release all devices."""
        for transport in self._transports:
            transport.close()
