"""Teaching by hand: a guided motion becomes a trajectory that the arm can repeat.

    record -> trim the rest at both ends -> filter without delay -> fewest waypoints within a
    tolerance -> slow down until every limit is kept

The result keeps the path of the hand; where the hand was faster than the arm may be, it takes
longer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.signal import butter, sosfiltfilt

from armsense import schema
from armsense.errors import ArmsenseError, BadValue
from armsense.model import Arm
from armsense.schema import quantity
from armsense.trajectory import Limits, QuinticSpline, sample_grid
from armsense.trajectory.limits import check_samples, Violation
from armsense.types import Array

GRID = 0.01       # [s] of the filtered path
MARGIN = 0.02     # [rad] to the position limits
SLOWER = {'velocity': 1.0, 'acceleration': 0.5, 'jerk': 1.0 / 3.0}   # T grows with ratio^this


@dataclass(frozen=True, kw_only=True)
class CleanOptions:
    """How much of the hand's motion is kept."""

    cutoff: float = quantity(3.0, unit='Hz', above=0, text='tremor and encoder noise are above')
    tolerance: float = quantity(0.01, unit='rad', above=0, text='between path and spline')
    rest_speed: float = quantity(0.03, unit='rad/s', above=0, text='slower is rest, at the ends')
    speed: float = quantity(1.0, above=0, high=1, text='fraction of the limits that may be used')


@dataclass(frozen=True)
class Lesson:
    """A taught motion."""

    arm: str
    joints: tuple[str, ...]
    times: Array        # [s] from 0, (N,)
    positions: Array    # [rad] (N, n)
    stretch: float      # duration over that of the hand
    deviation: float    # [rad] largest distance from the filtered path

    @property
    def trajectory(self) -> QuinticSpline:
        """The motion, at rest at both ends."""
        return QuinticSpline(self.times, self.positions)

    def write(self, path: str | Path) -> None:
        data = {'arm': self.arm, 'joints': list(self.joints), 'stretch': round(self.stretch, 6),
                'deviation': round(self.deviation, 6),
                'times': [round(t, 6) for t in self.times.tolist()],
                'positions': [[round(q, 6) for q in row] for row in self.positions.tolist()]}
        schema.write_yaml(data, Path(path))

    @classmethod
    def read(cls, path: str | Path) -> Lesson:
        data = schema.read_yaml(Path(path))
        try:
            lesson = cls(str(data['arm']), tuple(data['joints']), np.array(data['times'], float),
                         np.array(data['positions'], float), float(data['stretch']),
                         float(data['deviation']))
        except (KeyError, TypeError, ValueError) as error:
            raise ArmsenseError(f'{path}: not a lesson ({error!r})') from error
        if lesson.positions.shape != (len(lesson.times), len(lesson.joints)):
            raise BadValue(f'{path}: shape of positions', lesson.positions.shape,
                           f'({len(lesson.times)}, {len(lesson.joints)})')
        return lesson


def clean(times: Sequence[float] | Array, positions: Sequence[Sequence[float]] | Array,
          model: Arm, options: CleanOptions | None = None) -> Lesson:
    """Make a recording driveable: joint angles [rad], (M, n), at ascending times [s], (M,)."""
    options = options or CleanOptions()
    limits = Limits.of(model)
    t, q = _even(np.asarray(times, float), np.asarray(positions, float), model.n)
    t, q = _trim(t, _smooth(q, options.cutoff), options.rest_speed)
    q = np.clip(q, limits.lower + MARGIN, limits.upper - MARGIN)
    chosen, deviation = _waypoints(t, q, options.tolerance)
    times_kept, stretch = _slow_down(t[chosen], q[chosen], limits, model, options.speed)
    return Lesson(model.name, limits.joints, times_kept, q[chosen], stretch, deviation)


def _even(t: Array, q: Array, n: int) -> tuple[Array, Array]:
    """The recording on an even grid."""
    if q.ndim != 2 or q.shape != (len(t), n):
        raise BadValue('shape of the recorded positions', q.shape, f'({len(t)}, {n})')
    if len(t) < 2 or not (np.isfinite(t).all() and np.isfinite(q).all()):
        raise BadValue('recording', f'{len(t)} samples', 'at least two, all of them finite')
    if (np.diff(t) <= 0.0).any():
        raise BadValue('times of a recording', 'not ascending', 'ascending')
    grid = np.arange(t[0], t[-1] + 0.5 * GRID, GRID)
    return grid - grid[0], np.column_stack([np.interp(grid, t, column) for column in q.T])


def _smooth(q: Array, cutoff: float) -> Array:
    """Low-pass forwards and backwards, so that nothing is delayed."""
    if len(q) < 10:
        return q
    sos = butter(2, min(cutoff, 0.45 / GRID), fs=1.0 / GRID, output='sos')
    pad = min(len(q) - 1, round(1.0 / GRID))
    return np.asarray(sosfiltfilt(sos, q, axis=0, padlen=pad))


def _trim(t: Array, q: Array, rest: float) -> tuple[Array, Array]:
    """Without the rest before and after the motion."""
    speed = np.abs(np.gradient(q, GRID, axis=0)).max(axis=1) if len(q) > 1 else np.zeros(len(q))
    moving = np.flatnonzero(speed > rest)
    if len(moving) < 2:
        raise ArmsenseError(f'the arm was not moved: no joint was faster than {rest} rad/s')
    first, last = max(moving[0] - 1, 0), min(moving[-1] + 2, len(t))
    return t[first:last] - t[first], q[first:last]


def _waypoints(t: Array, q: Array, tolerance: float) -> tuple[list[int], float]:
    """Indices of few samples whose spline stays within the tolerance, and what it deviates."""
    chosen = [0, len(t) - 1]
    while True:
        spline = QuinticSpline(t[chosen], q[chosen])
        away = np.abs(np.array([spline.sample(float(s)).q for s in t]) - q).max(axis=1)
        away[chosen] = 0.0
        worst = int(away.argmax())
        if away[worst] <= tolerance:
            return chosen, float(away[worst])
        chosen = sorted([*chosen, *_peaks(away, chosen, tolerance)])


def _peaks(away: Array, chosen: list[int], tolerance: float) -> list[int]:
    """The worst sample of every segment that deviates too much."""
    found = []
    for low, high in zip(chosen[:-1], chosen[1:], strict=True):
        inner = away[low + 1:high]
        if len(inner) and inner.max() > tolerance:
            found.append(low + 1 + int(inner.argmax()))
    return found


def _slow_down(t: Array, q: Array, limits: Limits, model: Arm,
               speed: float) -> tuple[Array, float]:
    """Times at which the waypoints keep all limits, and the factor by which they grew."""
    allowed, factor = limits.scaled(speed), 1.0
    for _ in range(60):
        motion = QuinticSpline(t * factor, q)
        found = check_samples(sample_grid(motion, max(0.004, motion.duration / 4000)), allowed,
                              model)
        if not found:
            return t * factor, factor
        factor *= 1.001 * max(_needed(violation) for violation in found)
    raise ArmsenseError(f'no speed keeps the limits: {found[0]}')


def _needed(violation: Violation) -> float:
    """Factor on the duration that mends a violation."""
    power = SLOWER.get(violation.kind)
    if power is None:
        return 1.1   # torque: gravity does not shrink with the speed
    return float(max(1.0, abs(violation.value / violation.limit)) ** power)
