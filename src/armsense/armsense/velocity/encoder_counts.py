"""Encoder counts of limited width -> continuous angle."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armsense.errors import BadValue
from armsense.types import Array


class EncoderCounts:
    """Unwraps counters that roll over; a jump of half the range or more is taken the short way."""

    def __init__(self, counts_per_turn: ArrayLike, modulus: int | None = None) -> None:
        """Per joint.

        Args:
            counts_per_turn: Of the joint (shaft counts times gear ratio), scalar or (n,).
            modulus: Counter values before it starts again, such as 65536; None: never.
        """
        counts = np.asarray(counts_per_turn, float)
        if not (np.isfinite(counts) & (counts > 0.0)).all():
            raise BadValue('counts_per_turn', counts.tolist(), '> 0')
        self._step = 2.0 * math.pi / counts  # [rad]
        if modulus is not None and modulus < 2:
            raise BadValue('modulus', modulus, '>= 2')
        self._modulus = modulus
        self.reset()

    def reset(self) -> None:
        """The next counts are taken as they are."""
        self._last: NDArray[np.int64] | None = None
        self._total: NDArray[np.int64] = np.zeros(0, np.int64)

    def angle(self, counts: ArrayLike) -> Array:
        """[rad], (n,), of whole counts, (n,)."""
        now = np.asarray(counts, np.int64)
        if self._last is None:
            self._total = now.copy()
        else:
            change = now - self._last
            if self._modulus is not None:
                half = self._modulus // 2
                change = (change + half) % self._modulus - half
            self._total = self._total + change
        self._last = now.copy()
        return np.asarray(self._total * self._step)
