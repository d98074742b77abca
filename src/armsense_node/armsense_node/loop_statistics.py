"""How well a loop keeps its time: counters and histograms that cost well under a microsecond."""

from __future__ import annotations

from array import array
from typing import NamedTuple

import numpy as np

_SHIFT = 10        # one bin is 1.024 us
_BINS = 1 << 15    # up to 33.5 ms; what is longer is still counted and seen in the maximum


class Quantiles(NamedTuple):
    """Of a duration, [us]."""

    p50: float
    p99: float
    max: float


class LoopReport(NamedTuple):
    """What a loop did since the last reset."""

    ticks: int                # steps done
    missed: int               # whole periods skipped, or messages lost
    clock_jumps: int          # times that the clock went backwards
    missed_percent: float
    period_us: Quantiles      # from step to step
    lateness_us: Quantiles    # from the deadline, or the arrival of the message, to the step
    response_us: Quantiles    # from the deadline, or the arrival of the message, to the step's end


class Histogram:
    """Counts durations in bins of 1.024 us."""

    def __init__(self) -> None:
        self._bins = array('Q', bytes(8 * _BINS))
        self.max = 0  # [ns]

    def add(self, duration: int) -> None:
        """Counts one duration [ns]; a negative one, from two clocks, counts as zero."""
        if duration > self.max:
            self.max = duration
        elif duration < 0:
            duration = 0
        index = duration >> _SHIFT
        self._bins[index if index < _BINS else _BINS - 1] += 1

    def quantiles(self) -> Quantiles:
        """Each is the middle of the bin that holds it; of the last bin, the maximum."""
        counts = np.array(self._bins).cumsum()
        longest = self.max * 1e-3
        index = np.searchsorted(counts, [0.5 * int(counts[-1]), 0.99 * int(counts[-1])])
        middle = np.where(index < _BINS - 1, (index + 0.5) * (1 << _SHIFT) * 1e-3, longest)
        p50, p99 = np.minimum(middle, longest).tolist()
        return Quantiles(p50, p99, longest)


class LoopStatistics:
    """Kept by the loop's thread, read by any; a report taken meanwhile may be one tick off."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.ticks = 0
        self.missed = 0
        self.clock_jumps = 0
        self.period = Histogram()
        self.lateness = Histogram()
        self.response = Histogram()

    def report(self) -> LoopReport:
        due = self.ticks + self.missed
        return LoopReport(
            self.ticks, self.missed, self.clock_jumps, 100.0 * self.missed / due if due else 0.0,
            self.period.quantiles(), self.lateness.quantiles(), self.response.quantiles())
