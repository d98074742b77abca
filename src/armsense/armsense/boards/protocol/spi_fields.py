"""Parts of the SPI frames: layouts that saturate, the mode word, the block of gains and limits.

Mode and gains seldom change from one frame to the next, so both directions remember the latest
ones; only what changes every millisecond is converted every millisecond.
"""

from functools import lru_cache
from struct import error as StructError
from struct import Struct
from typing import Any

from armsense.boards.protocol.messages import (
    KD_PER_A_S_RAD,
    KI_PER_A_RAD_S,
    KP_PER_A_RAD,
    LIMIT_PER_A,
)

_RANGES = {
    'i': (-0x80000000, 0x7FFFFFFF), 'h': (-0x8000, 0x7FFF), 'H': (0, 0xFFFF), 'B': (0, 0xFF)}
_REMEMBERED = 64     # modes, gains: more than the boards of one arm use at a time

SYSTEM_ENABLE = 0x8000               # bits of the mode word
MOTOR_ENABLE = (0x4000, 0x2000)


class Layout:
    """A row of big-endian fields."""

    def __init__(self, codes: str) -> None:
        """Make a layout from codes of `struct`, separated by spaces."""
        struct = Struct('>' + codes.replace(' ', ''))
        self._pack = struct.pack
        self.unpack_from = struct.unpack_from     # reads the beginning of a frame
        self._ranges = [_RANGES.get(code) for code in codes.split()]

    def pack(self, *fields: Any) -> bytes:
        """Bytes of all fields; a number that does not fit takes the nearest one that does."""
        try:
            return self._pack(*fields)
        except StructError:     # costs nothing in the usual case that everything fits
            return self._pack(*(
                min(max(field, limits[0]), limits[1]) if limits else field
                for field, limits in zip(fields, self._ranges, strict=True)))


_GAINS = Layout('H H H H B B')
_GAINS_EXTENDED = Layout('H H H H B B H H')


Gains = tuple[float, float, float, float]    # kp, kd, current limit, ki of a `MotorCommand`
# What the mode word says: enable, timeout [ms], motors on, index compensation, rollover error
Mode = tuple[bool, int, tuple[bool, bool], tuple[bool, bool], bool]


@lru_cache(_REMEMBERED)
def mode_word(enable: bool, timeout_ms: int, motor_enable: tuple[bool, bool],
              index_compensation: tuple[bool, bool], rollover_error: bool) -> int:
    """The mode word of a command."""
    return (
        (SYSTEM_ENABLE if enable else 0)
        | (MOTOR_ENABLE[0] if motor_enable[0] else 0)
        | (MOTOR_ENABLE[1] if motor_enable[1] else 0)
        | (0x1000 if rollover_error else 0)
        | (0x0800 if index_compensation[0] else 0) | (0x0400 if index_compensation[1] else 0)
        | min(max(timeout_ms, 0), 255))


@lru_cache(_REMEMBERED)
def read_mode(word: int) -> Mode:
    """What a mode word says."""
    return (
        word & SYSTEM_ENABLE != 0, word & 0xFF,
        (word & MOTOR_ENABLE[0] != 0, word & MOTOR_ENABLE[1] != 0),
        (word & 0x0800 != 0, word & 0x0400 != 0), word & 0x1000 != 0)


@lru_cache(_REMEMBERED)
def gain_bytes(motor_1_first: bool, least_limit: int, kp_1: float, kp_2: float, kd_1: float,
               kd_2: float, limit_1: float, limit_2: float, *ki: float) -> bytes:
    """The block of gains and limits [A], which are rounded down; units as in `MotorCommand`.

    `motor_1_first` is the order of the two limit bytes, `least_limit` the smallest one that may be
    sent; `ki` is of both motors, or nothing. NaN raises ValueError, infinity OverflowError.
    """
    limits = max(int(limit_1 * LIMIT_PER_A), least_limit), max(
        int(limit_2 * LIMIT_PER_A), least_limit)
    layout = _GAINS_EXTENDED if ki else _GAINS
    return layout.pack(
        round(kp_1 * KP_PER_A_RAD), round(kp_2 * KP_PER_A_RAD),
        round(kd_1 * KD_PER_A_S_RAD), round(kd_2 * KD_PER_A_S_RAD),
        *(limits if motor_1_first else limits[::-1]),
        *(round(value * KI_PER_A_RAD_S) for value in ki))


@lru_cache(_REMEMBERED)
def read_gains(block: bytes, motor_1_first: bool, zero_limit: float) -> tuple[Gains, Gains]:
    """What a block, with or without ki, says to the two motors; see `gain_bytes`.

    `zero_limit` is what a limit byte of 0 means [A].
    """
    layout = _GAINS if len(block) == 10 else _GAINS_EXTENDED
    kp_1, kp_2, kd_1, kd_2, limit_1, limit_2, *ki = layout.unpack_from(block)
    if not motor_1_first:
        limit_1, limit_2 = limit_2, limit_1
    ki_1, ki_2 = ki or (0, 0)
    return (
        (kp_1 / KP_PER_A_RAD, kd_1 / KD_PER_A_S_RAD,
         limit_1 / LIMIT_PER_A if limit_1 else zero_limit, ki_1 / KI_PER_A_RAD_S),
        (kp_2 / KP_PER_A_RAD, kd_2 / KD_PER_A_S_RAD,
         limit_2 / LIMIT_PER_A if limit_2 else zero_limit, ki_2 / KI_PER_A_RAD_S))
