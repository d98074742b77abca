"""The families of motions by name, and how a design sizes them."""

from __future__ import annotations

import math

import numpy as np

from armsense.errors import ArmsenseError, BadValue, UnknownName
from armsense.excite.constraints import Constraints
from armsense.excite.families import (
    Aprbs,
    BUMP_DEGREE,
    CosinePolynomial,
    FourierSeries,
    Polynomial,
)
from armsense.excite.parametrisation import Parametrisation
from armsense.types import Array

KINDS = ('fourier', 'cosine_polynomial', 'polynomial', 'aprbs')
DEFAULT_PERIOD = {'fourier': 10.0, 'cosine_polynomial': 10.0, 'polynomial': 10.0, 'aprbs': 40.0}
DEFAULT_HARMONICS = 5
SWING = 0.25             # of the position range: what a move of an APRBS covers at the limits


def size_shape(kind: str, start: Array, end: Array, constraints: Constraints, *, period: float,
               harmonics: int, seed: int) -> Parametrisation:
    """A family whose bandwidth is harmonics / period, for an APRBS what the limits allow.

    Poses at both ends [rad], (n,); period [s]; the seed is that of the schedule of an APRBS.
    """
    if kind not in KINDS:
        raise UnknownName('kind of excitation', kind, KINDS)
    if kind in ('fourier', 'aprbs') and not np.array_equal(start, end):
        raise ArmsenseError(f'a {kind} motion ends where it starts; cosine_polynomial and '
                            'polynomial can end elsewhere')
    shape: Parametrisation
    if kind == 'fourier':
        shape = FourierSeries(start, period, harmonics)
    elif kind == 'cosine_polynomial':
        shape = CosinePolynomial(start, end, period, 2 * harmonics)
    elif kind == 'polynomial':
        shape = Polynomial(start, end, period, 2 * harmonics + 1)
    else:
        move = _move_time(constraints)
        shape = Aprbs(start, period, 1.25 * move, move, seed)
    constraints.check_band(shape.bandwidth, kind)
    return shape


def rebuild_shape(kind: str, start: Array, end: Array, period: float, size: int,
                  options: dict[str, float]) -> Parametrisation:
    """The family behind a file: `size` coefficients per joint and the kind's own options."""
    if kind == 'fourier':
        if size % 2 == 0:
            raise BadValue('number of Fourier coefficients per joint', size, 'odd: q0, a, b')
        return FourierSeries(start, period, (size - 1) // 2)
    if kind == 'cosine_polynomial':
        return CosinePolynomial(start, end, period, size)
    if kind == 'polynomial':
        return Polynomial(start, end, period, size + BUMP_DEGREE - 1)
    if kind == 'aprbs':
        for name in ('clock', 'move', 'seed'):
            if name not in options:
                raise ArmsenseError(f'aprbs: {name!r} is missing; needed: clock, move, seed')
        return Aprbs(start, period, options['clock'], options['move'], int(options['seed']), size)
    raise UnknownName('kind of excitation', kind, KINDS)


def _move_time(constraints: Constraints) -> float:
    """Shortest move over a share of the range, for the slowest joint [s]."""
    limits = constraints.limits
    swing = SWING * (limits.upper - limits.lower)
    move = float(max((2.0 * swing / limits.velocity).max(),
                     np.sqrt(8.0 * swing / limits.acceleration).max()))
    if constraints.band_limit is not None:
        move = max(move, 2.0 / constraints.band_limit)
    return math.ceil(100.0 * move) / 100.0
