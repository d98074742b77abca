"""One board's link: encode, transfer, decode, judge freshness, count. Never raises on bad replies.

Freshness rules. The reply to transfer k repeats the index of the last command that the board
accepted before k. A reply is *stale* when it repeats both timestamp and index of the one before it
(the same answer served twice), or when its timestamp has not moved for `FROZEN_REPLIES` replies (a
frozen clock; the clock has 1 ms steps, so one repetition is normal at 1 kHz). A command is
*rejected* when the index does not name the command before: the board did not accept that one.
"""

from __future__ import annotations

from time import perf_counter
from typing import NamedTuple

from armsense.boards.protocol.errors import BadCrc, FrameError
from armsense.boards.protocol.messages import BoardCommand, BoardState
from armsense.boards.protocol.spi import SpiProtocol
from armsense.boards.transport.base import SpiTransport
from armsense.boards.transport.counters import LinkCounters, Outcome

FROZEN_REPLIES = 4
_OK, _STALE = Outcome.OK, Outcome.STALE


class Exchange(NamedTuple):
    """Result of one transfer."""

    state: BoardState | None     # None unless the frame was intact
    outcome: Outcome
    accepted: bool               # the board has accepted the command before this one
    error: FrameError | None     # what was wrong with the frame


class SpiLink:
    """Exchanges commands and states with one SPI board and owns the frame index."""

    recovers_by_enable = False

    def __init__(self, protocol: SpiProtocol, transport: SpiTransport,
                 first_index: int = 0, retries: int = 0) -> None:
        """Make a link.

        Args:
            protocol: dialect of the board.
            transport: where the frames go.
            first_index: index of the first command, 0..65535.
            retries: further transfers in the same exchange after a reply that was lost or
                damaged. None where the board needs a pause between frames, nor in lock-step.
        """
        self.protocol = protocol
        self.transport = transport
        self.counters = LinkCounters()
        self._retries = 0 if protocol.min_interval else retries
        self._index = first_index & 0xFFFF
        self._sent: int | None = None             # index of the previous command
        self._stamp = (-1, -1)                    # timestamp and index of the last reply
        self._frozen = 0

    @property
    def next_index(self) -> int:
        """Index that the next command will carry."""
        return self._index

    def exchange(self, command: BoardCommand) -> Exchange:
        """Send `command` under the link's own index and judge the reply.

        Raises:
            NonFiniteValue: the command holds NaN or infinity; nothing was sent.
        """
        result = self._transfer(command)
        for _ in range(self._retries):
            if result.state is not None:
                break
            self.counters.observe_retry()
            result = self._transfer(command)
        return result

    def close(self) -> None:
        """Give the device to others."""
        self.transport.close()

    def _transfer(self, command: BoardCommand) -> Exchange:
        frame = self.protocol.encode_command(command, self._index)
        start = perf_counter()
        reply = self.transport.transfer(frame)
        latency = perf_counter() - start
        expected, self._sent = self._sent, self._index
        self._index = (self._index + 1) & 0xFFFF
        result = self._judge(reply, expected)
        self.counters.observe(result.outcome, latency)
        if result.state is not None and not result.accepted and expected is not None:
            self.counters.observe_rejection()
        return result

    def _judge(self, reply: bytes, expected: int | None) -> Exchange:
        if not reply:
            return Exchange(None, Outcome.DROP, False, None)
        try:
            state = self.protocol.decode_state(reply)
        except BadCrc as error:
            return Exchange(None, Outcome.CRC, False, error)
        except FrameError as error:
            return Exchange(None, Outcome.MALFORMED, False, error)
        outcome = _STALE if self._is_stale(state) else _OK
        return Exchange(state, outcome, state.last_index == expected, None)

    def _is_stale(self, state: BoardState) -> bool:
        _, timestamp, _, index = state
        before_timestamp, before_index = self._stamp
        self._stamp = (timestamp, index)
        if timestamp != before_timestamp:
            self._frozen = 0
            return False
        if state.is_blank:
            return False
        self._frozen += 1
        return index == before_index or self._frozen >= FROZEN_REPLIES
