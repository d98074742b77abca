"""Messages of the ODRI CAN firmware (`udriver_can`): 1 Mbit/s, 11-bit ids, Q24 pairs.

The board takes quadrature currents only, so the host closes the position and velocity loops. There
is no node id: one bus per board.

==========  ==========  ===========================================================================
id          direction   payload
==========  ==========  ===========================================================================
0x000       to board    i32 value, u32 command code
0x005       to board    iq reference 1, 2 [A]
0x010       from board  status, 1 byte, 1 Hz
0x020       from board  iq 1, 2 [A]
0x030       from board  position 1, 2 [turn]
0x040       from board  velocity 1, 2 [krpm]
0x050       from board  adc 1, 2 [1]
0x060       from board  index position [turn], motor number u8; on event
==========  ==========  ===========================================================================
"""

from enum import IntEnum
from math import isfinite
from struct import Struct
from typing import NamedTuple

from armsense.boards.protocol.messages import (
    BoardStatus,
    KRPM,
    NonFiniteValue,
    Q24,
    TURN,
    WrongLength,
)

ID_COMMAND = 0x000
ID_CURRENT_REFERENCE = 0x005
ID_STATUS = 0x010
ID_CURRENT = 0x020
ID_POSITION = 0x030
ID_VELOCITY = 0x040
ID_ADC = 0x050
ID_INDEX = 0x060

# Messages with one value per motor and the unit that they count in: A, rad, rad/s, share.
UNITS = {ID_CURRENT_REFERENCE: 1.0, ID_CURRENT: 1.0, ID_POSITION: TURN, ID_VELOCITY: KRPM,
         ID_ADC: 1.0}
STREAM_IDS = (ID_CURRENT, ID_POSITION, ID_VELOCITY, ID_ADC)

_PAIR = Struct('>ii')
_COMMAND = Struct('>iI')
_INDEX = Struct('>iB')


class CommandCode(IntEnum):
    """Second word of a message with id 0x000."""

    SYSTEM_ENABLE = 1
    MOTOR_1_ENABLE = 2
    MOTOR_2_ENABLE = 3
    SEND_CURRENT = 12
    SEND_POSITION = 13
    SEND_VELOCITY = 14
    SEND_ADC = 15
    SEND_INDEX = 16
    SEND_ALL = 20
    RECEIVE_TIMEOUT_MS = 30
    ROLLOVER_ERROR = 31


class IndexEvent(NamedTuple):
    """Payload of id 0x060: where the index pulse of a motor was seen."""

    position: float      # [rad]
    motor: int           # 0 or 1


def encode_command(code: CommandCode, value: int) -> bytes:
    """Payload that sets `code` to `value`."""
    return _COMMAND.pack(value, code)


def decode_command(payload: bytes) -> tuple[int, int]:
    """Command code and value; unknown codes are left to the board, which ignores them."""
    value, code = _unpack(_COMMAND, payload)
    return code, value


def encode_pair(identifier: int, one: float, two: float) -> bytes:
    """Payload of a message of this id with the values of both motors, in SI units."""
    unit = UNITS[identifier]
    return _PAIR.pack(_q24(one / unit, 'motor 1'), _q24(two / unit, 'motor 2'))


def decode_pair(identifier: int, payload: bytes) -> tuple[float, float]:
    """Values of both motors in a message of this id, in SI units."""
    one, two = _unpack(_PAIR, payload)
    unit = UNITS[identifier]
    return one / Q24 * unit, two / Q24 * unit


def encode_status(status: BoardStatus) -> bytes:
    """Status byte; of the error code only three bits fit."""
    (enabled_1, enabled_2), (ready_1, ready_2) = status.motor_enabled, status.motor_ready
    return bytes([
        status.system_enabled | enabled_1 << 1 | ready_1 << 2 | enabled_2 << 3 | ready_2 << 4
        | (status & 0x7) << 5])


def decode_status(payload: bytes) -> BoardStatus:
    """The status byte as the status word that SPI boards use (index bits stay 0)."""
    if len(payload) != 1:
        raise WrongLength(len(payload), 1)
    byte = payload[0]
    return BoardStatus.build(
        system=bool(byte & 0x01), enabled=(bool(byte & 0x02), bool(byte & 0x08)),
        ready=(bool(byte & 0x04), bool(byte & 0x10)), error=byte >> 5)


def encode_index(event: IndexEvent) -> bytes:
    """Payload of an index event; motors count from 0 here and on the wire."""
    return _INDEX.pack(_q24(event.position / TURN, 'position'), event.motor)


def decode_index(payload: bytes) -> IndexEvent:
    """Where which motor met its index pulse."""
    position, motor = _unpack(_INDEX, payload)
    return IndexEvent(position / Q24 * TURN, motor)


def _q24(value: float, name: str) -> int:
    if not isfinite(value):
        raise NonFiniteValue(name, value)
    return min(max(round(value * Q24), -0x80000000), 0x7FFFFFFF)


def _unpack(layout: Struct, payload: bytes) -> tuple[int, int]:
    if len(payload) != layout.size:
        raise WrongLength(len(payload), layout.size)
    one, two = layout.unpack(payload)
    return one, two
