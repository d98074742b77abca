"""A goal for the tool: poses in, a motion of the joints out, as any other goal drives it.

With times the tool passes its poses on a smooth curve, at rest at its end. Without times it goes
along straight lines as fast as the arm's limits allow, stops at each pose or, with `blend`, rounds
the corners. `straight=False` leaves the way to the joints and only counts where they end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.interpolate import BSpline, make_interp_spline

from armsense.errors import BadValue
from armsense.model import Arm
from armsense.schema import quantity
from armsense.task.inverse_kinematics import follow_poses, solutions, Unreachable
from armsense.task.kinematics import LENGTH, TaskKinematics
from armsense.task.pose import Pose, pose_of_row, pose_rows
from armsense.trajectory import Chain, Clearance, Limits, point_to_point, QuinticSpline, Trajectory
from armsense.trajectory.limits import check_samples
from armsense.trajectory.reference import sample_grid
from armsense.types import Array, Reference

STEP = 0.02           # [s] between poses whose joint angles are computed
LINE = 0.005          # [m] likewise, where the speed is not given
FEWEST, MOST = 12, 2000   # of those on one line
SHORTEST = 1e-4       # [m] a line
SHORTEST_TIME = 0.05  # [s] of one
SLOWER = 1.02         # than the fastest: the grid may miss a peak
GROWTH = 1.1          # of the duration, until the torques fit
LONGEST_SEARCH = 40


@dataclass(frozen=True, kw_only=True)
class TaskGoal:
    """What the tool shall do."""

    poses: Sequence[Pose]                   # in the base frame
    times: Sequence[float] = ()             # [s] from the begin, ascending; empty: see above
    directions: Sequence[str] = ()          # that count; empty: as `TaskKinematics` chooses
    blend: float = quantity(0.0, unit='m', low=0, text='from corners, where they are rounded')
    speed: float = quantity(0.5, above=0, high=1, text='of the limits, without times')
    straight: bool = True

    def __post_init__(self) -> None:
        if not len(self.poses):
            raise BadValue('number of poses', 0, 'at least 1')
        for pose in self.poses:
            if not np.isfinite(np.concatenate([pose.position, np.ravel(pose.rotation)])).all():
                raise BadValue('pose', pose.position.tolist(), 'finite numbers')
        if len(self.times) not in (0, len(self.poses)):
            raise BadValue('number of times', len(self.times), f'none, or {len(self.poses)}')
        if not 0.0 < self.speed <= 1.0:
            raise BadValue('speed', self.speed, '> 0 and at most 1')
        if not 0.0 <= self.blend < np.inf:
            raise BadValue('blend', self.blend, '>= 0 m')
        if not self.straight and (len(self.times) or len(self.poses) > 1):
            raise BadValue('straight', False, 'for one pose without a time alone')

    def plan(self, model: Arm, limits: Limits, clearance: Clearance,
             now: Reference) -> Trajectory:
        """Joint motion from where the arm is led now; `Unreachable` says why there is none."""
        kinematics = TaskKinematics(model, self.directions)
        home = model.config.home
        posture = np.array(home) if home else 0.5 * (limits.lower + limits.upper)
        if not self.straight:
            return _nearest_motion(kinematics, self.poses[0], limits, clearance, now, self.speed)
        if len(self.times):
            return _timed(kinematics, self.poses, self.times, now, posture, limits)
        return _lines(kinematics, self, now, posture, limits)


def _nearest_motion(kinematics: TaskKinematics, pose: Pose, limits: Limits, clearance: Clearance,
                    now: Reference, speed: float) -> Trajectory:
    """The shortest of the joints' ways to a pose that is free."""
    ends = sorted(solutions(kinematics, pose, now.q, limits),
                  key=lambda q: float(np.abs(q - now.q).max()))
    why = ''
    for end in ends:
        motion = point_to_point(now.q, end, limits, kinematics.model, speed)
        found = clearance.check(motion)
        if not found:
            return motion
        why = why or '; '.join(map(str, found))
    raise Unreachable(f'{len(ends)} ways to {np.round(pose.position, 3).tolist()} m, none is '
                      f'free: {why}')


def _timed(kinematics: TaskKinematics, poses: Sequence[Pose], times: Sequence[float],
           now: Reference, posture: Array, limits: Limits) -> Trajectory:
    """A smooth curve through poses at their times, from the present one."""
    t, rows = np.asarray(times, float), list(poses)
    if t[0] > 0.0:
        t, rows = np.concatenate([[0.0], t]), [kinematics.pose(now.q), *rows]
    if not np.isfinite(t).all() or (np.diff(t) <= 0.0).any() or t[0] != 0.0 or len(t) < 2:
        raise BadValue('times of the poses', t.tolist(), '>= 0 s, ascending')
    curve = _smooth(t, pose_rows(rows))
    grid = np.linspace(0.0, t[-1], max(FEWEST, int(np.ceil(t[-1] / STEP))) + 1)
    joints = follow_poses(kinematics, [pose_of_row(row) for row in curve(grid)], now.q, posture,
                          limits)
    return _spline(grid, joints)


def _lines(kinematics: TaskKinematics, goal: TaskGoal, now: Reference, posture: Array,
           limits: Limits) -> Trajectory:
    """Straight lines, with a stop at each pose or around the corners."""
    rows = pose_rows([kinematics.pose(now.q), *goal.poses])
    kept = [0, *(k for k in range(1, len(rows)) if _length(rows[k] - rows[k - 1]) > SHORTEST)]
    rows = rows[kept]
    if len(rows) < 2:
        return QuinticSpline([0.0, 0.1], [now.q, now.q])
    parts = [rows] if goal.blend > 0.0 else [rows[k:k + 2] for k in range(len(rows) - 1)]
    motions: list[Trajectory] = []
    q = now.q
    for part in parts:
        motions.append(_line(kinematics, part, goal, q, posture, limits))
        q = motions[-1].sample(motions[-1].duration).q
    return motions[0] if len(motions) == 1 else Chain(motions)


def _line(kinematics: TaskKinematics, rows: Array, goal: TaskGoal, q: Array, posture: Array,
          limits: Limits) -> Trajectory:
    """From rest to rest along rows of `pose_rows`, in the shortest time over `goal.speed`."""
    path = _rounded(rows, goal.blend)
    count = int(np.clip(np.ceil(path.duration / LINE), FEWEST, MOST))
    u = np.linspace(0.0, 1.0, count + 1)
    way = path.duration * u**3 * (10.0 - 15.0 * u + 6.0 * u * u)
    poses = [pose_of_row(path.sample(min(float(s), path.duration)).q) for s in way]
    joints = follow_poses(kinematics, poses, q, posture, limits)
    samples = sample_grid(_spline(u, joints), 1.0 / (4 * count))
    T = SLOWER * max(float((np.abs(samples.dq).max(0) / limits.velocity).max()),
                     float(np.sqrt(np.abs(samples.ddq).max(0) / limits.acceleration).max()),
                     float(np.cbrt(np.abs(samples.jerk).max(0) / limits.jerk).max()),
                     SHORTEST_TIME) / goal.speed
    for _ in range(LONGEST_SEARCH):
        motion = _spline(T * u, joints)
        found = check_samples(sample_grid(motion, T / 200), limits, kinematics.model)
        if not found:
            return motion
        if found[0].kind == 'position':
            break
        T *= GROWTH
    raise Unreachable(f'no duration keeps the limits: {found[0]}')


def _rounded(rows: Array, blend: float) -> QuinticSpline:
    """Lines whose corners are rounded from so far [m] on; its time is the way [m]."""
    ways = np.array([_length(d) for d in np.diff(rows, axis=0)])
    along = np.diff(rows, axis=0) / ways[:, None]
    times, points, speeds = [0.0], [rows[0]], [along[0]]
    for k in range(1, len(rows) - 1):
        r = min(blend, 0.45 * ways[k - 1], 0.45 * ways[k])
        before = times[-1] + float(_length(rows[k] - r * along[k - 1] - points[-1]))
        times += [before, before + 2.0 * r]
        points += [rows[k] - r * along[k - 1], rows[k] + r * along[k]]
        speeds += [along[k - 1], along[k]]
    times.append(times[-1] + float(_length(rows[-1] - points[-1])))
    return QuinticSpline(times, [*points, rows[-1]], [*speeds, along[-1]],
                         np.zeros((len(times), rows.shape[1])))


def _length(row: Array) -> float:
    """Way of the tool [m] between two rows of `pose_rows`; a quaternion turns by half."""
    return float(np.hypot(np.linalg.norm(row[:3]), 2.0 * LENGTH * np.linalg.norm(row[3:])))


def _smooth(t: Array, rows: Array) -> BSpline:
    """Curve through rows, four times continuously differentiable, at rest at both ends."""
    # Of both ends; the stubs of SciPy know none of its derivatives.
    rest: Any = [(order, np.zeros(rows.shape[1])) for order in (1, 2)]
    return make_interp_spline(t, rows, 5, bc_type=(rest, rest))


def _spline(t: Array, q: Array) -> QuinticSpline:
    """Joint motion through many close positions [rad], (N, n), from rest to rest."""
    curve = _smooth(t, q)
    return QuinticSpline(t, curve(t), curve(t, 1), curve(t, 2))
