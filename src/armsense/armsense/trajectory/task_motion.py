"""From tool positions to joint motion: inverse kinematics, tool paths, pick and place."""

from __future__ import annotations

from collections.abc import Callable

from eigenpy import SelfAdjointEigenSolver
import numpy as np
from numpy.typing import ArrayLike

from armsense.errors import ArmsenseError
from armsense.model import Arm
from armsense.trajectory.limits import Limits
from armsense.trajectory.point_to_point import shortest_duration
from armsense.trajectory.quintic_spline import QuinticSpline
from armsense.types import Array, TaskReference


def damped_solve(J: Array, v: Array, threshold: float, damping: float) -> Array:
    """Smallest dq with J dq = v, bounded at singularities, (n,).

    J^T (J J^T + lambda^2 I)^-1 v with lambda^2 = damping^2 (1 - (sigma / threshold)^2) below the
    threshold of the smallest singular value sigma and zero above it: exact where the arm is
    dexterous, and no larger than |v| / min(threshold, damping) anywhere.
    """
    A = J.dot(J.T)
    (a, b, c), (_, d, e), (_, _, f) = A.tolist()
    # Adjugate and determinant: for three by three far cheaper than any factorisation.
    u, w, z = d * f - e * e, c * e - b * f, b * e - c * d
    det, trace = a * u + b * w + c * z, a + d + f
    # The smallest eigenvalue is at least 4 det / trace^2.
    if 4.0 * det <= (threshold * trace) ** 2:
        return _damped(J, A, v, threshold, damping)
    x, y, s = (v / det).tolist()
    solution = np.array((u * x + w * y + z * s,
                         w * x + (a * f - c * c) * y + (b * c - a * e) * s,
                         z * x + (b * c - a * e) * y + (a * d - b * b) * s))
    return np.asarray(solution.dot(J))


def _damped(J: Array, A: Array, v: Array, threshold: float, damping: float) -> Array:
    """`damped_solve` from the eigenvalues of A = J J^T, where the arm may be near singular."""
    eigen = SelfAdjointEigenSolver(A)
    values, vectors = eigen.eigenvalues(), eigen.eigenvectors()   # ascending; columns
    sigma2 = max(float(values[0]), 0.0)
    if sigma2 < threshold**2:
        values = values + damping**2 * (1.0 - sigma2 / threshold**2)
    return np.asarray(vectors.dot(vectors.T.dot(v) / values).dot(J))


def inverse_kinematics(model: Arm, position: ArrayLike, start: ArrayLike,
                       tolerance: float = 1e-4) -> Array:
    """Joint angles within the limits that bring the tool to a position, from a start nearby.

    Args:
        model: The arm.
        position: [m] base frame, (3,).
        start: Where the search begins [rad], (n,).
        tolerance: [m]
    """
    goal = np.asarray(position, float)
    lower, upper = model.position_limits
    q = np.array(start, float)
    for _ in range(300):
        error = goal - model.frame_pose(q)[:3, 3]
        if np.linalg.norm(error) < tolerance:
            return q
        error *= min(1.0, 0.1 / float(np.linalg.norm(error)))
        q = np.clip(q + damped_solve(model.jacobian(q)[:3], error, 0.05, 0.05), lower, upper)
    missing = float(np.linalg.norm(goal - model.frame_pose(q)[:3, 3]))
    raise ArmsenseError(f'{model.name}: the tool does not reach {np.round(goal, 4).tolist()} m '
                        f'from here; it stays {missing:.3f} m away')


def follow_task_path(model: Arm, start: ArrayLike, path: Callable[[float], TaskReference],
                     duration: float, step: float = 0.02, gain: float = 10.0) -> QuinticSpline:
    """Joint motion along a tool path: the reference generator of thesis 004, fig. 2.6.

    The joint velocity J^-1 (dp_d + K (p_d - p)) is integrated along the desired path, damped near
    singularities.

    Args:
        model: The arm.
        start: Joint angles whose tool position is the path's beginning [rad], (n,).
        path: Tool position and velocity at a time.
        duration: [s]
        step: Between the waypoints [s].
        gain: K of the correction [1/s].
    """
    times = np.linspace(0.0, duration, max(2, round(duration / step)) + 1)
    q = np.array(start, float)
    rows = [q]
    for t0, t1 in zip(times[:-1], times[1:], strict=True):
        for u in np.linspace(t0, t1, 5)[:-1]:
            now = path(float(u))
            error = now.position - model.frame_pose(q)[:3, 3]
            velocity = now.velocity + gain * error
            q = q + (t1 - t0) / 4 * damped_solve(model.jacobian(q)[:3], velocity, 0.05, 0.05)
        rows.append(q)
    return QuinticSpline(times, np.array(rows))


def pick_and_place(model: Arm, *, swing: float = 0.7, depth: float = 0.08,
                   speed: float = 0.7, start: ArrayLike | None = None) -> QuinticSpline:
    """Home, down and up on one side, down and up on the other, home; at rest at each waypoint.

    Args:
        model: The arm.
        swing: Turn of the first joint to either side [rad].
        depth: How far the tool goes down [m].
        speed: Fraction of the velocity limits.
        start: [rad] (n,). None: home.
    """
    limits = Limits.of(model)
    home = np.array(model.config.home if start is None and model.config else start, float)
    poses = [home]
    for side in (1.0, -1.0):
        above = home.copy()
        above[0] += side * swing
        poses += [above, _lowered(model, above, depth), above]
    poses.append(home)
    ways = np.diff(poses, axis=0)
    times = np.concatenate([[0.0], np.cumsum([shortest_duration(w, limits) / speed
                                              for w in ways])])
    rest = np.zeros((len(poses), model.n))
    return QuinticSpline(times, poses, rest, rest)


def _lowered(model: Arm, q: Array, depth: float) -> Array:
    """The tool lower by `depth` [m] with the smallest joint motion; it may also move sideways."""
    lower, upper = model.position_limits
    goal = model.frame_pose(q)[2, 3] - depth
    for _ in range(50):
        missing = goal - model.frame_pose(q)[2, 3]
        if abs(missing) < 1e-4:
            return q
        J = model.jacobian(q)[2]
        q = np.clip(q + J * missing / max(float(J @ J), 1e-3), lower, upper)
    raise ArmsenseError(f'{model.name}: the tool cannot go {depth:.3f} m down from '
                        f'{np.round(q, 3).tolist()} rad')
