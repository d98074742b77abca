"""The 34-byte SPI frame of udriver and uomodri boards, and its 38-byte extension.

A frame is a row of big-endian 16-bit words, the same length in both directions (full duplex)::

    byte   command                  sensor
    0      mode u16                 status u16
    2                               timestamp u16 [ms]
    2/4    position 1, 2 i32        position 1, 2 i32
    10/12  velocity 1, 2 i16        velocity 1, 2 i16
    14/16  current 1, 2 i16         current 1, 2 i16
    18/20  kp 1, 2 u16              resistance 1, 2 u16
    22/24  kd 1, 2 u16              adc 1, 2 u16
    26     current limits 2 x u8
    28     [ki 1, 2 u16]            [power 1, 2 i16]        only laas_inhouse
    28/32  index u16                last accepted index u16
    30/34  CRC, high word first     CRC, low word first

Values that do not fit saturate, because a wrapped reference would send the motor the other way;
a current limit is rounded down, because a limit must hold. NaN and infinity raise.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, nan
from struct import error as StructError
from struct import Struct
from typing import Any

from armsense_driver.protocol.crc import crc_bytes, crc_bytes_low_word_first
from armsense_driver.protocol.errors import (
    AllOnes,
    AllZeros,
    BadCrc,
    NonFiniteValue,
    SwappedCrc,
    WrongLength,
)
from armsense_driver.protocol.messages import (
    BoardCommand,
    BoardState,
    BoardStatus,
    build,
    MotorCommand,
    MotorState,
)
from armsense_driver.protocol.units import (
    CURRENT_PER_A,
    KD_PER_A_S_RAD,
    KI_PER_A_RAD_S,
    KP_PER_A_RAD,
    LIMIT_PER_A,
    POSITION_PER_RAD,
    POWER_PER_W,
    RESISTANCE_PER_OHM,
    VELOCITY_PER_RAD_S,
)

_COMMAND = Struct('>HiihhhhHHHHBBH')
_SENSOR = Struct('>HHiihhhhHHHHH')
_COMMAND_EXTENDED = Struct('>HiihhhhHHHHBBHHH')
_SENSOR_EXTENDED = Struct('>HHiihhhhHHHHhhH')
_CRC_LENGTH = 4
_RANGES = {
    'i': (-0x80000000, 0x7FFFFFFF), 'h': (-0x8000, 0x7FFF), 'H': (0, 0xFFFF), 'B': (0, 0xFF)}


@dataclass(frozen=True)
class SpiProtocol:
    """One dialect of the SPI frame; `encode_…`/`decode_…` are pure functions on bytes."""

    name: str
    limit_high_byte_is_motor_1: bool      # uomodri yes, udriver no
    zero_limit: float                     # [A] what a current-limit byte of 0 means to the board
    has_ki_and_power: bool = False
    min_interval: float = 0.0             # [s] shortest time between two frames
    verified: bool = True                 # the layout was read from a published firmware
    description: str = ''

    @property
    def frame_length(self) -> int:
        """Length of a frame in bytes, in both directions."""
        return 38 if self.has_ki_and_power else 34

    def encode_command(self, command: BoardCommand, index: int | None = None) -> bytes:
        """Frame that tells the board `command`.

        Args:
            command: what to tell.
            index: replaces the command's own index.

        Raises:
            NonFiniteValue: a field is NaN or infinite.
        """
        one, two = command.motors
        try:
            fields = [
                _mode(command),
                round(one[0] * POSITION_PER_RAD), round(two[0] * POSITION_PER_RAD),
                round(one[1] * VELOCITY_PER_RAD_S), round(two[1] * VELOCITY_PER_RAD_S),
                round(one[2] * CURRENT_PER_A), round(two[2] * CURRENT_PER_A),
                round(one[3] * KP_PER_A_RAD), round(two[3] * KP_PER_A_RAD),
                round(one[4] * KD_PER_A_S_RAD), round(two[4] * KD_PER_A_S_RAD),
                *self._limit_bytes(one[5], two[5])]
            if self.has_ki_and_power:
                fields += (round(one[6] * KI_PER_A_RAD_S), round(two[6] * KI_PER_A_RAD_S))
        except (ValueError, OverflowError) as error:
            raise _non_finite(command.motors) from error
        fields.append((command.index if index is None else index) & 0xFFFF)
        layout = _COMMAND_EXTENDED if self.has_ki_and_power else _COMMAND
        body = _pack_saturated(layout, fields)
        return body + crc_bytes(body)

    def decode_command(self, frame: bytes) -> BoardCommand:
        """What a board reads in `frame`.

        Raises:
            FrameError: the frame is damaged; its subclass says how.
        """
        body = self._checked_body(frame, low_word_first=False)
        ki_1 = ki_2 = 0.0
        if self.has_ki_and_power:
            (mode, p_1, p_2, v_1, v_2, i_1, i_2, kp_1, kp_2, kd_1, kd_2, high, low,
             ki_1, ki_2, index) = _COMMAND_EXTENDED.unpack(body)
        else:
            (mode, p_1, p_2, v_1, v_2, i_1, i_2, kp_1, kp_2, kd_1, kd_2, high, low,
             index) = _COMMAND.unpack(body)
        limit_1, limit_2 = (high, low) if self.limit_high_byte_is_motor_1 else (low, high)
        motors = (
            build(MotorCommand, (
                p_1 / POSITION_PER_RAD, v_1 / VELOCITY_PER_RAD_S, i_1 / CURRENT_PER_A,
                kp_1 / KP_PER_A_RAD, kd_1 / KD_PER_A_S_RAD,
                limit_1 / LIMIT_PER_A if limit_1 else self.zero_limit, ki_1 / KI_PER_A_RAD_S)),
            build(MotorCommand, (
                p_2 / POSITION_PER_RAD, v_2 / VELOCITY_PER_RAD_S, i_2 / CURRENT_PER_A,
                kp_2 / KP_PER_A_RAD, kd_2 / KD_PER_A_S_RAD,
                limit_2 / LIMIT_PER_A if limit_2 else self.zero_limit, ki_2 / KI_PER_A_RAD_S)),
        )
        return build(BoardCommand, (
            mode & 0x8000 != 0, motors, mode & 0xFF, index,
            (mode & 0x4000 != 0, mode & 0x2000 != 0),
            (mode & 0x0800 != 0, mode & 0x0400 != 0), mode & 0x1000 != 0))

    def encode_state(self, state: BoardState) -> bytes:
        """Frame in which a board answers `state` (the emulated board's side)."""
        status, timestamp_ms, (one, two), last_index = state
        try:
            fields = [
                status & 0xFFFF, timestamp_ms & 0xFFFF,
                round(one[0] * POSITION_PER_RAD), round(two[0] * POSITION_PER_RAD),
                round(one[1] * VELOCITY_PER_RAD_S), round(two[1] * VELOCITY_PER_RAD_S),
                round(one[2] * CURRENT_PER_A), round(two[2] * CURRENT_PER_A),
                round(one[3] * RESISTANCE_PER_OHM), round(two[3] * RESISTANCE_PER_OHM),
                one[4], two[4]]
            if self.has_ki_and_power:
                fields += (round(one[5] * POWER_PER_W), round(two[5] * POWER_PER_W))
        except (ValueError, OverflowError) as error:
            raise _non_finite(state.motors) from error
        fields.append(last_index & 0xFFFF)
        layout = _SENSOR_EXTENDED if self.has_ki_and_power else _SENSOR
        body = _pack_saturated(layout, fields)
        return body + crc_bytes_low_word_first(body)

    def decode_state(self, frame: bytes) -> BoardState:
        """What the board answers in `frame`.

        Raises:
            FrameError: the frame is damaged; its subclass says how.
        """
        body = self._checked_body(frame, low_word_first=True)
        power_1 = power_2 = nan
        if self.has_ki_and_power:
            (status, stamp, p_1, p_2, v_1, v_2, i_1, i_2, r_1, r_2, a_1, a_2,
             w_1, w_2, index) = _SENSOR_EXTENDED.unpack(body)
            power_1, power_2 = w_1 / POWER_PER_W, w_2 / POWER_PER_W
        else:
            (status, stamp, p_1, p_2, v_1, v_2, i_1, i_2, r_1, r_2, a_1, a_2,
             index) = _SENSOR.unpack(body)
        motors = (
            build(MotorState, (
                p_1 / POSITION_PER_RAD, v_1 / VELOCITY_PER_RAD_S, i_1 / CURRENT_PER_A,
                r_1 / RESISTANCE_PER_OHM, a_1, power_1)),
            build(MotorState, (
                p_2 / POSITION_PER_RAD, v_2 / VELOCITY_PER_RAD_S, i_2 / CURRENT_PER_A,
                r_2 / RESISTANCE_PER_OHM, a_2, power_2)),
        )
        return build(BoardState, (BoardStatus(status), stamp, motors, index))

    def _limit_bytes(self, limit_1: float, limit_2: float) -> tuple[int, int]:
        """The two limit bytes in wire order, never the 0 that would mean `zero_limit`."""
        byte_1, byte_2 = int(limit_1 * LIMIT_PER_A), int(limit_2 * LIMIT_PER_A)
        if byte_1 <= 0 or byte_2 <= 0:
            least = 1 if self.zero_limit else 0
            byte_1, byte_2 = max(byte_1, least), max(byte_2, least)
        return (byte_1, byte_2) if self.limit_high_byte_is_motor_1 else (byte_2, byte_1)

    def _checked_body(self, frame: bytes, low_word_first: bool) -> bytes:
        length = 38 if self.has_ki_and_power else 34
        if len(frame) != length:
            raise WrongLength(len(frame), length)
        body, crc = frame[:-_CRC_LENGTH], frame[-_CRC_LENGTH:]
        expected = crc_bytes(body)
        if low_word_first:
            expected = expected[2:] + expected[:2]
        if crc == expected:
            return body
        if not any(frame):
            raise AllZeros(f'{length} bytes of 0x00: board without power or line held low')
        if frame == b'\xff' * length:
            raise AllOnes(f'{length} bytes of 0xff: board absent or not selected')
        if crc == expected[2:] + expected[:2]:
            raise SwappedCrc(f'CRC words exchanged: got {crc.hex()}; expected {expected.hex()}')
        raise BadCrc(f'CRC {crc.hex()}; expected {expected.hex()}')


def _mode(command: BoardCommand) -> int:
    (enable, _, timeout_ms, _, (enable_1, enable_2), (offset_1, offset_2),
     rollover_error) = command
    return (
        (0x8000 if enable else 0) | (0x4000 if enable_1 else 0) | (0x2000 if enable_2 else 0)
        | (0x1000 if rollover_error else 0) | (0x0800 if offset_1 else 0)
        | (0x0400 if offset_2 else 0)
        | (timeout_ms if 0 <= timeout_ms <= 255 else 255 if timeout_ms > 0 else 0))


def _pack_saturated(layout: Struct, fields: list[int]) -> bytes:
    """Pack `fields`; those that do not fit take the nearest value that does.

    The first attempt costs nothing extra in the usual case that everything fits.
    """
    try:
        return layout.pack(*fields)
    except StructError:
        codes = layout.format[1:]
        ranges = (_RANGES[code] for code in codes)
        return layout.pack(*(min(max(field, low), high) for field, (low, high) in zip(
            fields, ranges, strict=True)))


def _non_finite(motors: tuple[Any, Any]) -> NonFiniteValue:
    """The error that names the first field that is not a finite number."""
    for number, motor in enumerate(motors, start=1):
        for field, value in motor._asdict().items():
            if not isfinite(value):
                return NonFiniteValue(f'motor {number} {field}', value)
    return NonFiniteValue('timeout_ms', nan)
