"""Named faults for emulated boards: what their users meet, on demand and seeded.

A `Fault` says what, which board, when and for how long. `BoardRack` schedules faults from a list
or takes them at run time. `FAULTS` lists every kind with its parameters::

    Fault('reply_bit_flip', board=1, start=2.0, duration=0.5, parameters={'probability': 0.1})
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from math import inf
from random import Random
from typing import Any

from armsense.boards.emulator.fault_actions import (
    BoardAction,
    BoardSwitch,
    drop_both_ways,
    FaultAction,
    freeze_reply,
    on_command,
    on_reply,
)
from armsense.boards.emulator.wire import flip_bits, shift_bits, swap_crc_words
from armsense.boards.protocol.errors import ProtocolError
from armsense.boards.protocol.messages import BoardError

SPI = 'spi'
CAN = 'can'


class UnknownFault(ProtocolError):
    """A fault, parameter or board that does not exist; the message lists the valid ones."""


@dataclass(frozen=True)
class Fault:
    """One failure, scheduled."""

    name: str                      # key of FAULTS
    board: int = 0
    start: float = 0.0             # [s] of emulated time
    duration: float = inf          # [s]; faults that happen once ignore it
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any]) -> Fault:
        """Fault from a configuration entry.

        Raises:
            UnknownFault: an entry has a key that is no field.
        """
        known = {item.name for item in fields(cls)}
        unknown = set(mapping) - known
        if unknown:
            raise UnknownFault(f'{", ".join(sorted(unknown))}; known: {", ".join(sorted(known))}')
        return cls(**mapping)


@dataclass(frozen=True)
class FaultKind:
    """What a fault name means."""

    description: str
    make: Callable[[dict[str, Any], Random], FaultAction]
    defaults: Mapping[str, Any] = field(default_factory=dict)
    buses: tuple[str, ...] = (SPI, CAN)


def _once(act: Callable[[Any, dict[str, Any]], None]) -> Callable[..., FaultAction]:
    return lambda parameters, random: BoardAction(parameters, act)


def _while(switch: Callable[[Any, dict[str, Any], bool], None]) -> Callable[..., FaultAction]:
    return lambda parameters, random: BoardSwitch(parameters, switch)


def _set_item(values: list[bool], parameters: dict[str, Any], on: bool) -> None:
    values[parameters['motor']] = on


FAULTS: dict[str, FaultKind] = {
    'command_bit_flip': FaultKind(
        'bits of commands are inverted',
        lambda p, r: on_command(lambda f: flip_bits(f, p['bits'], r), p, r),
        {'bits': 1, 'probability': 1.0, 'count': inf}, (SPI,)),
    'reply_bit_flip': FaultKind(
        'bits of replies are inverted',
        lambda p, r: on_reply(lambda f: flip_bits(f, p['bits'], r), p, r),
        {'bits': 1, 'probability': 1.0, 'count': inf}, (SPI,)),
    'crc_word_swap': FaultKind(
        'the checksum of replies has its words exchanged',
        lambda p, r: on_reply(swap_crc_words, p, r),
        {'probability': 1.0, 'count': inf}, (SPI,)),
    'reply_zeros': FaultKind(
        'replies read as all zeros',
        lambda p, r: on_reply(lambda f: bytes(len(f)), p, r),
        {'probability': 1.0, 'count': inf}, (SPI,)),
    'reply_ones': FaultKind(
        'replies read as all ones',
        lambda p, r: on_reply(lambda f: b'\xff' * len(f), p, r),
        {'probability': 1.0, 'count': inf}, (SPI,)),
    'command_short': FaultKind(
        'commands lose their last bytes',
        lambda p, r: on_command(lambda f: f[:-p['bytes']], p, r),
        {'bytes': 2, 'probability': 1.0, 'count': inf}, (SPI,)),
    'reply_short': FaultKind(
        'replies lose their last bytes',
        lambda p, r: on_reply(lambda f: f[:-p['bytes']], p, r),
        {'bytes': 2, 'probability': 1.0, 'count': inf}, (SPI,)),
    'command_shifted': FaultKind(
        'commands are read some bits late',
        lambda p, r: on_command(lambda f: shift_bits(f, p['bits']), p, r),
        {'bits': 1, 'probability': 1.0, 'count': inf}, (SPI,)),
    'reply_shifted': FaultKind(
        'replies are read some bits late',
        lambda p, r: on_reply(lambda f: shift_bits(f, p['bits']), p, r),
        {'bits': 1, 'probability': 1.0, 'count': inf}, (SPI,)),
    'drop': FaultKind(
        'one transfer is lost in both directions',
        drop_both_ways, {'probability': 1.0, 'count': 1}),
    'drop_burst': FaultKind(
        'several transfers in a row are lost',
        drop_both_ways, {'probability': 1.0, 'count': 20}),
    'board_lost': FaultKind(
        'every transfer is lost: cable off, or board without power',
        drop_both_ways, {'probability': 1.0, 'count': inf}),
    'stale_reply': FaultKind(
        'the last reply is repeated',
        freeze_reply, {'probability': 1.0, 'count': inf}, (SPI,)),
    'stale_index': FaultKind(
        'the reported command index stands still',
        _while(lambda board, p, on: setattr(board, 'index_frozen', on)), buses=(SPI,)),
    'stale_timestamp': FaultKind(
        'the reported timestamp stands still',
        _while(lambda board, p, on: setattr(board, 'timestamp_frozen', on)), buses=(SPI,)),
    'timestamp_near_wrap': FaultKind(
        'the clock jumps to shortly before its 16-bit wrap at 65.536 s',
        _once(lambda board, p: board.set_uptime(65.536 - p['lead'])), {'lead': 0.05}, (SPI,)),
    'clock_overflow': FaultKind(
        'the clock jumps to shortly before the overflow at 1073.74 s',
        _once(lambda board, p: board.set_uptime(
            board.profile.clock_wrap_us * 1e-6 - p['lead'])), {'lead': 0.05}, (SPI,)),
    'watchdog_trip': FaultKind(
        'the board trips as if the host had been silent',
        _once(lambda board, p: board.trip(BoardError.RECEIVE_TIMEOUT))),
    'board_reset': FaultKind(
        'the firmware restarts in motion: ready drops, position re-zeroed',
        _once(lambda board, p: board.power_cycle())),
    'alignment_failure': FaultKind(
        'the rotor slips while aligning',
        _while(lambda board, p, on: _set_item(board.alignment_fails, p, on)), {'motor': 0}),
    'index_missing': FaultKind(
        'index pulses are not seen',
        _while(lambda board, p, on: setattr(
            board.motors[p['motor']].encoder, 'index_hidden', on)), {'motor': 0}),
    'encoder_fault': FaultKind(
        'the board reports an encoder error',
        _once(lambda board, p: board.trip(
            (BoardError.ENCODER_1, BoardError.ENCODER_2)[p['motor']])), {'motor': 0}),
    'lost_counts': FaultKind(
        'the encoder misses counts: the position is wrong from then on',
        _once(lambda board, p: board.motors[p['motor']].encoder.slip(-p['counts'])),
        {'motor': 0, 'counts': 64}),
    'rollover': FaultKind(
        'the turn counter passes 128 turns',
        _once(lambda board, p: board.motors[p['motor']].encoder.slip(
            128 * board.motors[p['motor']].physics.counts_per_turn)), {'motor': 0}),
    'driver_fault': FaultKind(
        'the power stage reports a fault',
        _once(lambda board, p: board.trip(BoardError.OTHER))),
    'swapped_boards': FaultKind(
        'the chip-selects of two boards are exchanged',
        _while(lambda rack, p, on: rack.swap(p['board'], p['other'])), {'other': 1}),
    'can_bus_off': FaultKind(
        'the CAN controller goes off the bus',
        _while(lambda board, p, on: board.set_bus_off(on)), buses=(CAN,)),
}

ON_RACK = frozenset({'swapped_boards'})      # these act on the rack, not on one board


def check_fault(fault: Fault, buses: Sequence[str]) -> dict[str, Any]:
    """Parameters of `fault`, defaults filled in.

    Args:
        fault: what is asked for.
        buses: per board, `spi` or `can`.

    Raises:
        UnknownFault: name, parameter, board, motor or bus does not fit.
    """
    kind = FAULTS.get(fault.name)
    if kind is None:
        raise UnknownFault(f'{fault.name!r}; known: {", ".join(sorted(FAULTS))}')
    _check_parameters(fault, kind)
    parameters = {**kind.defaults, **fault.parameters, 'board': fault.board}
    for board in (fault.board, parameters.get('other', fault.board)):
        if not 0 <= board < len(buses):
            raise UnknownFault(f'{fault.name}: board {board}; known: 0 to {len(buses) - 1}')
    bus = buses[fault.board]
    if bus not in kind.buses:
        fitting = sorted(name for name, other in FAULTS.items() if bus in other.buses)
        raise UnknownFault(f'{fault.name!r} on a {bus} board; known there: {", ".join(fitting)}')
    return parameters


def _check_parameters(fault: Fault, kind: FaultKind) -> None:
    unknown = set(fault.parameters) - set(kind.defaults)
    if unknown:
        raise UnknownFault(f'{fault.name}: parameter {", ".join(sorted(unknown))}; known: '
                           f'{", ".join(sorted(kind.defaults)) or "none"}')
    motor = fault.parameters.get('motor', 0)
    if motor not in (0, 1):
        raise UnknownFault(f'{fault.name}: motor {motor!r}; known: 0, 1')
