"""Which directions of the tool's motion count, and what the joints do to them.

Positions are along the axes of the base frame, rotations about those of the tool: without `rz` the
tool may turn about its own z axis. An arm of fewer than six joints cannot choose all six.
"""

from __future__ import annotations

from collections.abc import Sequence

from eigenpy import SelfAdjointEigenSolver
import numpy as np
import pinocchio as pin

from armsense.errors import BadValue
from armsense.model import Arm
from armsense.schema import check_known
from armsense.task.pose import Pose
from armsense.types import Array

DIRECTIONS = ('x', 'y', 'z', 'rx', 'ry', 'rz')
LENGTH = 0.2   # [m] a rotation counts like the way of a point so far from the axis


class TaskKinematics:
    """Error of the tool and its Jacobian, rotations times `LENGTH`: all rows are metres."""

    def __init__(self, model: Arm, directions: Sequence[str] = ()) -> None:
        """Choose directions; none: the position, and the rotation with six joints or more."""
        self.model = model
        chosen = tuple(directions) or DIRECTIONS[:6 if model.n >= 6 else min(model.n, 3)]
        for direction in chosen:
            check_known('direction', direction, DIRECTIONS)
        if len(chosen) != len(set(chosen)) or len(chosen) > model.n:
            raise BadValue('directions', ' '.join(chosen), f'each once, and no more than the '
                           f'{model.n} joints of {model.name} can serve')
        self.directions = chosen
        self._rows = [DIRECTIONS.index(direction) for direction in chosen]
        self._turns = any(direction.startswith('r') for direction in chosen)

    def pose(self, q: Array) -> Pose:
        """Of the tool at q [rad], (n,)."""
        return Pose.of_matrix(self.model.frame_pose(q))

    def error(self, q: Array, goal: Pose) -> tuple[Array, Array]:
        """From the tool at q [rad] to a pose [m], (m,), and how dq reduces it, (m, n)."""
        position, J = self.model.tool_kinematics(q)
        if not self._turns:
            rows = self._rows
            return (goal.position - position)[rows], J[rows]
        now, J = self.pose(q), self.model.jacobian(q)
        apart = now.rotation.T @ goal.rotation
        # With R exp(w) the rotation that is left is exp(-w) apart = apart exp(-apart^T w).
        J[3:] = LENGTH * pin.Jlog3(apart) @ apart.T @ now.rotation.T @ J[3:]
        error = np.concatenate([goal.position - now.position, LENGTH * pin.log3(apart)])
        return error[self._rows], J[self._rows]

    def jacobian(self, q: Array) -> tuple[Array, Array]:
        """J of the chosen directions, (m, n), and the axes of the tool, (3, 3)."""
        J, R = self.model.jacobian(q), self.model.frame_pose(q)[:3, :3]
        J[3:] = LENGTH * R.T @ J[3:]
        return J[self._rows], R

    def rates(self, twist: Array, R: Array) -> Array:
        """Of the chosen directions [m/s], (m,), from [linear; angular] in base axes, (6,)."""
        return np.concatenate([twist[:3], LENGTH * R.T @ twist[3:]])[self._rows]

    def size(self, error: Array) -> str:
        """An error [m], (m,), in words."""
        turns = [row > 2 for row in self._rows]
        way = float(np.linalg.norm(error[np.logical_not(turns)]))
        text = f'{way:.3f} m'
        if self._turns:
            text += f' and {float(np.linalg.norm(error[turns])) / LENGTH:.3f} rad'
        return text


def damped_solve(J: Array, v: Array, threshold: float, damping: float) -> Array:
    """Smallest dq with J dq = v, bounded at singularities, (n,).

    J^T (J J^T + lambda^2 I)^-1 v with lambda^2 = damping^2 (1 - (sigma / threshold)^2) below the
    threshold of the smallest singular value sigma and zero above it: exact where the arm is
    dexterous, and no larger than |v| / min(threshold, damping) anywhere.
    """
    A = J.dot(J.T)
    if len(A) != 3:
        return _damped(J, A, v, threshold, damping)
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
