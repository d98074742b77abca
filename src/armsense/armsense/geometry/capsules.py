"""Capsules around the collision shapes of a URDF, for distances that an optimiser can follow.

A capsule holds all points within a radius of a segment. The capsule of a cylinder has the
cylinder's full axis as its segment and so contains it: a motion that keeps capsules apart keeps
the shapes apart.
"""

from typing import NamedTuple

import numpy as np
import pinocchio as pin

from armsense.geometry.urdf_shapes import link_name, read_shapes
from armsense.model import Arm
from armsense.types import Array

_SHORTEST = 2e-3   # [m] a sphere gets an axis of this length: a contact point needs a line


class Capsule(NamedTuple):
    """One capsule at q = 0, base frame."""

    name: str        # of the URDF link
    link: int        # number of joints before it; 0: fixed to the base
    a: Array         # ends of the segment [m], (3,)
    b: Array
    radius: float    # [m]


def arm_capsules(model: Arm, missing_ok: bool = False) -> list[Capsule]:
    """One capsule per collision shape of the arm's URDF; joints that do not move are locked.

    Who keeps shapes apart needs all of them; who looks for a contact does with those there are.
    """
    full, shapes = read_shapes(model, missing_ok=missing_ok)
    data, placed = full.createData(), pin.GeometryData(shapes)
    pin.updateGeometryPlacements(full, data, shapes, placed, pin.neutral(full))
    found = []
    for shape, pose in zip(shapes.geometryObjects, placed.oMg, strict=True):
        a, b, radius = _segment(shape.geometry)
        found.append(Capsule(link_name(shape), int(shape.parentJoint),
                             np.array(pose.act(a)), np.array(pose.act(b)), radius))
    return found


def _segment(geometry: object) -> tuple[Array, Array, float]:
    """Segment and radius of a capsule around a shape, in the shape's own frame."""
    kind = type(geometry).__name__
    if kind in ('Cylinder', 'Capsule'):
        half = np.array([0.0, 0.0, geometry.halfLength])   # type: ignore[attr-defined]
        return -half, half, float(geometry.radius)         # type: ignore[attr-defined]
    geometry.computeLocalAABB()                            # type: ignore[attr-defined]
    box = geometry.aabb_local                              # type: ignore[attr-defined]
    low, high = np.array(box.min_), np.array(box.max_)
    if kind == 'Sphere':
        center = 0.5 * (low + high)
        return center, center, float(0.5 * (high - low)[0])
    along = int(np.argmax(high - low))                     # box, mesh: around its bounding box
    a, b = 0.5 * (low + high), 0.5 * (low + high)
    a[along], b[along] = low[along], high[along]
    across = np.delete(high - low, along)
    return a, b, float(0.5 * np.linalg.norm(across))


def closest_points(a: Array, b: Array, c: Array, d: Array) -> tuple[Array, Array]:
    """Closest points of the segments ab and cd, each (..., 3)."""
    u, v, w = b - a, d - c, a - c
    uu, vv = np.sum(u * u, -1), np.sum(v * v, -1)
    uv, uw, vw = np.sum(u * v, -1), np.sum(u * w, -1), np.sum(v * w, -1)
    tiny = 1e-12
    denominator = np.maximum(uu * vv - uv * uv, tiny)
    s = np.clip((uv * vw - vv * uw) / denominator, 0.0, 1.0)
    t = np.clip((uv * s + vw) / np.maximum(vv, tiny), 0.0, 1.0)
    # With t cut to its segment, s is optimal for that t again.
    s = np.clip((uv * t - uw) / np.maximum(uu, tiny), 0.0, 1.0)
    return a + s[..., None] * u, c + t[..., None] * v


class LinkCapsule(NamedTuple):
    """Shape of a link, or of a part of it, in the axes of the link's frame."""

    link: str  # frame of the model
    start: tuple[float, float, float]  # [m]
    end: tuple[float, float, float]  # [m]
    radius: float  # [m]


def link_capsules(model: Arm) -> tuple[LinkCapsule, ...]:
    """Shapes of all moving links; the axis of a capsule ends where the shape ends."""
    rest, found = np.zeros(model.n), []
    for shape in arm_capsules(model, missing_ok=True):
        if shape.link == 0:
            continue
        T = model.frame_pose(rest, shape.name)
        a, b = (T[:3, :3].T @ (end - T[:3, 3]) for end in (shape.a, shape.b))
        if np.linalg.norm(b - a) < _SHORTEST:
            half = np.array([0.5 * _SHORTEST, 0.0, 0.0])
            a, b = a - half, b + half
        found.append(LinkCapsule(shape.name, tuple(a.tolist()), tuple(b.tolist()), shape.radius))
    return tuple(found)
