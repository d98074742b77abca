"""What a dual-motor board is told and answers, and what can be wrong with a frame, by name.

Everything is in SI units on the motor side of the gear.

NamedTuples rather than dataclasses: a board cycle makes six of them a thousand times a second, and
they are built four times as fast.
"""

from __future__ import annotations

from enum import IntEnum
from functools import lru_cache
from math import nan, tau
from typing import Any, NamedTuple, Protocol, TypeVar

# Wire units: how many least significant bits make one SI unit. The boards count turns, thousands
# of turns per minute (krpm) and amperes in fixed point.
TURN = tau                    # [rad] one turn
KRPM = 1000.0 * TURN / 60.0   # [rad/s] one krpm

POSITION_PER_RAD = 2.0**24 / TURN          # [LSB/rad] i32, +-128 turns
VELOCITY_PER_RAD_S = 2.0**11 / KRPM        # [LSB s/rad] i16, +-16 krpm
CURRENT_PER_A = 2.0**10                    # [LSB/A] i16, +-32 A
LIMIT_PER_A = 2.0**3                       # [LSB/A] u8, 31.875 A
KP_PER_A_RAD = 2.0**11 * TURN              # [LSB rad/A] u16, 32 A/turn
KD_PER_A_S_RAD = 2.0**10 * KRPM            # [LSB rad/(A s)] u16, 64 A/krpm
RESISTANCE_PER_OHM = 2.0**15               # [LSB/Ohm] u16, 2 Ohm
KI_PER_A_RAD_S = 2.0**7 * TURN             # [LSB rad s/A] u16, 512 A/(turn s); laas_inhouse only
POWER_PER_W = 2.0**6                       # [LSB/W] i16, +-512 W; laas_inhouse only

Q24 = 2.0**24                              # [LSB/1] CAN fixed point, +-128 of any unit

ROLLOVER_TURNS = 128                       # the 32-bit position wraps at +- this many turns

_T = TypeVar('_T')


class _Build(Protocol):
    def __call__(self, kind: type[_T], values: tuple[Any, ...], /) -> _T: ...


_tuple_new: Any = tuple.__new__
build: _Build = _tuple_new     # makes a NamedTuple of all its fields in half the usual time


class BoardError(IntEnum):
    """Error code in the low four bits of the status."""

    NONE = 0
    ENCODER_1 = 1
    RECEIVE_TIMEOUT = 2
    CRITICAL_TEMPERATURE = 3
    POSITION_CONVERSION = 4
    ROLLOVER = 5
    ENCODER_2 = 6
    OTHER = 7
    LINK_FAILURE = 15     # made by the host, never by a board


class MotorCommand(NamedTuple):
    """Reference of one motor: `iq = kp (p_ref - p) + kd (v_ref - v) + ki int(p_ref - p) + ff`."""

    position: float = 0.0        # [rad]
    velocity: float = 0.0        # [rad/s]
    current: float = 0.0         # [A] feed-forward
    kp: float = 0.0              # [A/rad]
    kd: float = 0.0              # [A s/rad]
    current_limit: float = 0.0   # [A] the board clamps |iq| to it
    ki: float = 0.0              # [A/(rad s)] only laas_inhouse carries it


class BoardCommand(NamedTuple):
    """One command frame."""

    enable: bool = False
    motors: tuple[MotorCommand, MotorCommand] = (MotorCommand(), MotorCommand())
    timeout_ms: int = 0                                   # [ms] 1..255, 0 = watchdog off
    index: int = 0  # type: ignore[assignment]            # 16 bit, wraps; hides tuple.index
    motor_enable: tuple[bool, bool] = (True, True)        # has effect only with `enable`
    index_compensation: tuple[bool, bool] = (False, False)
    rollover_error: bool = False                          # error instead of a silent wrap


class BoardStatus(int):
    """Status word of the SPI boards; the CAN status is translated to it."""

    @property
    def system_enabled(self) -> bool:
        return bool(self & 0x8000)

    @property
    def motor_enabled(self) -> tuple[bool, bool]:
        return bool(self & 0x4000), bool(self & 0x1000)

    @property
    def motor_ready(self) -> tuple[bool, bool]:
        return bool(self & 0x2000), bool(self & 0x0800)

    @property
    def index_detected(self) -> tuple[bool, bool]:
        return bool(self & 0x0400), bool(self & 0x0200)

    @property
    def index_toggle(self) -> tuple[bool, bool]:
        return bool(self & 0x0100), bool(self & 0x0080)

    @property
    def error(self) -> BoardError:
        """The error by name; codes without one are `OTHER`."""
        return _ERRORS.get(self & 0xF, BoardError.OTHER)

    @classmethod
    def build(
        cls, *, system: bool = False, enabled: tuple[bool, bool] = (False, False),
        ready: tuple[bool, bool] = (False, False), detected: tuple[bool, bool] = (False, False),
        toggle: tuple[bool, bool] = (False, False), error: int = 0,
    ) -> BoardStatus:
        """Compose the word from its bits."""
        return cls(
            system << 15 | enabled[0] << 14 | ready[0] << 13 | enabled[1] << 12 | ready[1] << 11
            | detected[0] << 10 | detected[1] << 9 | toggle[0] << 8 | toggle[1] << 7
            | (error & 0xF))


@lru_cache(64)
def read_status(word: int) -> BoardStatus:
    """The status of a word; remembered, because it seldom changes."""
    return BoardStatus(word)


_ERRORS = {int(error): error for error in BoardError}


class MotorState(NamedTuple):
    """What a board measures on one motor."""

    position: float = 0.0      # [rad]
    velocity: float = 0.0      # [rad/s]
    current: float = 0.0       # [A] quadrature current
    resistance: float = 0.0    # [Ohm] coil resistance
    adc: int = 0               # [LSB] auxiliary analogue input, 0..65535
    power: float = nan         # [W] electrical input; NaN where the board does not measure it


class BoardState(NamedTuple):
    """One sensor frame."""

    status: BoardStatus = BoardStatus(0)
    timestamp_ms: int = 0                                # [ms] 16 bit, wraps every 65.536 s
    motors: tuple[MotorState, MotorState] = (MotorState(), MotorState())
    last_index: int = 0                                  # index of the last accepted command

    @property
    def is_blank(self) -> bool:
        """The board has accepted no command since power-up (uomodri answers zeros until then)."""
        return not (self.status or self.timestamp_ms or self.last_index)


class ProtocolError(ValueError):
    """Base of all protocol errors."""


class NonFiniteValue(ProtocolError):
    """NaN or infinity where the wire needs a number: refused, since no saturation is right."""

    def __init__(self, field: str, value: float) -> None:
        super().__init__(f'{field} = {value!r}; valid: any finite number')


class FrameError(ProtocolError):
    """A received frame that cannot be believed."""


class WrongLength(FrameError):
    """A short or long frame."""

    def __init__(self, length: int, expected: int) -> None:
        super().__init__(f'{length} bytes; expected {expected}')


class BadCrc(FrameError):
    """The checksum does not match: bits were flipped, lost or shifted."""


class SwappedCrc(BadCrc):
    """The checksum is right but its two 16-bit words are exchanged: a firmware/host mismatch."""


class AllZeros(FrameError):
    """Nothing pulled the line up: board without power, or a line shorted to ground."""


class AllOnes(FrameError):
    """Nothing pulled the line down: board absent, or chip-select not wired."""
