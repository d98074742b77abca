"""Piecewise quintic motion through waypoints, and from rest to rest within the limits.

Each segment is the quintic that meets position, velocity and acceleration at both of its ends, so
the motion is twice continuously differentiable. What the waypoints leave open is chosen so that
the motion keeps the shape of the waypoints: it does not swing past them, and two equal waypoints
mean rest between them. Without velocities it starts and ends at rest.
"""

from bisect import bisect_right

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import PchipInterpolator

from armsense.errors import ArmsenseError, BadValue
from armsense.model import Arm
from armsense.trajectory.limits import check_samples, Limits
from armsense.trajectory.reference import sample_grid, Samples
from armsense.types import Array, Reference

SHORTEST_SEGMENT = 1e-4   # [s]
# Peaks of the rest-to-rest quintic of unit length and unit duration.
PEAK_VELOCITY = 1.875
PEAK_ACCELERATION = 10.0 / np.sqrt(3.0)
PEAK_JERK = 60.0
SHORTEST = 0.05   # [s] from rest to rest


class QuinticSpline:
    """Motion through waypoints (`Trajectory`)."""

    def __init__(self, times: ArrayLike, positions: ArrayLike, velocities: ArrayLike | None = None,
                 accelerations: ArrayLike | None = None) -> None:
        """Fit waypoints [rad], (N, n), at ascending times [s], (N,), the first of which becomes 0.

        Velocities [rad/s], None: monotone between waypoints; accelerations [rad/s^2], None: the
        gentler of both sides; zero at the ends.
        """
        t = _times(times)
        q = _rows('positions', positions, len(t), None)
        if velocities is None and accelerations is not None:
            raise ArmsenseError('waypoints with accelerations need velocities too')
        dq = (_monotone_velocities(t, q) if velocities is None
              else _rows('velocities', velocities, len(t), q.shape[1]))
        ddq = (_gentle_accelerations(t, q, dq) if accelerations is None
               else _rows('accelerations', accelerations, len(t), q.shape[1]))
        self.n = int(q.shape[1])
        self._knots: list[float] = t.tolist()
        self.duration = self._knots[-1]
        self._table = _coefficients(np.diff(t), q, dq, ddq)   # (N - 1, 6, 5 n)
        self._last = len(t) - 2
        self._ends = (Reference.at_rest(q[0]), Reference.at_rest(q[-1]))
        self.waypoints = (t, q, dq, ddq)

    def sample(self, t: float) -> Reference:
        """The motion at time t [s]; before and after it rests at its ends."""
        if not 0.0 <= t <= self.duration:
            return self._ends[0] if t < 0.0 else self._ends[1]
        k = min(bisect_right(self._knots, t) - 1, self._last)
        s = t - self._knots[k]
        s2 = s * s
        values = np.array((1.0, s, s2, s2 * s, s2 * s2, s2 * s2 * s)) @ self._table[k]
        n = self.n
        return Reference(values[:n], values[n:2 * n], values[2 * n:3 * n],
                         values[3 * n:4 * n], values[4 * n:])

    def sample_many(self, times: Array) -> Samples:
        """The motion at times within it [s], (N,): as `sample`, all at once."""
        knots, n = self.waypoints[0], self.n
        k = np.clip(np.searchsorted(knots, times, side='right') - 1, 0, self._last)
        powers = np.vander(times - knots[k], 6, increasing=True)         # (N, 6)
        values = np.empty((len(times), 4 * n))
        edges = np.flatnonzero(np.diff(k, prepend=-1, append=-1))        # runs of one segment
        for a, b in zip(edges[:-1], edges[1:], strict=True):
            values[a:b] = powers[a:b] @ self._table[k[a], :, :4 * n]
        return Samples(times, *(values[:, i * n:(i + 1) * n] for i in range(4)))


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


def _monotone_velocities(t: Array, q: Array) -> Array:
    """Slopes of Fritsch and Carlson: zero at the ends and wherever the direction changes."""
    dq = np.zeros_like(q)
    if len(t) > 2:
        dq[1:-1] = PchipInterpolator(t, q, axis=0).derivative()(t[1:-1])
    return dq


def _gentle_accelerations(t: Array, q: Array, dq: Array) -> Array:
    """The smaller acceleration of the cubics on both sides of a waypoint where they agree.

    Zero where they bend opposite ways, and at the ends.
    """
    ddq = np.zeros_like(q)
    if len(t) == 2:
        return ddq
    h = np.diff(t)[:, None]                                    # (N - 1, 1)
    slope = np.diff(q, axis=0) / h
    at_start = (6.0 * slope - 4.0 * dq[:-1] - 2.0 * dq[1:]) / h
    at_end = (-6.0 * slope + 2.0 * dq[:-1] + 4.0 * dq[1:]) / h
    before, after = at_end[:-1], at_start[1:]                  # of the inner waypoints
    same = before * after > 0.0
    ddq[1:-1] = np.where(same, np.sign(before) * np.minimum(np.abs(before), np.abs(after)), 0.0)
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


def shortest_duration(way: Array, limits: Limits) -> float:
    """Duration [s] of a rest-to-rest quintic at its velocity, acceleration or jerk limit."""
    way = np.abs(way)
    return float(max(SHORTEST, (PEAK_VELOCITY * way / limits.velocity).max(),
                     np.sqrt(PEAK_ACCELERATION * way / limits.acceleration).max(),
                     np.cbrt(PEAK_JERK * way / limits.jerk).max()))


def point_to_point(start: ArrayLike, goal: ArrayLike, limits: Limits,
                   model: Arm | None = None, speed: float = 1.0) -> QuinticSpline:
    """Straight line in joint space [rad], from rest to rest, as fast as the limits allow.

    With a model the motion is stretched until its torques fit too. Speed is a fraction of the
    velocity limit, (0, 1]; acceleration and jerk shrink with it.
    """
    q = np.array([start, goal], float)
    rest = np.zeros_like(q)
    T = shortest_duration(q[1] - q[0], limits) / speed
    for _ in range(20):
        motion = QuinticSpline([0.0, T], q, rest, rest)
        found = check_samples(sample_grid(motion, T / 50), limits, model)
        if not any(v.kind == 'torque' for v in found):
            return motion
        T *= 1.2
    raise ArmsenseError(f'no duration keeps the torque limits: {found[0]}')
