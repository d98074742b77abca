"""What happened on the link to one board, counted."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

LATENCY_BINS = 20     # bin k holds latencies in [2^(k-1), 2^k) us; the last one all longer ones


class Outcome(Enum):
    """How one exchange with a board ended."""

    OK = 'ok'
    DROP = 'drop'                 # nothing came back in time
    CRC = 'crc'                   # the checksum failed
    MALFORMED = 'malformed'       # wrong length, all zeros or all ones
    STALE = 'stale'               # intact, but the board's state has not moved on


_OK = Outcome.OK      # a global is found faster than a member of an Enum


class LinkSummary(NamedTuple):
    """A snapshot of the counters for `diagnostics`."""

    frames: int
    ok: int
    crc_errors: int
    drops: int
    malformed: int
    stale_replies: int
    rejected_commands: int
    retries: int
    loss_percent: float           # share of frames without a usable reply
    latency_p50_us: float         # upper edge of the bin that holds the quantile
    latency_p99_us: float
    latency_max_us: float
    latency_histogram: str        # upper edge of each bin in use and how many replies are in it


@dataclass
class LinkCounters:
    """Counters of one board's link; `observe` costs about a microsecond."""

    frames: int = 0
    crc_errors: int = 0
    drops: int = 0
    malformed: int = 0
    stale_replies: int = 0
    rejected_commands: int = 0
    retries: int = 0
    latency_max: float = 0.0      # [s]
    latency_bins: list[int] = field(default_factory=lambda: [0] * LATENCY_BINS)

    def observe(self, outcome: Outcome, latency: float) -> None:
        """Count one exchange.

        Args:
            outcome: how it ended.
            latency: time from sending to the reply [s]; not recorded for a drop.
        """
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

    def observe_retry(self) -> None:
        """Count an extra exchange in the same cycle (its outcome is observed as well)."""
        self.retries += 1

    def observe_rejection(self) -> None:
        """Count a command that the board did not accept."""
        self.rejected_commands += 1

    def quantile_us(self, share: float) -> float:
        """Upper edge [us] of the latency bin below which `share` of the replies lie."""
        total = sum(self.latency_bins)
        if total == 0:
            return 0.0
        below = 0
        for bin_number, count in enumerate(self.latency_bins):
            below += count
            if below >= share * total and count:
                return float(2**bin_number)
        return float(2 ** (LATENCY_BINS - 1))

    def summary(self) -> LinkSummary:
        """Snapshot of all counters."""
        lost = self.crc_errors + self.drops + self.malformed
        return LinkSummary(
            frames=self.frames, ok=self.frames - lost - self.stale_replies,
            crc_errors=self.crc_errors, drops=self.drops, malformed=self.malformed,
            stale_replies=self.stale_replies, rejected_commands=self.rejected_commands,
            retries=self.retries,
            loss_percent=100.0 * lost / self.frames if self.frames else 0.0,
            latency_p50_us=self.quantile_us(0.50), latency_p99_us=self.quantile_us(0.99),
            latency_max_us=self.latency_max * 1e6,
            latency_histogram=', '.join(f'{2**k} us: {count}' for k, count
                                        in enumerate(self.latency_bins) if count))

    def reset(self) -> None:
        """Start counting again."""
        self.__init__()  # type: ignore[misc]
