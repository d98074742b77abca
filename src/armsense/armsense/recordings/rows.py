"""Rows of numbers: only what can be used, in bounded memory.

One number that is none would spoil its group where samples are averaged, and its signal later:
rows are complete where they must be, like the others where they may.

Up to `most` rows are kept as they come. Beyond that neighbours are averaged in pairs, all kept
rows and all that follow, as often as needed: an hour at 1 kHz becomes an hour at 250 Hz. Times
are averaged with the values, so nothing is shifted.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from armsense.errors import BadValue
from armsense.types import Array

PARTS = ('position', 'velocity', 'effort', 'joint_position', 'strain')   # of a row, after 2 times
NECESSARY = ('position', 'effort')
OPTIONAL = {'velocity': 'velocities', 'joint_position': 'joint positions', 'strain': 'strains'}
FEW = 0.05      # share of the rows that may lack what the others have, and are left out for it
MOST = 1_000_000


class RowFilter:
    """Leaves out rows that lack something, and counts them."""

    def __init__(self, joints: int) -> None:
        self._joints = joints
        self._lacking = dict.fromkeys(PARTS, 0)   # rows without this part
        self._given_up: set[str] = set()          # parts that too many rows lack
        self._empty = self._taken = 0             # rows without, with all that is necessary

    def __call__(self, rows: Array) -> Array:
        """Those of (N, 2 + 5 joints) that can be used."""
        whole = {name: self._whole(rows, name) for name in NECESSARY}
        keep = whole['position'] & whole['effort']
        self._empty += int(np.sum(~keep))
        rows = rows[keep]
        self._taken += len(rows)
        keep = np.ones(len(rows), bool)
        for name in OPTIONAL:
            there = self._whole(rows, name)
            if self._lacking[name] > FEW * self._taken:
                self._given_up.add(name)
            if name not in self._given_up:
                keep &= there
        return rows[keep]

    def never(self) -> str | None:
        """The necessary part that was missed most; None: no row came without."""
        name = max(NECESSARY, key=lambda name: self._lacking[name])
        return name if self._lacking[name] else None

    def notes(self) -> list[str]:
        """What was left out, and what cannot be used."""
        notes = []
        if self._empty:
            notes.append(f'{self._empty} messages without position or effort are left out')
        for name, words in OPTIONAL.items():
            count = self._lacking[name]
            if name not in self._given_up and count:
                notes.append(f'{count} messages without {words} are left out')
            elif 0 < count < self._taken:    # else nobody recorded them
                notes.append(f'measured {words} are not used, {count} messages lack them')
        return notes

    def _whole(self, rows: Array, name: str) -> NDArray[np.bool_]:
        """Which rows have a number for every joint, (N,); the others are counted."""
        first = 2 + PARTS.index(name) * self._joints
        whole = np.isfinite(rows[:, first:first + self._joints]).all(axis=1)
        self._lacking[name] += int(np.sum(~whole))
        return np.asarray(whole)


class RowStore:
    """A table that never grows beyond `most` rows."""

    def __init__(self, columns: int, most: int = MOST) -> None:
        if most < 2:
            raise BadValue('most rows', most, '>= 2')
        self._table = np.empty((min(most, 4096), columns))
        self._most, self._count = most, 0
        self._left = np.empty((0, columns))      # rows that do not fill a group yet
        self.group = 1                           # rows that became one

    def add(self, rows: Array) -> None:
        """Append rows, (N, columns)."""
        rows = np.concatenate([self._left, rows]) if len(self._left) else rows
        whole = len(rows) // self.group * self.group
        self._left = rows[whole:].copy()
        means = rows[:whole].reshape(-1, self.group, rows.shape[1]).mean(axis=1)
        while self._count + len(means) > self._most:
            if (self._count + len(means)) % 2:       # an odd one waits for its neighbour
                waiting = np.repeat(means[-1:], self.group, axis=0)
                self._left = np.concatenate([waiting, self._left])
                means = means[:-1]
            means = self._halve(means)
        self._grow(len(means))
        self._table[self._count:self._count + len(means)] = means
        self._count += len(means)

    def rows(self) -> Array:
        """All rows, (N, columns)."""
        return self._table[:self._count]

    def _halve(self, means: Array) -> Array:
        """Average the kept rows in pairs; returns what is left of the new ones."""
        odd = self._count % 2
        if odd:
            means = np.concatenate([self._table[self._count - 1:self._count], means])
            self._count -= 1
        half = self._count // 2
        pairs = self._table[:self._count].reshape(half, 2, -1)
        for start in range(0, half, 65536):          # in pieces: no second table
            stop = min(start + 65536, half)
            self._table[start:stop] = pairs[start:stop].mean(axis=1)
        self._count = half
        self.group *= 2
        return np.asarray(means.reshape(-1, 2, means.shape[1]).mean(axis=1))

    def _grow(self, more: int) -> None:
        need = self._count + more
        if need > len(self._table):
            size = min(max(need, 2 * len(self._table)), self._most)
            table = np.empty((size, self._table.shape[1]))
            table[:self._count] = self._table[:self._count]
            self._table = table
