"""The link's judgement of replies, with scripted answers."""

from __future__ import annotations

from math import nan

import pytest

from armsense.boards.protocol.messages import (
    BoardCommand,
    BoardState,
    BoardStatus,
    MotorCommand,
    NonFiniteValue,
    SwappedCrc,
)
from armsense.boards.protocol.spi import by_name
from armsense.boards.transport.link import Outcome, SpiLink

PROTOCOL = by_name('uomodri')


class Script:
    """Transport that plays replies and keeps the indices it was sent."""

    def __init__(self, *replies: bytes) -> None:
        self.replies = list(replies)
        self.indices: list[int] = []

    def transfer(self, frame: bytes) -> bytes:
        self.indices.append(PROTOCOL.decode_command(frame).index)
        return self.replies.pop(0)

    def close(self) -> None:
        pass


def reply(timestamp_ms: int, last_index: int) -> bytes:
    return PROTOCOL.encode_state(BoardState(
        BoardStatus(0x8000), timestamp_ms, last_index=last_index))


def run(*replies: bytes, first_index: int = 0):
    link = SpiLink(PROTOCOL, Script(*replies), first_index)
    return link, [link.exchange(BoardCommand()) for _ in replies]


def test_index_and_timestamp_wrap_are_not_faults():
    first = 65533
    replies = [reply(65534 + k & 0xFFFF, first + k - 1 & 0xFFFF) for k in range(6)]
    link, results = run(*replies, first_index=first)
    assert [result.outcome for result in results] == [Outcome.OK] * 6
    assert all(result.accepted for result in results[1:])
    assert link.transport.indices == [65533, 65534, 65535, 0, 1, 2]
    assert link.counters.rejected_commands == 0


def test_rejected_command_is_seen_in_the_index():
    link, results = run(reply(1, 0), reply(2, 0), reply(3, 0), reply(4, 2))
    assert [result.accepted for result in results[1:]] == [True, False, True]
    assert link.counters.rejected_commands == 1
    assert [result.outcome for result in results] == [Outcome.OK] * 4


def test_repeated_reply_is_stale():
    _, results = run(reply(1, 0), reply(2, 0), reply(2, 0), reply(4, 2))
    assert [r.outcome.value for r in results] == ['ok', 'ok', 'stale', 'ok']
    assert results[2].state is not None


def test_frozen_clock_is_stale_after_some_replies():
    _, results = run(*[reply(7, k - 1 & 0xFFFF) for k in range(8)])
    assert [r.outcome.value for r in results] == ['ok'] * 4 + ['stale'] * 4


def test_damage_is_counted_by_kind():
    good = reply(1, 0)
    swapped = good[:-4] + good[-2:] + good[-4:-2]
    link, results = run(b'', good[:-2], bytes(34), b'\xff' * 34, swapped, good[:-1] + b'!')
    assert [result.outcome.value for result in results] == [
        'drop', 'malformed', 'malformed', 'malformed', 'crc', 'crc']
    assert all(result.state is None for result in results)
    assert isinstance(results[4].error, SwappedCrc)
    assert tuple(link.counters.summary().values())[:5] == (6, 0, 2, 1, 3)


def test_nan_is_refused_before_anything_is_sent():
    script = Script(reply(1, 0))
    link = SpiLink(PROTOCOL, script)
    bad = BoardCommand(motors=(MotorCommand(current=nan), MotorCommand()))
    with pytest.raises(NonFiniteValue):
        link.exchange(bad)
    assert link.counters.frames == 0
    link.exchange(BoardCommand())
    assert script.indices == [0]


def test_a_damaged_reply_is_asked_for_again_at_once():
    good, bad = reply(1, 0), bytes(34)
    link = SpiLink(PROTOCOL, Script(bad, good, bad, bad, b''), retries=1)
    assert link.exchange(BoardCommand()).outcome is Outcome.OK
    assert link.exchange(BoardCommand()).outcome is Outcome.MALFORMED
    assert link.counters.retries == 2
    assert link.counters.frames == 4
    assert link.transport.indices == [0, 1, 2, 3]


def test_a_board_that_needs_a_pause_is_not_asked_twice():
    link = SpiLink(by_name('udriver_spi'), Script(bytes(34)), retries=1)
    assert link.exchange(BoardCommand()).state is None
    assert link.counters.retries == 0
