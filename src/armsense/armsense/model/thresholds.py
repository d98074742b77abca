"""Thresholds of the residuals, as model.yaml keeps them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from armsense.errors import ArmsenseError, BadValue
from armsense.schema import quantity
from armsense.types import Array

KINDS = ('fixed', 'sigma', 'motion', 'false_alarm_rate')


@dataclass(frozen=True, kw_only=True)
class Thresholds:
    """One threshold per joint, with what it rests on; plain data, for `model.yaml`."""

    kind: str = quantity(choices=KINDS)
    constant: tuple[float, ...] = quantity(unit='Nm', low=0)
    velocity: tuple[float, ...] = quantity((), unit='Nm s/rad', low=0)
    acceleration: tuple[float, ...] = quantity((), unit='Nm s^2/rad', low=0)
    rate_per_hour: float | None = quantity(None, unit='1/h', above=0,
                                           text='of all joints together')
    confidence: float | None = quantity(None, low=0, high=1,
                                        text='that the rate is not exceeded')
    minutes: float | None = quantity(None, unit='min', low=0, text='of recording they rest on')
    clusters: tuple[int, ...] = quantity((), text='peaks of each joint the fit rests on')
    warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        n = len(self.constant)
        for name in ('velocity', 'acceleration'):
            if len(getattr(self, name)) not in (0, n):
                raise BadValue(f'length of {name}', len(getattr(self, name)), f'0 or {n}')

    @cached_property
    def _parts(self) -> tuple[Array, Array, Array]:
        return np.array(self.constant), np.array(self.velocity), np.array(self.acceleration)

    @property
    def n(self) -> int:
        return len(self.constant)

    def at(self, dq: Array, ddq: Array | None = None) -> Array:
        """Thresholds [Nm], (n,) or (N, n), at a velocity and acceleration of that shape."""
        out, velocity, acceleration = self._parts
        if self.velocity:
            out = out + velocity * np.abs(dq)
        if self.acceleration:
            if ddq is None:
                raise ArmsenseError('these thresholds depend on the acceleration; ddq is missing')
            out = out + acceleration * np.abs(ddq)
        return out

    def scaled(self, factors: ArrayLike) -> Thresholds:
        """All three parts times a factor, scalar or (n,)."""
        factor = np.broadcast_to(np.asarray(factors, float), self.n)
        constant, velocity, acceleration = self._parts
        return replace(self, constant=tuple((factor * constant).tolist()),
                       velocity=tuple((factor * velocity).tolist()) if self.velocity else (),
                       acceleration=tuple((factor * acceleration).tolist())
                       if self.acceleration else ())
