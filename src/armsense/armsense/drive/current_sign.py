"""Signs of recorded motor currents whose sensor reports only their magnitude.

Another signal, the expected current, changes its sign where the real one does, but not in the same
instant: it is too coarse to be used as the current itself. Thesis 000, section 4.3.2: every zero
of the expected current has a zero of the real one nearby, the smallest magnitude within a window
around it. There the sign is switched.
"""

import numpy as np
from numpy.typing import ArrayLike

from armsense.errors import BadValue
from armsense.types import Array

WINDOW = 0.15   # [s] to either side of a zero of the expected current


def recover_signs(magnitude: ArrayLike, expected: ArrayLike, dt: float, *,
                  window: float = WINDOW, dead_band: float = 0.0) -> Array:
    """Signed currents of a recording [A], the shape of `magnitude`.

    Args:
        magnitude: Unsigned currents [A], (N,) or (N, n).
        expected: Of the same samples, in any unit, the same shape.
        dt: Sampling period [s].
        window: Search to either side of a zero of the expected current [s].
        dead_band: Expected values below this do not tell a sign; noise around zero is no crossing.
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
