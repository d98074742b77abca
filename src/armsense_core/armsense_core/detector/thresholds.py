"""Thresholds of the residual: constant, and growing with speed and acceleration.

Joint j is free while |r_j| <= constant_j + velocity_j |dq_j| + acceleration_j |ddq_j|.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
import scipy.optimize

from armsense_core.errors import ArmsenseError, BadValue
from armsense_core.schema import quantity

Array = NDArray[np.float64]

KINDS = ('fixed', 'sigma', 'motion', 'false_alarm_rate')
_REST_FLOOR = 0.1  # least constant part, as a share of the median residual
_CELLS = 64  # per axis, into which recorded speeds and accelerations are sorted


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
        return replace(self, constant=_tuple(factor * constant),
                       velocity=_tuple(factor * velocity) if self.velocity else (),
                       acceleration=_tuple(factor * acceleration) if self.acceleration else ())


def fixed_thresholds(values: ArrayLike) -> Thresholds:
    """Constant thresholds [Nm], (n,)."""
    array = np.atleast_1d(np.asarray(values, float))
    if array.ndim != 1 or not (np.isfinite(array) & (array > 0.0)).all():
        raise BadValue('thresholds', np.asarray(values).tolist(), 'positive and finite')
    return Thresholds(kind='fixed', constant=_tuple(array))


def sigma_thresholds(residuals: Array, dt: float, factor: float = 6.0) -> Thresholds:
    """Mean plus `factor` standard deviations of collision-free residuals (N, n) (paper 001: 6)."""
    residuals = recording('residuals', residuals)
    values = np.abs(residuals.mean(axis=0)) + factor * residuals.std(axis=0)
    return Thresholds(kind='sigma', constant=_tuple(values), minutes=len(residuals) * dt / 60.0)


def motion_thresholds(
    residuals: Array, dq: Array, dt: float, ddq: Array | None = None, margin: float = 1.2,
) -> Thresholds:
    """The lowest plane a + b |dq| + c |ddq| over all recorded residuals, times a margin.

    Args:
        residuals: Collision-free [Nm], (N, n).
        dq: Velocities [rad/s], (N, n).
        dt: Sampling period [s].
        ddq: Accelerations [rad/s^2], (N, n); None: no acceleration term.
        margin: Factor on the plane.
    """
    residuals = recording('residuals', residuals)
    speeds = [np.abs(recording('dq', dq))]
    if ddq is not None:
        speeds.append(np.abs(recording('ddq', ddq)))
    if any(s.shape != residuals.shape for s in speeds):
        raise BadValue('shapes', [s.shape for s in speeds], f'{residuals.shape}, as the residuals')
    planes = np.array([_envelope(np.abs(residuals[:, j]), [s[:, j] for s in speeds])
                       for j in range(residuals.shape[1])]) * margin  # (n, 2 or 3)
    return Thresholds(
        kind='motion', constant=_tuple(planes[:, 0]), velocity=_tuple(planes[:, 1]),
        acceleration=_tuple(planes[:, 2]) if ddq is not None else (),
        minutes=len(residuals) * dt / 60.0)


def recording(what: str, values: ArrayLike) -> Array:
    """A finite recording, (N, n)."""
    array = np.asarray(values, float)
    if array.ndim != 2 or len(array) < 2:
        raise BadValue(f'shape of {what}', array.shape, '(N, n) with N > 1')
    if not np.isfinite(array).all():
        raise BadValue(what, 'NaN or infinity', 'finite; leave invalid samples out')
    return array


def _envelope(height: Array, axes: list[Array]) -> Array:
    """Coefficients >= 0 of the plane over all points with the least mean height."""
    cells = np.zeros(len(height), np.intp)
    for axis in axes:
        width = max(axis.max(), 1e-12) / _CELLS
        cells = cells * (_CELLS + 1) + np.minimum(axis / width, _CELLS - 1).astype(np.intp)
    # Per cell, only its highest point at its lowest speed binds: a little more than needed.
    order = np.argsort(cells, kind='stable')
    starts = np.flatnonzero(np.diff(cells[order], prepend=-1))
    top = np.maximum.reduceat(height[order], starts)
    low = [np.minimum.reduceat(axis[order], starts) for axis in axes]
    A = np.stack([np.ones(len(top)), *low], axis=1)
    cost = np.array([1.0, *(axis.mean() for axis in axes)])
    # A floor on the constant part keeps the arm at rest from having no threshold at all.
    floor = _REST_FLOOR * float(np.median(height))
    solution = scipy.optimize.linprog(cost, A_ub=-A, b_ub=-top,
                                      bounds=[(floor, None)] + [(0.0, None)] * len(axes))
    if not solution.success:
        raise ArmsenseError(f'no plane over the residuals was found: {solution.message}')
    return np.asarray(solution.x)


def _tuple(values: Array) -> tuple[float, ...]:
    return tuple(float(v) for v in values)
