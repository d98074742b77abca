"""Piecewise quintic motion through waypoints.

Each segment is the quintic that meets position, velocity and acceleration at both of its ends, so
the motion is twice continuously differentiable. What the waypoints leave open is chosen so that
it is smoother still: without accelerations the jerk is continuous, without velocities too the
motion is four times continuously differentiable and starts and ends at rest.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import make_interp_spline
from scipy.linalg import solve_banded

from armsense_core.errors import ArmsenseError, BadValue
from armsense_core.trajectory.reference import Array, Reference

SHORTEST_SEGMENT = 1e-4   # [s]


class QuinticSpline:
    """Motion through waypoints (`Trajectory`)."""

    def __init__(
        self,
        times: ArrayLike,
        positions: ArrayLike,
        velocities: ArrayLike | None = None,
        accelerations: ArrayLike | None = None,
    ) -> None:
        """Fit the waypoints.

        Args:
            times: [s] ascending; the motion begins at times[0], which becomes 0. (N,)
            positions: [rad] (N, n)
            velocities: [rad/s] (N, n). None: chosen smooth, zero at both ends.
            accelerations: [rad/s^2] (N, n). None: chosen smooth, zero at both ends.
        """
        t = _times(times)
        q = _rows('positions', positions, len(t), None)
        if velocities is None and accelerations is not None:
            raise ArmsenseError('waypoints with accelerations need velocities too')
        if velocities is None:
            dq, ddq = _free_derivatives(t, q)
        else:
            dq = _rows('velocities', velocities, len(t), q.shape[1])
            ddq = (_smooth_accelerations(t, q, dq) if accelerations is None
                   else _rows('accelerations', accelerations, len(t), q.shape[1]))
        self._n = int(q.shape[1])
        self._knots: list[float] = t.tolist()
        self._table = _coefficients(np.diff(t), q, dq, ddq)   # (N - 1, 6, 5 n)
        self._last = len(t) - 2
        self._ends = (Reference.at_rest(q[0]), Reference.at_rest(q[-1]))
        self.waypoints = (t, q, dq, ddq)

    @property
    def duration(self) -> float:
        return self._knots[-1]

    @property
    def n(self) -> int:
        return self._n

    def sample(self, t: float) -> Reference:
        """The motion at time t [s]; before and after it rests at its ends."""
        if not 0.0 <= t <= self._knots[-1]:
            return self._ends[0] if t < 0.0 else self._ends[1]
        k = min(bisect_right(self._knots, t) - 1, self._last)
        s = t - self._knots[k]
        s2 = s * s
        values = np.array((1.0, s, s2, s2 * s, s2 * s2, s2 * s2 * s)) @ self._table[k]
        n = self._n
        return Reference(values[:n], values[n:2 * n], values[2 * n:3 * n],
                         values[3 * n:4 * n], values[4 * n:])


def _times(times: ArrayLike) -> Array:
    t = np.asarray(times, float)
    if t.ndim != 1 or len(t) < 2:
        raise BadValue('number of waypoints', int(t.size), 'at least 2')
    if not np.isfinite(t).all() or (np.diff(t) < SHORTEST_SEGMENT).any():
        raise BadValue('times of the waypoints', t.tolist(),
                       f'finite and ascending by at least {SHORTEST_SEGMENT} s')
    return np.asarray(t - t[0])


def _rows(what: str, rows: ArrayLike, count: int, width: int | None) -> Array:
    array = np.asarray(rows, float)
    if array.ndim != 2 or len(array) != count or (width is not None and array.shape[1] != width):
        raise BadValue(f'shape of {what}', array.shape, f'({count}, {width or "n"})')
    if not np.isfinite(array).all():
        raise BadValue(what, array.tolist(), 'finite')
    return array


def _free_derivatives(t: Array, q: Array) -> tuple[Array, Array]:
    """Velocities and accelerations of the quintic spline at rest at both ends."""
    rest = np.zeros(q.shape[1])
    ends: Any = ([(1, rest), (2, rest)],) * 2
    spline = make_interp_spline(t, q, k=5, bc_type=ends)
    return np.asarray(spline(t, 1)), np.asarray(spline(t, 2))


def _smooth_accelerations(t: Array, q: Array, dq: Array) -> Array:
    """Accelerations with continuous jerk at the inner waypoints, zero at the ends.

    The jerk of a quintic at its ends is linear in the accelerations; setting both sides equal
    gives one tridiagonal row per inner waypoint.
    """
    N, n = q.shape
    ddq = np.zeros((N, n))
    if N == 2:
        return ddq
    h = np.diff(t)[:, None]                                    # (N - 1, 1)
    slope = np.diff(q, axis=0) / h**3
    left = 60.0 * slope - (24.0 * dq[:-1] + 36.0 * dq[1:]) / h**2
    right = 60.0 * slope - (36.0 * dq[:-1] + 24.0 * dq[1:]) / h**2
    # Jerk of a segment: right - (9 a0 - 3 a1) / h at its start, left + (9 a1 - 3 a0) / h at its
    # end.
    inv = 1.0 / h[:, 0]
    bands = np.zeros((3, N - 2))
    bands[0, 1:] = -3.0 * inv[1:-1]
    bands[1] = 9.0 * (inv[:-1] + inv[1:])
    bands[2, :-1] = -3.0 * inv[1:-1]
    ddq[1:-1] = solve_banded((1, 1), bands, right[1:] - left[:-1])
    return ddq


def _coefficients(h: Array, q: Array, dq: Array, ddq: Array) -> Array:
    """Monomials of position and its four derivatives per segment, (N - 1, 6, 5 n)."""
    h = h[:, None]
    q0, v0, a0, v1, a1 = q[:-1], dq[:-1], ddq[:-1], dq[1:], ddq[1:]
    d = q[1:] - q0
    c3 = (20 * d - (8 * v1 + 12 * v0) * h - (3 * a0 - a1) * h**2) / (2 * h**3)
    c4 = (-30 * d + (14 * v1 + 16 * v0) * h + (3 * a0 - 2 * a1) * h**2) / (2 * h**4)
    c5 = (12 * d - 6 * (v1 + v0) * h + (a1 - a0) * h**2) / (2 * h**5)
    position = np.stack([q0, v0, a0 / 2, c3, c4, c5], axis=1)   # (N - 1, 6, n)
    tables, table = [position], position
    for _ in range(4):
        table = np.concatenate(
            [table[:, 1:] * np.arange(1, 6)[None, :, None], np.zeros_like(table[:, :1])], axis=1)
        tables.append(table)
    return np.ascontiguousarray(np.concatenate(tables, axis=2))
