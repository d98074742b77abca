"""An intended contact in words: for how long, and which joints may be loaded."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from armsense.errors import BadValue, UnknownName

LONGEST = 60.0      # [s] an intent that nobody renews ends by itself


def read_intent(text: str, joint_names: Sequence[str]) -> tuple[float, NDArray[np.bool_]]:
    """Seconds and mask (n,) of a text such as `0.5 joint3 joint4`; no joint: all of them."""
    number, *names = text.split() or ['']
    try:
        seconds = float(number)
    except ValueError:
        seconds = -1.0
    if not 0.0 <= seconds <= LONGEST:
        raise BadValue('intended contact', text, f'seconds from 0 to {LONGEST:g}, then joints')
    for name in names:
        if name not in joint_names:
            raise UnknownName('joint', name, joint_names)
    return seconds, np.array([not names or name in names for name in joint_names])
