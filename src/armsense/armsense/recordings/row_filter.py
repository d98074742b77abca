"""Rows of numbers that can be used: complete where they must be, like the others where they may.

One number that is none would spoil its group where samples are averaged, and its signal later.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from armsense.types import Array

PARTS = ('position', 'velocity', 'effort', 'joint_position', 'strain')   # of a row, after 2 times
NECESSARY = ('position', 'effort')
OPTIONAL = {'velocity': 'velocities', 'joint_position': 'joint positions', 'strain': 'strains'}
FEW = 0.05      # share of the rows that may lack what the others have, and are left out for it


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
