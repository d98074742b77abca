"""One board's link: encode, transfer, decode, judge freshness, count. Never raises on bad replies.

Freshness rules. The reply to transfer k repeats the index of the last command that the board
accepted before k. A reply is *stale* when it repeats both timestamp and index of the one before it
(the same answer served twice), or when its timestamp has not moved for `FROZEN_REPLIES` replies (a
frozen clock; the clock has 1 ms steps, so one repetition is normal at 1 kHz). A command is
*rejected* when the index does not name the command before: the board did not accept that one.
"""

from dataclasses import dataclass, field
from enum import Enum
from itertools import accumulate
from time import perf_counter
from typing import NamedTuple, Protocol

from armsense.boards.protocol.messages import BadCrc, BoardCommand, BoardState, FrameError
from armsense.boards.protocol.spi import SpiProtocol

LATENCY_BINS = 20     # bin k holds latencies in [2^(k-1), 2^k) us; the last one all longer ones


class SpiTransport(Protocol):
    """Full-duplex exchange of one frame with one board."""

    def transfer(self, frame: bytes) -> bytes:
        """Send `frame` and return what came back meanwhile; empty bytes if nothing came (a drop).

        Never raises for a board that is silent or gone: that is the link's business to count.
        """

    def close(self) -> None:
        """Release the device; a closed transport drops every frame."""


class Outcome(Enum):
    """How one exchange with a board ended."""

    OK = 'ok'
    DROP = 'drop'                 # nothing came back in time
    CRC = 'crc'                   # the checksum failed
    MALFORMED = 'malformed'       # wrong length, all zeros or all ones
    STALE = 'stale'               # intact, but the board's state has not moved on


_OK, _STALE = Outcome.OK, Outcome.STALE     # globals are found faster than members of an Enum


@dataclass
class LinkCounters:
    """Counters of one board's link; `observe` costs about a microsecond."""

    frames: int = 0
    crc_errors: int = 0
    drops: int = 0
    malformed: int = 0
    stale_replies: int = 0
    rejected_commands: int = 0    # that the board did not accept
    retries: int = 0              # extra exchanges in the same cycle; their outcomes count as well
    latency_max: float = 0.0      # [s]
    latency_bins: list[int] = field(default_factory=lambda: [0] * LATENCY_BINS)

    def observe(self, outcome: Outcome, latency: float) -> None:
        """Count one exchange and the time to its reply [s], which a drop does not have."""
        self.frames += 1
        if outcome is not _OK:
            self._observe_bad(outcome)
            if outcome is Outcome.DROP:
                return
        if latency > self.latency_max:
            self.latency_max = latency
        number = int(latency * 1e6).bit_length()
        self.latency_bins[number if number < LATENCY_BINS else LATENCY_BINS - 1] += 1

    def _observe_bad(self, outcome: Outcome) -> None:
        if outcome is Outcome.DROP:
            self.drops += 1
        elif outcome is Outcome.CRC:
            self.crc_errors += 1
        elif outcome is Outcome.MALFORMED:
            self.malformed += 1
        else:
            self.stale_replies += 1

    def quantile_us(self, share: float) -> float:
        """Upper edge [us] of the latency bin below which `share` of the replies lie."""
        wanted = share * sum(self.latency_bins)
        for number, below in enumerate(accumulate(self.latency_bins)):
            if below >= wanted and self.latency_bins[number]:
                return float(2**number)
        return 0.0                # nothing was observed

    @property
    def lost(self) -> int:
        """Frames without a usable reply."""
        return self.crc_errors + self.drops + self.malformed

    @property
    def loss_percent(self) -> float:
        return 100.0 * self.lost / self.frames if self.frames else 0.0

    def summary(self) -> dict[str, object]:
        """Snapshot for `diagnostics`; latencies are upper edges of the bins."""
        return {
            'frames': self.frames, 'ok': self.frames - self.lost - self.stale_replies,
            'crc_errors': self.crc_errors, 'drops': self.drops, 'malformed': self.malformed,
            'stale_replies': self.stale_replies, 'rejected_commands': self.rejected_commands,
            'retries': self.retries, 'loss_percent': self.loss_percent,
            'latency_p50_us': self.quantile_us(0.50), 'latency_p99_us': self.quantile_us(0.99),
            'latency_max_us': self.latency_max * 1e6,
            'latency_histogram': ', '.join(f'{2**k} us: {count}' for k, count
                                           in enumerate(self.latency_bins) if count)}


FROZEN_REPLIES = 4


class Exchange(NamedTuple):
    """Result of one transfer."""

    state: BoardState | None     # None unless the frame was intact
    outcome: Outcome
    accepted: bool               # the board has accepted the command before this one
    error: FrameError | None = None     # what was wrong with the frame


class SpiLink:
    """Exchanges commands and states with one SPI board and owns the frame index."""

    recovers_by_enable = False

    def __init__(self, protocol: SpiProtocol, transport: SpiTransport,
                 first_index: int = 0, retries: int = 0) -> None:
        """Send to a transport; the first command has this index, 0..65535.

        After a reply that was lost or damaged there are so many further transfers in the same
        exchange: none where the board needs a pause between frames, nor in lock-step.
        """
        self.protocol = protocol
        self.transport = transport
        self.counters = LinkCounters()
        self._retries = 0 if protocol.min_interval else retries
        self._index = first_index & 0xFFFF
        self._sent: int | None = None             # index of the previous command
        self._stamp = (-1, -1)                    # timestamp and index of the last reply
        self._frozen = 0

    def exchange(self, command: BoardCommand) -> Exchange:
        """Send `command` under the link's own index and judge the reply."""
        result = self._transfer(command)
        for _ in range(self._retries):
            if result.state is not None:
                break
            self.counters.retries += 1
            result = self._transfer(command)
        return result

    def close(self) -> None:
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
            self.counters.rejected_commands += 1
        return result

    def _judge(self, reply: bytes, expected: int | None) -> Exchange:
        if not reply:
            return Exchange(None, Outcome.DROP, False)
        try:
            state = self.protocol.decode_state(reply)
        except BadCrc as error:
            return Exchange(None, Outcome.CRC, False, error)
        except FrameError as error:
            return Exchange(None, Outcome.MALFORMED, False, error)
        outcome = _STALE if self._is_stale(state) else _OK
        return Exchange(state, outcome, state.last_index == expected)

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
