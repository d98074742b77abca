"""Named faults for emulated boards: what their users meet, on demand and seeded.

An `Injection` says what, which board, when and for how long. `BoardRack` schedules them from a
list or takes them at run time. `FAULTS` lists every kind with its parameters::

    Injection('reply_bit_flip', board=1, start=2.0, duration=0.5, parameters={'probability': 0.1})
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from operator import setitem
from random import Random
from typing import Any

from armsense.boards.protocol.messages import BoardError, ProtocolError

SPI = 'spi'
CAN = 'can'
Parameters = dict[str, Any]
Damage = Callable[[bytes, Parameters, Random], bytes]    # a frame as it arrives; empty: lost
Switch = Callable[[Any, bool], None]     # of a fault on a board, or on the rack: on or off


class UnknownFault(ProtocolError):
    """A fault, parameter or board that does not exist; the message lists the valid ones."""


@dataclass(frozen=True)
class Injection:
    """One failure, scheduled."""

    name: str                      # key of FAULTS
    board: int = 0
    start: float = 0.0             # [s] of emulated time
    duration: float = inf          # [s]; faults that happen once ignore it
    parameters: Mapping[str, Any] = field(default_factory=dict)


class WireAction:
    """Damages transfers, each with a probability, until it has damaged `count` of them."""

    def __init__(self, command: Damage, reply: Damage, parameters: Parameters,
                 random: Random) -> None:
        self._command = command      # what the board hears
        self._reply = reply          # what the host hears
        self._parameters = parameters
        self._left = float(parameters['count'])       # infinite for no end
        self._random = random
        self._hit = self._draw()

    def switch(self, board: Any, on: bool) -> None:
        """Begin or cease to act on the board's wire."""
        (board.wire.append if on else board.wire.remove)(self)

    def exchange(self, frame: bytes, reply: bytes) -> tuple[bytes, bytes]:
        """One transfer; decides about the next one."""
        if self._hit:
            frame = self._command(frame, self._parameters, self._random)
            reply = self._reply(reply, self._parameters, self._random)
        self._left -= self._hit
        self._hit = self._draw()
        return frame, reply

    def _draw(self) -> bool:
        return self._left > 0 and self._random.random() < self._parameters['probability']


def through_wire(faults: Iterable[WireAction], frame: bytes, reply: bytes) -> tuple[bytes, bytes]:
    """Frame as the board hears it and reply as the host hears it."""
    for fault in faults:
        frame, reply = fault.exchange(frame, reply)
    return frame, reply


@dataclass(frozen=True)
class InjectionKind:
    """What a fault name means."""

    description: str
    make: Callable[[Parameters, Random], Switch]
    defaults: Mapping[str, Any] = field(default_factory=dict)
    buses: tuple[str, ...] = (SPI, CAN)


def _wire(description: str, command: Damage, reply: Damage, *buses: str,
          count: float = inf, **defaults: int) -> InjectionKind:
    return InjectionKind(description, lambda p, r: WireAction(command, reply, p, r).switch,
                         {**defaults, 'probability': 1.0, 'count': count}, buses)


def _on_command(description: str, damage: Damage, **defaults: int) -> InjectionKind:
    return _wire(description, damage, _intact, SPI, **defaults)


def _on_reply(description: str, damage: Damage, **defaults: int) -> InjectionKind:
    return _wire(description, _intact, damage, SPI, **defaults)


def _once(act: Callable[[Any, Parameters], None]) -> Callable[..., Switch]:
    """What happened stays."""
    return lambda p, random: lambda board, on: act(board, p) if on else None


def _while(switch: Callable[[Any, Parameters, bool], None]) -> Callable[..., Switch]:
    return lambda p, random: lambda board, on: switch(board, p, on)


def _intact(frame: bytes, parameters: Parameters, random: Random) -> bytes:
    return frame


def _lost(frame: bytes, parameters: Parameters, random: Random) -> bytes:
    return b''


def _flipped(frame: bytes, parameters: Parameters, random: Random) -> bytes:
    """With some different bits inverted."""
    if not frame:
        return frame
    number = int.from_bytes(frame, 'big')
    for position in random.sample(range(8 * len(frame)), parameters['bits']):
        number ^= 1 << position
    return number.to_bytes(len(frame), 'big')


def _shifted(frame: bytes, parameters: Parameters, random: Random) -> bytes:
    """As read with a clock some bits late: zeros enter, the last bits are lost."""
    late = int(parameters['bits'])
    return (int.from_bytes(frame, 'big') >> late).to_bytes(len(frame), 'big')


def _shortened(frame: bytes, parameters: Parameters, random: Random) -> bytes:
    return frame[:-int(parameters['bytes'])]


def _first_of_all(frame: bytes, parameters: Parameters, random: Random) -> bytes:
    """The first reply under the fault in place of the later ones."""
    first: bytes = parameters.setdefault('first reply', frame)
    return first


def _encoder(board: Any, parameters: Parameters) -> Any:
    return board.motors[parameters['motor']].encoder


FAULTS: dict[str, InjectionKind] = {
    'command_bit_flip': _on_command('bits of commands are inverted', _flipped, bits=1),
    'reply_bit_flip': _on_reply('bits of replies are inverted', _flipped, bits=1),
    'crc_word_swap': _on_reply('the checksum of replies has its words exchanged',
                               lambda f, p, r: f[:-4] + f[-2:] + f[-4:-2]),
    'reply_zeros': _on_reply('replies read as all zeros', lambda f, p, r: bytes(len(f))),
    'reply_ones': _on_reply('replies read as all ones', lambda f, p, r: b'\xff' * len(f)),
    'command_short': _on_command('commands lose their last bytes', _shortened, bytes=2),
    'reply_short': _on_reply('replies lose their last bytes', _shortened, bytes=2),
    'command_shifted': _on_command('commands are read some bits late', _shifted, bits=1),
    'reply_shifted': _on_reply('replies are read some bits late', _shifted, bits=1),
    'drop': _wire('one transfer is lost in both directions', _lost, _lost, SPI, CAN, count=1),
    'drop_burst': _wire('several transfers in a row are lost', _lost, _lost, SPI, CAN, count=20),
    'board_lost': _wire('every transfer is lost: cable off, or board without power', _lost, _lost,
                        SPI, CAN),
    'stale_reply': _on_reply('the last reply is repeated', _first_of_all),
    'stale_index': InjectionKind('the reported command index stands still', _while(
        lambda board, p, on: setattr(board, 'index_frozen', on)), buses=(SPI,)),
    'stale_timestamp': InjectionKind('the reported timestamp stands still', _while(
        lambda board, p, on: setattr(board, 'timestamp_frozen', on)), buses=(SPI,)),
    'timestamp_near_wrap': InjectionKind(
        'the clock jumps to shortly before its 16-bit wrap at 65.536 s',
        _once(lambda board, p: board.set_uptime(65.536 - p['lead'])), {'lead': 0.05}, (SPI,)),
    'clock_overflow': InjectionKind(
        'the clock jumps to shortly before the overflow at 1073.74 s',
        _once(lambda board, p: board.set_uptime(
            board.profile.clock_wrap_us * 1e-6 - p['lead'])), {'lead': 0.05}, (SPI,)),
    'watchdog_trip': InjectionKind('the board trips as if the host had been silent', _once(
        lambda board, p: board.trip(BoardError.RECEIVE_TIMEOUT))),
    'board_reset': InjectionKind('the firmware restarts in motion: ready drops, re-zeroed', _once(
        lambda board, p: board.power_cycle())),
    'alignment_failure': InjectionKind('the rotor slips while aligning', _while(
        lambda board, p, on: setitem(board.alignment_fails, p['motor'], on)), {'motor': 0}),
    'index_missing': InjectionKind('index pulses are not seen', _while(
        lambda board, p, on: setattr(_encoder(board, p), 'index_hidden', on)), {'motor': 0}),
    'encoder_fault': InjectionKind('the board reports an encoder error', _once(
        lambda board, p: board.trip((BoardError.ENCODER_1, BoardError.ENCODER_2)[p['motor']])),
        {'motor': 0}),
    'lost_counts': InjectionKind(
        'the encoder misses counts: the position is wrong from then on',
        _once(lambda board, p: _encoder(board, p).slip(-p['counts'])), {'motor': 0, 'counts': 64}),
    'rollover': InjectionKind('the turn counter passes 128 turns', _once(
        lambda board, p: _encoder(board, p).slip(128 * _encoder(board, p).counts_per_turn)),
        {'motor': 0}),
    'driver_fault': InjectionKind('the power stage reports a fault', _once(
        lambda board, p: board.trip(BoardError.OTHER))),
    'swapped_boards': InjectionKind('the chip-selects of two boards are exchanged', _while(
        lambda rack, p, on: rack.swap(p['board'], p['other'])), {'other': 1}),
    'can_bus_off': InjectionKind('the CAN controller goes off the bus', _while(
        lambda board, p, on: board.set_bus_off(on)), buses=(CAN,)),
}

ON_RACK = frozenset({'swapped_boards'})      # these act on the rack, not on one board


def check_fault(fault: Injection, buses: Sequence[str]) -> dict[str, Any]:
    """Parameters of `fault`, defaults filled in; `buses` tells `spi` or `can` of every board."""
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


def _check_parameters(fault: Injection, kind: InjectionKind) -> None:
    unknown = set(fault.parameters) - set(kind.defaults)
    if unknown:
        raise UnknownFault(f'{fault.name}: parameter {", ".join(sorted(unknown))}; known: '
                           f'{", ".join(sorted(kind.defaults)) or "none"}')
    motor = fault.parameters.get('motor', 0)
    if motor not in (0, 1):
        raise UnknownFault(f'{fault.name}: motor {motor!r}; known: 0, 1')
