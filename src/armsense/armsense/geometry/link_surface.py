"""Surfaces of the links, from the collision shapes of a URDF: where a contact can be.

Cylinders, spheres and boxes; each can be sampled and can take a point to its surface.
"""

from dataclasses import dataclass
import math
from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin

from armsense.errors import ArmsenseError, UnknownName
from armsense.geometry.urdf_shapes import link_name, read_shapes
from armsense.model import Arm
from armsense.types import Array

SHAPES = ('cylinder', 'sphere', 'box')


class SurfacePoint(NamedTuple):
    """A place on a surface, in the axes that were asked in."""

    point: Array    # [m], (3,)
    normal: Array   # outwards, (3,)


@dataclass(frozen=True)
class Shape:
    """One body of a link: kind and size [m] in its own frame, which stands at R, t in the link."""

    kind: str
    size: tuple[float, ...]   # cylinder: radius, half length; sphere: radius; box: half sides
    R: Array                  # (3, 3)
    t: Array                  # (3,)

    def nearest(self, point: Array) -> SurfacePoint:
        """Nearest place on the surface to a point in the link frame."""
        p, normal = _NEAREST[self.kind](self.R.T @ (point - self.t), self.size)
        return SurfacePoint(self.t + self.R @ p, self.R @ normal)

    def inside(self, point: Array, margin: float = 0.0) -> bool:
        """Whether a point in the link frame lies deeper than `margin` [m] inside."""
        near = self.nearest(point)
        return float((point - near.point) @ near.normal) < -margin

    def sample(self, spacing: float) -> list[SurfacePoint]:
        """Places about `spacing` [m] apart."""
        return [SurfacePoint(self.t + self.R @ p, self.R @ n)
                for p, n in _SAMPLE[self.kind](self.size, spacing)]


def link_shapes(model: Arm) -> dict[str, list[Shape]]:
    """Collision shapes of every moving link; a link without one has an empty list."""
    full, found = read_shapes(model, meshes=False)
    shapes: dict[str, list[Shape]] = {name: [] for name in model.link_names}
    for body in found.geometryObjects:
        link = link_name(body)
        if link in shapes:
            own = full.frames[full.getFrameId(link, pin.FrameType.BODY)].placement
            pose = own.inverse() * body.placement
            shapes[link].append(Shape(*_size(body.geometry, link), np.array(pose.rotation),
                                      np.array(pose.translation)))
    if not any(shapes.values()):
        raise ArmsenseError(f'{model.name}: no link has a collision shape '
                            f'({", ".join(SHAPES)}) in the URDF')
    return shapes


def _size(geometry: Any, link: str) -> tuple[str, tuple[float, ...]]:
    kind = type(geometry).__name__.lower()
    if kind == 'cylinder':
        return kind, (float(geometry.radius), float(geometry.halfLength))
    if kind == 'sphere':
        return kind, (float(geometry.radius),)
    if kind == 'box':
        return kind, tuple(np.array(geometry.halfSide).tolist())
    raise UnknownName(f'collision shape of {link}', kind, SHAPES)


def _nearest_cylinder(p: Array, size: tuple[float, ...]) -> tuple[Array, Array]:
    radius, half = size
    x, y, z = p.tolist()
    rho = math.hypot(x, y)
    ux, uy = (x / rho, y / rho) if rho > 1e-12 else (1.0, 0.0)
    cap = half if z >= 0.0 else -half
    if abs(z) > half and rho < radius or (abs(z) <= half and rho < radius
                                          and half - abs(z) < radius - rho):
        return np.array([x, y, cap]), np.array([0.0, 0.0, math.copysign(1.0, cap)])
    return (np.array([ux * radius, uy * radius, min(max(z, -half), half)]),
            np.array([ux, uy, 0.0]))


def _nearest_sphere(p: Array, size: tuple[float, ...]) -> tuple[Array, Array]:
    length = float(np.linalg.norm(p))
    normal = p / length if length > 1e-12 else np.array([0.0, 0.0, 1.0])
    return size[0] * normal, normal


def _nearest_box(p: Array, size: tuple[float, ...]) -> tuple[Array, Array]:
    half = np.array(size)
    axis = int(np.argmax(np.abs(p) - half))
    side = math.copysign(1.0, p[axis])
    point, normal = np.clip(p, -half, half), np.zeros(3)
    point[axis], normal[axis] = side * half[axis], side
    return point, normal


def _sample_cylinder(size: tuple[float, ...], spacing: float) -> list[tuple[Array, Array]]:
    radius, half = size
    around = max(6, math.ceil(2.0 * math.pi * radius / spacing))
    rings = max(1, math.ceil(2.0 * half / spacing))
    places = []
    for k in range(rings):
        z = -half + (k + 0.5) * 2.0 * half / rings
        for j in range(around):
            angle = 2.0 * math.pi * (j + 0.5 * (k % 2)) / around
            n = np.array([math.cos(angle), math.sin(angle), 0.0])
            places.append((radius * n + [0.0, 0.0, z], n))
    for side in (-1.0, 1.0):
        n = np.array([0.0, 0.0, side])
        places.append((side * half * np.array([0.0, 0.0, 1.0]), n))
    return places


def _sample_sphere(size: tuple[float, ...], spacing: float) -> list[tuple[Array, Array]]:
    count = max(12, math.ceil(4.0 * math.pi * size[0]**2 / spacing**2))
    places = []
    for k in range(count):
        z = 1.0 - (2.0 * k + 1.0) / count
        angle = math.pi * (1.0 + math.sqrt(5.0)) * (k + 0.5)
        r = math.sqrt(1.0 - z * z)
        n = np.array([r * math.cos(angle), r * math.sin(angle), z])
        places.append((size[0] * n, n))
    return places


def _sample_box(size: tuple[float, ...], spacing: float) -> list[tuple[Array, Array]]:
    places = []
    for axis in range(3):
        a, b = [k for k in range(3) if k != axis]
        counts = [max(1, math.ceil(2.0 * size[k] / spacing)) for k in (a, b)]
        for i in range(counts[0]):
            for j in range(counts[1]):
                for side in (-1.0, 1.0):
                    p, n = np.zeros(3), np.zeros(3)
                    p[a] = size[a] * ((2 * i + 1) / counts[0] - 1.0)
                    p[b] = size[b] * ((2 * j + 1) / counts[1] - 1.0)
                    p[axis], n[axis] = side * size[axis], side
                    places.append((p, n))
    return places


_NEAREST = {'cylinder': _nearest_cylinder, 'sphere': _nearest_sphere, 'box': _nearest_box}
_SAMPLE = {'cylinder': _sample_cylinder, 'sphere': _sample_sphere, 'box': _sample_box}
