"""Sign of a motor current whose sensor reports only its magnitude.

The motor's voltage equation gives the current that would flow (thesis 000, eq. 4.52)

    i' = (u - k_v dtheta) / R_a

It is too coarse to be used as the current itself, and friction moves its zeros, but every zero of
i' has a zero of the real current nearby: the smallest magnitude within a window around it. There
the sign is switched (thesis 000, section 4.3.2).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from armsense.errors import BadValue
from armsense.types import Array

WINDOW = 0.15   # [s] to either side of a zero of i'


def expected_current(voltage: ArrayLike, motor_velocity: ArrayLike, speed_constant: ArrayLike,
                     resistance: ArrayLike) -> Array:
    """Current i' of eq. 4.52 [A].

    Args:
        voltage: At the motor's terminals [V].
        motor_velocity: [rad/s] motor side of the gear.
        speed_constant: k_v, back-EMF per velocity [V s/rad].
        resistance: R_a [ohm].
    """
    return np.asarray((np.asarray(voltage, float) - np.asarray(speed_constant, float)
                       * np.asarray(motor_velocity, float)) / np.asarray(resistance, float))


def recover_signs(magnitude: ArrayLike, expected: ArrayLike, dt: float, *,
                  window: float = WINDOW, dead_band: float = 0.0) -> Array:
    """Signed currents of a recording [A], the shape of `magnitude`.

    Args:
        magnitude: Unsigned currents [A], (N,) or (N, n).
        expected: i' of the same samples [A], the same shape.
        dt: Sampling period [s].
        window: Search to either side of a zero of i' [s].
        dead_band: |i'| below this [A] does not tell a sign; noise around zero is no crossing.
    """
    size, guess = np.abs(np.asarray(magnitude, float)), np.asarray(expected, float)
    if size.shape != guess.shape:
        raise BadValue('shape of expected', guess.shape, f'{size.shape}, that of magnitude')
    if not dt > 0.0:
        raise BadValue('dt', dt, '> 0 s')
    if size.ndim == 1:
        return _recover_one(size, guess, round(window / dt), dead_band)
    columns = [_recover_one(size[:, k], guess[:, k], round(window / dt), dead_band)
               for k in range(size.shape[1])]
    return np.stack(columns, axis=1)


class CurrentSign:
    """Sign of each motor's current while it runs, for sensors without one.

    It cannot look ahead: the sign follows i' where that is clear, and is kept in between.
    """

    def __init__(self, n: int, dead_band: ArrayLike = 0.0) -> None:
        """Signs of n motors; |i'| below `dead_band` [A] changes nothing."""
        self._sign = np.ones(n)
        self._dead_band = np.broadcast_to(np.asarray(dead_band, float), (n,))

    def step(self, magnitude: Array, expected: Array) -> Array:
        """Signed currents of this cycle [A], (n,)."""
        clear = np.abs(expected) > self._dead_band
        self._sign = np.where(clear, np.sign(expected), self._sign)
        return np.asarray(self._sign * magnitude)


def _recover_one(size: Array, guess: Array, reach: int, dead_band: float) -> Array:
    clear = np.flatnonzero(np.abs(guess) > dead_band)
    if len(clear) == 0:
        return size
    signs = np.sign(guess[clear])
    turns = np.flatnonzero(np.diff(signs))
    # The crossing is between the last clear sample before and the first one after.
    crossings = (clear[turns] + clear[turns + 1] + 1) // 2
    if len(crossings) == 0:
        return np.asarray(signs[0] * size)
    # Windows end half way to the next crossing, so that no zero is taken for two of them.
    halves = np.concatenate([[0], (crossings[:-1] + crossings[1:]) // 2, [len(size)]])
    sign = np.full(len(size), signs[0])
    rows = zip(crossings, halves[:-1], halves[1:], signs[turns + 1], strict=True)
    for crossing, first, last, after in rows:
        low, high = max(crossing - reach, first), min(crossing + reach + 1, last)
        # Set, not switched: a zero that the current does not have is mended at the next one.
        sign[low + int(np.argmin(size[low:high])):] = after
    return np.asarray(sign * size)
