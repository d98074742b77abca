"""The last seconds of a signal: a ring buffer whose windows are plain slices."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from armsense.types import Array


class Window(NamedTuple):
    """A piece of a signal, N samples of w values."""

    time: Array     # [s] (N,)
    values: Array   # (N, w)


class TimeSeries:
    """Rows of numbers with rising times; the oldest make room for new ones."""

    def __init__(self, width: int, capacity: int) -> None:
        """Make an empty one.

        Args:
            width: Numbers in a row.
            capacity: Rows that are kept at least.
        """
        # Twice the room: the newest rows always stand in one piece, and are moved seldom.
        self._time = np.zeros(2 * capacity)
        self._rows = np.zeros((2 * capacity, width))
        self._capacity = capacity
        self._end = 0

    def __len__(self) -> int:
        return min(self._end, self._capacity)

    @property
    def newest(self) -> float | None:
        """Time of the last row [s]; None without one."""
        return float(self._time[self._end - 1]) if self._end else None

    @property
    def last_row(self) -> Array | None:
        return self._rows[self._end - 1].copy() if self._end else None

    def append(self, time: float, row: ArrayLike) -> None:
        """Add a row; one that is older than the last is left out."""
        if self._end and time < self._time[self._end - 1]:
            return
        if self._end == len(self._time):
            self._time[:self._capacity] = self._time[self._capacity:]
            self._rows[:self._capacity] = self._rows[self._capacity:]
            self._end = self._capacity
        self._time[self._end] = time
        self._rows[self._end] = row
        self._end += 1

    def clear(self) -> None:
        self._end = 0

    def window(self, begin: float, end: float) -> Window:
        """Copies of the rows with begin <= time <= end [s]."""
        first = self._end - len(self)
        times = self._time[first:self._end]
        a = first + int(np.searchsorted(times, begin, 'left'))
        b = first + int(np.searchsorted(times, end, 'right'))
        return Window(self._time[a:b].copy(), self._rows[a:b].copy())


def thin(window: Window, points: int) -> Window:
    """At most about `points` samples that keep the peaks: of each stretch, the largest values.

    A peak of a single sample must not vanish from a plot because the screen is small.
    """
    count = len(window.time)
    if count <= points:
        return window
    step = -(-count // points)
    whole = count // step * step
    blocks = window.values[:whole].reshape(-1, step, window.values.shape[1])   # (B, step, w)
    peaks = np.abs(blocks).argmax(axis=1)[:, None, :]
    values = np.take_along_axis(blocks, peaks, axis=1)[:, 0, :]
    return Window(window.time[step - 1:whole:step], values)
