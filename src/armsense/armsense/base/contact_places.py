"""Places on the links where a contact is looked for, and what a force there is as a wrench."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from armsense.base.contact_response import skew
from armsense.errors import BadValue
from armsense.geometry.link_surface import link_shapes, Shape
from armsense.model import Arm
from armsense.types import Array

_EYE = np.eye(3)


class ContactPlaces(NamedTuple):
    """P places, sorted by link, in the frames of their links."""

    link: NDArray[np.int64]      # (P,)
    point: Array                 # [m], (P, 3)
    axes: Array                  # columns: outward normal, two tangents, (P, 3, 3)
    shapes: tuple[Shape, ...]    # (P,)

    @classmethod
    def on(cls, model: Arm, spacing: float,
           links: tuple[str, ...] | None = None) -> ContactPlaces:
        """Places about `spacing` [m] apart on some links; None: on all that have a shape."""
        shapes = link_shapes(model)
        wanted = links if links is not None else tuple(name for name in shapes if shapes[name])
        found = [(number, place, shape)
                 for number, name in enumerate(model.link_names) if name in wanted
                 for shape in shapes[name] for place in shape.sample(spacing)
                 if not _hidden(model, shapes, number, place.point, shape)]
        if not found:
            raise BadValue('links', wanted, f'links with a shape: '
                           f'{", ".join(name for name in shapes if shapes[name])}')
        normals = np.array([place.normal for _, place, _ in found])
        return cls(np.array([number for number, _, _ in found]),
                   np.array([place.point for _, place, _ in found]),
                   surface_axes(normals), tuple(shape for _, _, shape in found))

    @classmethod
    def nowhere(cls) -> ContactPlaces:
        """No places."""
        return cls(np.zeros(0, int), np.zeros((0, 3)), np.zeros((0, 3, 3)), ())

    def near(self, distance: float) -> NDArray[np.bool_]:
        """Which places on one link are nearer to each other than a distance [m], (P, P)."""
        squares = np.square(self.point[:, None, :] - self.point).sum(axis=2)
        return np.asarray((squares < distance**2) & (self.link[:, None] == self.link))


def surface_axes(normal: Array) -> Array:
    """Normal and two tangents as columns, (P, 3) -> (P, 3, 3)."""
    # Householder: the reflection that takes the x axis to the normal (or against it).
    v = normal + np.where(normal[:, :1] < 0.0, -_EYE[:1], _EYE[:1])
    axes = _EYE - (2.0 / (v * v).sum(axis=1))[:, None, None] * (v[:, :, None] * v[:, None, :])
    axes[:, :, 0] = normal
    return np.asarray(axes)


def force_wrench(point: Array, axes: Array) -> Array:
    """Wrench per force along the axes at a point, (P, 3), (P, 3, 3) -> (P, 6, 3)."""
    return np.concatenate([axes, skew(point) @ axes], axis=1)


def _hidden(model: Arm, shapes: dict[str, list[Shape]], link: int, point: Array,
            own: Shape) -> bool:
    """Whether a place lies inside its own or a neighbouring link, however the joints stand."""
    names = model.link_names
    if any(other.inside(point, 1e-6) for other in shapes[names[link]] if other is not own):
        return True
    for neighbour in (link - 1, link + 1):
        if not 0 <= neighbour < model.n:
            continue
        if all(_covered(model, shapes[names[neighbour]], link, neighbour, point, angle)
               for angle in (-1.0, 0.0, 1.0)):
            return True
    return False


def _covered(model: Arm, others: list[Shape], link: int, neighbour: int, point: Array,
             angle: float) -> bool:
    poses = model.joint_poses(np.where(np.arange(model.n) == max(link, neighbour), angle, 0.0))
    here, there = poses[link], poses[neighbour]
    place = there[:3, :3].T @ (here[:3, :3] @ point + here[:3, 3] - there[:3, 3])
    return any(other.inside(place, 1e-6) for other in others)
