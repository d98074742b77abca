"""Which force at which point can be felt (thesis 003, figs. 4.3).

A force F at p changes the felt wrench by  A(p) F  with  A(p) = S [1; [p]x]. A threshold t_i on
each felt axis makes a force detectable when |A F|_i > t_i for one of them.
"""

import itertools
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from armsense.base.cell_layout import CellLayout
from armsense.base.contact_places import ContactPlaces
from armsense.errors import BadValue
from armsense.model import Arm
from armsense.types import Array

DIRECTIONS = 600   # on the half sphere, for layouts of more than three axes


class DetectableForce(NamedTuple):
    """Smallest forces at one point."""

    axis: Array        # [N] along x, y, z of the base frame, (3,)
    worst: float       # [N] in the direction that is felt least; inf: a direction is not felt
    direction: Array   # that direction, (3,)
    best: float        # [N] in the direction that is felt most


def force_response(layout: CellLayout, points: ArrayLike) -> Array:
    """A(p) of points [m], (N, 3) -> (N, k, 3)."""
    p = np.asarray(points, float).reshape(-1, 3)
    J = np.zeros((len(p), 6, 3))
    J[:, [0, 1, 2], [0, 1, 2]] = 1.0
    J[:, 3, 1], J[:, 3, 2] = -p[:, 2], p[:, 1]
    J[:, 4, 0], J[:, 4, 2] = p[:, 2], -p[:, 0]
    J[:, 5, 0], J[:, 5, 1] = -p[:, 1], p[:, 0]
    return np.asarray(np.einsum('ij,njc->nic', layout.selection, J))


def detectable_force(layout: CellLayout, point: ArrayLike,
                     threshold: ArrayLike) -> DetectableForce:
    """Smallest forces at a point [m], base frame, that cross thresholds [N, Nm], (k,)."""
    t = np.broadcast_to(np.asarray(threshold, float), len(layout.axes))
    if not (np.isfinite(t) & (t > 0.0)).all():
        raise BadValue('threshold', t.tolist(), 'positive')
    A = force_response(layout, point)[0] / t[:, None]               # (k, 3), 1 is the threshold
    with np.errstate(divide='ignore'):
        axis = 1.0 / np.abs(A).max(axis=0)
        best = float(1.0 / np.linalg.norm(A, axis=1).max())
    worst, direction = _worst(A)
    return DetectableForce(axis, worst, direction, best)


def detectable_push(layout: CellLayout, points: ArrayLike, normals: ArrayLike,
                    threshold: ArrayLike) -> Array:
    """Smallest push against a surface that crosses a threshold [N], (N,); inf: never.

    Points [m] on the surface and its normals there, base frame, (N, 3); thresholds as above.
    """
    felt = np.einsum('nkc,nc->nk', force_response(layout, points), np.asarray(normals, float))
    with np.errstate(divide='ignore'):
        return np.asarray(1.0 / (np.abs(felt) / np.asarray(threshold, float)).max(axis=1))


def surface_pushes(model: Arm, layout: CellLayout, places: ContactPlaces, q: Array,
                   threshold: ArrayLike) -> tuple[Array, Array]:
    """Places on the links [m], (P, 3), and the smallest push that is found there [N], (P,)."""
    poses = model.joint_poses(q)[places.link]
    R = poses[:, :3, :3]
    points = poses[:, :3, 3] + (R @ places.point[:, :, None])[:, :, 0]
    normals = (R @ places.axes[:, :, :1])[:, :, 0]
    return points, detectable_push(layout, points, normals, threshold)


def _worst(A: Array) -> tuple[float, Array]:
    """Longest undetected force: the farthest point of the set |A F|_i <= 1, and its direction."""
    _, singular, V = np.linalg.svd(A)
    if len(singular) < 3 or singular[-1] < 1e-9 * singular[0]:
        return float('inf'), V[-1]
    if len(A) == 3:   # the set is a parallelepiped: its farthest point is a corner
        corners = np.array([(1.0, b, c) for b, c in itertools.product((-1.0, 1.0), repeat=2)])
        forces = np.linalg.solve(A, corners.T).T
    else:
        directions = _half_sphere(DIRECTIONS)
        forces = directions / np.abs(directions @ A.T).max(axis=1)[:, None]
    lengths = np.linalg.norm(forces, axis=1)
    far = int(np.argmax(lengths))
    return float(lengths[far]), forces[far] / lengths[far]


def _half_sphere(count: int) -> Array:
    """Directions spread evenly (a spiral), (count, 3)."""
    k = np.arange(count) + 0.5
    z = k / count
    angle = np.pi * (1.0 + np.sqrt(5.0)) * k
    r = np.sqrt(1.0 - z * z)
    return np.stack([r * np.cos(angle), r * np.sin(angle), z], axis=1)
