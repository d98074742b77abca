"""What a design is asked for, and what it tells while it runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from armsense.excite.criteria import CRITERIA
from armsense.excite.kinds import DEFAULT_HARMONICS, KINDS
from armsense.schema import quantity


@dataclass(frozen=True, kw_only=True)
class DesignOptions:
    """What to design and how long to search."""

    kind: str = quantity('fourier', choices=KINDS)
    criterion: str = quantity('d_optimal', choices=tuple(CRITERIA))
    period: float | None = quantity(None, unit='s', above=0, text='None: 10 s, APRBS 40 s')
    harmonics: int = quantity(DEFAULT_HARMONICS, low=2, text='bandwidth = harmonics / period')
    seed: int = quantity(1, low=0)
    time_limit: float = quantity(19.0, unit='s', low=0, text='of all; 0: until converged')
    starts: int = quantity(4, low=1, text='guesses whose optimisation is begun')
    guesses: int = quantity(24, low=1, text='random guesses that the starts are picked from')
    iterations: int = quantity(80, low=1, text='of the best start, at most')
    two_sided: bool | None = quantity(None, text='actuator and load side; None: if elastic')


class SearchStep(NamedTuple):
    """Told while the search runs."""

    fraction: float      # 0..1
    start: int           # number of the start, from 0
    iteration: int
    objective: float     # of the best feasible motion, what is minimised
    feasible: bool       # whether the present point is feasible
    seconds: float
