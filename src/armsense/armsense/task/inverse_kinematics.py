"""Joint angles for poses of the tool: one pose from nearby or from anywhere, a path of poses."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from armsense.errors import ArmsenseError
from armsense.task.kinematics import TaskKinematics
from armsense.task.pose import Pose
from armsense.trajectory import Limits
from armsense.types import Array

TOLERANCE = 1e-6     # [m] a pose is reached
ITERATIONS = 200
STEP = 0.3           # [rad] of one iteration at most, any joint
STUCK = 0.999        # of the error: one that shrinks no faster, for so many iterations:
PATIENCE = 8
STARTS = 24          # places from which a pose is looked for
NEAR_LIMIT = 1e-3    # [rad]
WEAK = 0.02          # [m/rad] smallest singular value: the tool hardly moves in some direction
POSTURE = 0.2        # [m] of tool motion in which the free motion covers 1 - 1/e of its way


class Unreachable(ArmsenseError):
    """A pose that the tool cannot be brought to, and why."""


class Solution(NamedTuple):
    """The nearest that was found."""

    q: Array         # [rad] (n,)
    missing: float   # [m] from the tool to the pose, rotations times LENGTH

    @property
    def reached(self) -> bool:
        return self.missing < TOLERANCE


def solve_near(kinematics: TaskKinematics, pose: Pose, start: Array, limits: Limits) -> Solution:
    """From a start [rad], (n,), the nearest way to a pose (Levenberg, Marquardt).

    Damped by the error that is left (Sugihara 2011), so that singularities slow it down and do not
    throw it off. Joints at their limits take no part until they are led back.
    """
    q, best, stuck = limits.inside(start), np.inf, 0
    for _ in range(ITERATIONS):
        error, J = kinematics.error(q, pose)
        size = float(np.linalg.norm(error))
        if size < TOLERANCE:
            return Solution(q, size)
        stuck = stuck + 1 if size > STUCK * best else 0
        if stuck > PATIENCE:
            break
        best = min(best, size)
        dq = _inside_step(J, error, 0.1 * size * size + 1e-12, q, limits)
        q = limits.inside(q + dq * min(1.0, STEP / max(float(np.abs(dq).max()), 1e-12)))
    return Solution(q, float(np.linalg.norm(kinematics.error(q, pose)[0])))


def _inside_step(J: Array, error: Array, damping: float, q: Array, limits: Limits) -> Array:
    """Damped step of the joints that are not at a limit, or that it leads away from there."""
    free = np.ones(len(q))
    for _ in range(len(q)):
        A = J * free
        dq = A.T @ np.linalg.solve(A @ A.T + damping * np.eye(len(J)), error)
        out = ((q >= limits.upper) & (dq > 0.0)) | ((q <= limits.lower) & (dq < 0.0))
        if not out.any():
            break
        free[out] = 0.0
    return np.asarray(dq)


def solutions(kinematics: TaskKinematics, pose: Pose, start: Array,
              limits: Limits) -> Iterator[Array]:
    """Joint angles at a pose [rad], (n,): from the start, from mid-range, from places between.

    The same places every time. Without any there is an `Unreachable`, which says why.
    """
    rng = np.random.default_rng(1)
    low, high = np.maximum(limits.lower, -np.pi), np.minimum(limits.upper, np.pi)
    starts = [start, 0.5 * (low + high), *rng.uniform(low, high, (STARTS, len(low)))]
    tried = []
    for place in starts:
        tried.append(solve_near(kinematics, pose, place, limits))
        if tried[-1].reached:
            yield tried[-1].q
    nearest = min(tried, key=lambda solution: solution.missing)
    if not nearest.reached:
        raise Unreachable(why_not(kinematics, pose, nearest.q, limits))


def why_not(kinematics: TaskKinematics, pose: Pose, q: Array, limits: Limits) -> str:
    """Why the tool does not get from its nearest place q [rad], (n,) to a pose, in words."""
    error, J = kinematics.error(q, pose)
    text = (f'the tool stays {kinematics.size(error)} away from '
            f'{np.round(pose.position, 3).tolist()} m')
    at = [joint for joint, x, low, high in zip(limits.joints, q, limits.lower, limits.upper,
                                               strict=True)
          if x < low + NEAR_LIMIT or x > high - NEAR_LIMIT]
    if at:
        text += f'; {", ".join(at)} at the limit'
    if np.linalg.svd(J, compute_uv=False)[-1] < WEAK:
        text += '; stretched or singular there'
    return text


def follow_poses(kinematics: TaskKinematics, poses: Sequence[Pose], start: Array, posture: Array,
                 limits: Limits) -> Array:
    """Joint angles along poses that are close to each other [rad], (N, n).

    What the task leaves free goes towards a posture [rad], (n,), as far as the tool moves: an arm
    that rests stays where it is.
    """
    rows, q = [], start
    for k, pose in enumerate(poses):
        error, J = kinematics.error(q, pose)
        way = float(np.linalg.norm(error))
        pull = (1.0 - np.exp(-way / POSTURE)) * (posture - q)
        pull -= np.linalg.pinv(J, rcond=1e-3) @ (J @ pull)
        found = solve_near(kinematics, pose, q + pull, limits)
        if not found.reached:
            raise Unreachable(f'pose {k + 1} of {len(poses)} on the way: '
                              f'{why_not(kinematics, pose, found.q, limits)}')
        if np.abs(found.q - q).max() > STEP:
            raise Unreachable(f'pose {k + 1} of {len(poses)} on the way, '
                              f'{np.round(pose.position, 3).tolist()} m, is beyond a singularity: '
                              f'the arm would have to turn over')
        q = found.q
        rows.append(q)
    return np.array(rows)
