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

from dataclasses import dataclass, field
from math import isfinite, nan
from typing import Any
from zlib import crc32

from armsense.boards.protocol.messages import (
    AllOnes,
    AllZeros,
    BadCrc,
    BoardCommand,
    BoardState,
    build,
    CURRENT_PER_A,
    FrameError,
    MotorCommand,
    MotorState,
    NonFiniteValue,
    POSITION_PER_RAD,
    POWER_PER_W,
    read_status,
    RESISTANCE_PER_OHM,
    SwappedCrc,
    VELOCITY_PER_RAD_S,
    WrongLength,
)
from armsense.boards.protocol.spi_fields import (
    gain_bytes,
    Gains,
    Layout,
    mode_word,
    read_gains,
    read_mode,
)
from armsense.schema import check_known

# CRC-32/MPEG-2: polynomial 0x04C11DB7, start 0xFFFFFFFF, not reflected, no final xor. `zlib.crc32`
# runs the same polynomial with reflected bits and a final xor. Feeding it bit-reversed bytes and
# reversing its answer therefore gives the unreflected checksum at C speed (about 0.5 us for a
# frame; a table loop in Python needs ten times as long).
_REVERSED = bytes(int(f'{byte:08b}'[::-1], 2) for byte in range(256))


def crc_bytes(data: bytes) -> bytes:
    """CRC-32/MPEG-2 of `data` as four bytes, most significant first."""
    reflected = crc32(data.translate(_REVERSED)) ^ 0xFFFFFFFF
    # Least significant byte first and each byte reversed: all 32 bits reversed.
    return reflected.to_bytes(4, 'little').translate(_REVERSED)


def crc_bytes_low_word_first(data: bytes) -> bytes:
    """CRC-32/MPEG-2 of `data` with its 16-bit words exchanged, as sensor frames carry it."""
    crc = crc_bytes(data)
    return crc[2:] + crc[:2]


def has_crc(frame: bytes) -> bool:
    """Whether the last four bytes are `crc_bytes` of those before them."""
    # A checksum behind its own data leaves the remainder 0; 0xFFFFFFFF is the final xor of it.
    return crc32(frame.translate(_REVERSED)) == 0xFFFFFFFF


def has_crc_low_word_first(frame: bytes) -> bool:
    """Whether the last four bytes are `crc_bytes_low_word_first` of those before them."""
    return has_crc(frame[:-4] + frame[-2:] + frame[-4:-2])


# Blocks of bytes that are converted apart: gains and limits of a command, power in a state.
_COMMAND = Layout('H i i h h h h 10s H')
_SENSOR = Layout('H H i i h h h h H H H H 0s H')
_COMMAND_EXTENDED = Layout('H i i h h h h 14s H')
_SENSOR_EXTENDED = Layout('H H i i h h h h H H H H 4s H')
_POWER = Layout('h h')


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

    frame_length: int = field(init=False)       # [byte] in both directions
    _least_limit: int = field(init=False, repr=False)     # a limit byte of 0 may mean a large one
    _command: Layout = field(init=False, repr=False)
    _sensor: Layout = field(init=False, repr=False)

    def __post_init__(self) -> None:
        extended = self.has_ki_and_power
        vars(self).update(      # once for all: a frozen dataclass has no other way
            frame_length=38 if extended else 34, _least_limit=1 if self.zero_limit else 0,
            _command=_COMMAND_EXTENDED if extended else _COMMAND,
            _sensor=_SENSOR_EXTENDED if extended else _SENSOR)

    def encode_command(self, command: BoardCommand, index: int | None = None) -> bytes:
        """Frame that tells the board `command`, under its own index or the one that is given."""
        (enable, motors, timeout_ms, own_index, motor_enable, compensation,
         rollover_error) = command
        (p_1, v_1, i_1, kp_1, kd_1, limit_1, ki_1), (p_2, v_2, i_2, kp_2, kd_2, limit_2,
                                                     ki_2) = motors
        try:
            return self.pack_command(
                mode_word(enable, timeout_ms, motor_enable, compensation, rollover_error),
                round(p_1 * POSITION_PER_RAD), round(p_2 * POSITION_PER_RAD),
                round(v_1 * VELOCITY_PER_RAD_S), round(v_2 * VELOCITY_PER_RAD_S),
                round(i_1 * CURRENT_PER_A), round(i_2 * CURRENT_PER_A),
                gain_bytes(self.limit_high_byte_is_motor_1, self._least_limit, kp_1, kp_2, kd_1,
                           kd_2, limit_1, limit_2,
                           *((ki_1, ki_2) if self.has_ki_and_power else ())),
                (own_index if index is None else index) & 0xFFFF)
        except (ValueError, OverflowError) as error:
            raise _non_finite(motors) from error

    def pack_command(self, *numbers: Any) -> bytes:
        """Frame of a command whose numbers are in units of the wire; see `unpack_command`."""
        body = self._command.pack(*numbers)
        return body + crc_bytes(body)

    def decode_command(self, frame: bytes) -> BoardCommand:
        """What a board reads in `frame`."""
        mode, p_1, p_2, v_1, v_2, i_1, i_2, gains, index = self.unpack_command(frame)
        enable, timeout_ms, motor_enable, compensation, rollover_error = read_mode(mode)
        gains_1, gains_2 = self.read_gains(gains)
        motors = (
            MotorCommand(
                p_1 / POSITION_PER_RAD, v_1 / VELOCITY_PER_RAD_S, i_1 / CURRENT_PER_A, *gains_1),
            MotorCommand(
                p_2 / POSITION_PER_RAD, v_2 / VELOCITY_PER_RAD_S, i_2 / CURRENT_PER_A, *gains_2))
        return BoardCommand(
            enable, motors, timeout_ms, index, motor_enable, compensation, rollover_error)

    def unpack_command(self, frame: bytes) -> tuple[Any, ...]:
        """The numbers of an intact command as they are on the wire.

        Mode word, positions, velocities and currents of both motors, block of gains, index.
        """
        if len(frame) != self.frame_length or not has_crc(frame):
            raise self._damage(frame, crc_bytes(frame[:-4]))
        return self._command.unpack_from(frame)

    def read_gains(self, block: bytes) -> tuple[Gains, Gains]:
        """What the block of gains and limits says to the two motors."""
        return read_gains(block, self.limit_high_byte_is_motor_1, self.zero_limit)

    def encode_state(self, state: BoardState) -> bytes:
        """Frame in which a board answers `state`."""
        status, timestamp_ms, motors, last_index = state
        (p_1, v_1, i_1, r_1, adc_1, power_1), (p_2, v_2, i_2, r_2, adc_2, power_2) = motors
        try:
            return self.pack_state(
                status & 0xFFFF, timestamp_ms & 0xFFFF,
                round(p_1 * POSITION_PER_RAD), round(p_2 * POSITION_PER_RAD),
                round(v_1 * VELOCITY_PER_RAD_S), round(v_2 * VELOCITY_PER_RAD_S),
                round(i_1 * CURRENT_PER_A), round(i_2 * CURRENT_PER_A),
                round(r_1 * RESISTANCE_PER_OHM), round(r_2 * RESISTANCE_PER_OHM),
                adc_1, adc_2, self.power_bytes(power_1, power_2), last_index & 0xFFFF)
        except (ValueError, OverflowError) as error:
            raise _non_finite(motors) from error

    def pack_state(self, *numbers: Any) -> bytes:
        """Frame of a state whose numbers are in units of the wire; see `unpack_state`."""
        body = self._sensor.pack(*numbers)
        return body + crc_bytes_low_word_first(body)

    def power_bytes(self, power_1: float, power_2: float) -> bytes:
        """Input powers [W] on the wire; nothing where the protocol has no place for them."""
        if not self.has_ki_and_power:
            return b''
        return _POWER.pack(round(power_1 * POWER_PER_W), round(power_2 * POWER_PER_W))

    def decode_state(self, frame: bytes) -> BoardState:
        """What the board answers in `frame`."""
        (status, stamp, p_1, p_2, v_1, v_2, i_1, i_2, r_1, r_2, adc_1, adc_2, power,
         index) = self.unpack_state(frame)
        power_1 = power_2 = nan
        if power:
            power_1, power_2 = (watts / POWER_PER_W for watts in _POWER.unpack_from(power))
        motors = (
            build(MotorState, (
                p_1 / POSITION_PER_RAD, v_1 / VELOCITY_PER_RAD_S, i_1 / CURRENT_PER_A,
                r_1 / RESISTANCE_PER_OHM, adc_1, power_1)),
            build(MotorState, (
                p_2 / POSITION_PER_RAD, v_2 / VELOCITY_PER_RAD_S, i_2 / CURRENT_PER_A,
                r_2 / RESISTANCE_PER_OHM, adc_2, power_2)),
        )
        return build(BoardState, (read_status(status), stamp, motors, index))

    def unpack_state(self, frame: bytes) -> tuple[Any, ...]:
        """The numbers of an intact state as they are on the wire.

        Status word, timestamp, positions, velocities, currents, resistances and auxiliary inputs
        of both motors, block of powers, index of the last accepted command.
        """
        if len(frame) != self.frame_length or not has_crc_low_word_first(frame):
            raise self._damage(frame, crc_bytes_low_word_first(frame[:-4]))
        return self._sensor.unpack_from(frame)

    def _damage(self, frame: bytes, expected: bytes) -> FrameError:
        """What is wrong with a frame that should end with the four bytes `expected`."""
        length, crc = self.frame_length, frame[-4:]
        if len(frame) != length:
            return WrongLength(len(frame), length)
        if not any(frame):
            return AllZeros(f'{length} bytes of 0x00: board without power or line held low')
        if frame == b'\xff' * length:
            return AllOnes(f'{length} bytes of 0xff: board absent or not selected')
        if crc == expected[2:] + expected[:2]:
            return SwappedCrc(f'CRC words exchanged: got {crc.hex()}; expected {expected.hex()}')
        return BadCrc(f'CRC {crc.hex()}; expected {expected.hex()}')


def _non_finite(motors: tuple[Any, Any]) -> NonFiniteValue:
    """The error that names the first field that is not a finite number."""
    for number, motor in enumerate(motors, start=1):
        for name, value in motor._asdict().items():
            if not isfinite(value):
                return NonFiniteValue(f'motor {number} {name}', value)
    return NonFiniteValue('timeout_ms', nan)


SPI_PROTOCOLS = {protocol.name: protocol for protocol in (
    SpiProtocol(name='udriver_spi', limit_high_byte_is_motor_1=False, zero_limit=0.0,
                min_interval=0.7e-3,
                description='Open Dynamic Robot Initiative udriver, 34-byte frame'),
    SpiProtocol(name='uomodri', limit_high_byte_is_motor_1=True, zero_limit=10.0,
                description='LAAS uOmodri, 34-byte frame'),
    SpiProtocol(name='laas_inhouse', limit_high_byte_is_motor_1=True, zero_limit=10.0,
                has_ki_and_power=True, verified=False,
                description='uomodri frame with ki and input power, 38 bytes; our layout, '
                            'unverified on hardware'),
)}


def by_name(name: str) -> SpiProtocol:
    check_known('protocol', name, SPI_PROTOCOLS)
    return SPI_PROTOCOLS[name]
