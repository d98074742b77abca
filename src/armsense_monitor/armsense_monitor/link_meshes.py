"""Triangles of an arm's links, from the shapes of its URDF."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
import trimesh

from armsense.errors import ArmsenseError
from armsense.geometry.urdf_shapes import COLLISION, link_name, read_shapes, VISUAL
from armsense.model import Arm

GREY = (217, 222, 230)
SIDES = 32         # of a cylinder


class LinkMesh(NamedTuple):
    """One shape in the frame of the joint that moves it."""

    name: str                          # of the shape
    link: str
    joint: int                         # that moves it; -1: fixed to the base
    vertices: NDArray[np.float64]      # [m] (V, 3)
    faces: NDArray[np.int64]           # (F, 3)
    color: tuple[int, int, int]        # 0..255


def link_meshes(model: Arm) -> list[LinkMesh]:
    """Visual shapes; collision shapes where these cannot be read, such as missing mesh files."""
    for kind in (VISUAL, COLLISION):
        try:
            _, shapes = read_shapes(model, kind)
        except ArmsenseError:
            continue
        found = [_link_mesh(shape) for shape in shapes.geometryObjects]
        if any(found):
            return [mesh for mesh in found if mesh is not None]
    return []


def _link_mesh(shape: Any) -> LinkMesh | None:
    mesh = _triangles(shape.geometry)
    if mesh is None:
        return None
    mesh.apply_transform(shape.placement.homogeneous)
    color = np.round(255 * np.array(shape.meshColor)[:3]).astype(int)
    red, green, blue = color.tolist() if color.any() else GREY
    return LinkMesh(shape.name, link_name(shape), int(shape.parentJoint) - 1,
                    np.array(mesh.vertices), np.array(mesh.faces), (red, green, blue))


def _triangles(geometry: Any) -> trimesh.Trimesh | None:
    kind = type(geometry).__name__
    if kind == 'Cylinder':
        return trimesh.creation.cylinder(geometry.radius, 2.0 * geometry.halfLength,
                                         sections=SIDES)
    if kind == 'Capsule':
        return trimesh.creation.capsule(2.0 * geometry.halfLength, geometry.radius)
    if kind == 'Box':
        return trimesh.creation.box(2.0 * np.array(geometry.halfSide))
    if kind == 'Sphere':
        return trimesh.creation.icosphere(radius=geometry.radius)
    if hasattr(geometry, 'vertices') and hasattr(geometry, 'tri_indices'):
        faces = [[t[0], t[1], t[2]] for t in map(geometry.tri_indices, range(geometry.num_tris))]
        return trimesh.Trimesh(geometry.vertices(), faces)
    return None
