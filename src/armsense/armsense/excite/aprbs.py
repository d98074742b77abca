"""Amplitude-modulated pseudo-random binary signal with sin^2 acceleration (paper 001, section 4).

A maximum-length binary sequence says at which ticks of a clock a joint leaves its level; the
levels are the amplitudes. Between two levels, h apart, the joint moves within the time D with

    ddq = 8 h / D^2 sin^2(2 pi u)   for u = t / D < 1/2,   the negative of it afterwards,

peak velocity 2 h / D. With the ticks given, the motion is linear in the levels.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from armsense.errors import BadValue
from armsense.excite.parametrisation import Parametrisation
from armsense.types import Array

REGISTER = 9            # bits; feedback from bits 9 and 5 gives the longest sequence, 511 ticks
FEEDBACK = (8, 4)


class Aprbs(Parametrisation):
    """Coefficients per joint: the levels [rad]; the first and last hold is the start pose."""

    kind = 'aprbs'

    def __init__(self, start: ArrayLike, period: float, clock: float, move: float,
                 seed: int = 1, levels: int | None = None) -> None:
        """Draw the schedule.

        Args:
            start: Pose at both ends [rad], (n,).
            period: [s]
            clock: Shortest hold [s], move included.
            move: Duration D of a change of level [s], at most `clock`.
            seed: Of the binary sequences.
            levels: Of each joint; None: as many as the joint with the fewest changes has.
        """
        super().__init__(start, start, period)
        if not 0.0 < move <= clock:
            raise BadValue('move time of an APRBS', move, f'> 0 and <= clock ({clock} s)')
        self.clock, self.move, self.seed = float(clock), float(move), int(seed)
        ticks = math.floor((period - move) / clock + 1e-9) + 1
        schedules = [clock * _changes(ticks, 1 + (seed + 73 * joint) % 510)
                     for joint in range(self.n)]
        fewest = min(map(len, schedules)) - 1
        count = fewest if levels is None else levels
        if not 1 <= count <= fewest:
            raise BadValue('levels of an APRBS', count, f'1 to {fewest}; lengthen the period or '
                           'shorten the clock for more')
        self._times = np.array([s[:count + 1] for s in schedules])   # (n, levels + 1)

    @property
    def coefficient_names(self) -> tuple[str, ...]:
        return tuple(f'level{k}' for k in range(1, self._times.shape[1]))

    @property
    def bandwidth(self) -> float:
        """The sin^2 bumps repeat twice within a move."""
        return 2.0 / self.move

    @property
    def options(self) -> dict[str, float]:
        return {'clock': self.clock, 'move': self.move, 'seed': float(self.seed)}

    def basis(self, t: Array, order: int) -> Array:
        steps = _step((t[:, None, None] - self._times) / self.move, order) / self.move**order
        return np.asarray(steps[:, :, :-1] - steps[:, :, 1:])

    def offset(self, t: Array, order: int) -> Array:
        held = 1.0 if order == 0 else 0.0
        return np.asarray(self.start * (held - self.basis(t, order).sum(axis=2)))

    def rest(self) -> Array:
        return np.repeat(self.start[:, None], self.size, axis=1)


def _changes(ticks: int, state: int) -> Array:
    """Ticks at which the binary sequence changes its value; the first is 0."""
    bits = []
    for _ in range(ticks):
        bits.append(state & 1)
        new = (state >> FEEDBACK[0] ^ state >> FEEDBACK[1]) & 1
        state = (state << 1 | new) & (1 << REGISTER) - 1
    changed = np.flatnonzero(np.diff(bits)) + 1
    return np.concatenate([[0], changed]).astype(float)


def _step(u: Array, order: int) -> Array:
    """Unit step with the sin^2 acceleration on [0, 1] and its derivatives by u."""
    w = 4.0 * math.pi
    mirrored = u > 0.5
    s = np.clip(np.where(mirrored, 1.0 - u, u), 0.0, 0.5)   # the second half is the first, turned
    rise = (lambda: 2.0 * s**2 + 4.0 / w**2 * (np.cos(w * s) - 1.0),
            lambda: 4.0 * s - 4.0 / w * np.sin(w * s),
            lambda: 4.0 - 4.0 * np.cos(w * s),
            lambda: 4.0 * w * np.sin(w * s),
            lambda: 4.0 * w**2 * np.cos(w * s) * (s > 0.0))
    value = rise[order]()
    if order == 0:
        return np.asarray(np.where(mirrored, 1.0 - value, value))
    return np.asarray(np.where(mirrored & (order % 2 == 0), -value, value))
