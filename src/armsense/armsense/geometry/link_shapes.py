"""Capsules of an arm's links in their own frames, from the collision shapes of its URDF."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from armsense.geometry.capsules import arm_capsules
from armsense.model import Arm

_SHORTEST = 2e-3   # [m] a sphere gets an axis of this length: a contact point needs a line


class LinkCapsule(NamedTuple):
    """Shape of a link, or of a part of it, in the axes of the link's frame."""

    link: str  # frame of the model
    start: tuple[float, float, float]  # [m]
    end: tuple[float, float, float]  # [m]
    radius: float  # [m]


def link_capsules(model: Arm) -> tuple[LinkCapsule, ...]:
    """Shapes of all moving links; the axis of a capsule ends where the shape ends."""
    rest, found = np.zeros(model.n), []
    for shape in arm_capsules(model):
        if shape.link == 0:
            continue
        T = model.frame_pose(rest, shape.name)
        a, b = (T[:3, :3].T @ (end - T[:3, 3]) for end in (shape.a, shape.b))
        if np.linalg.norm(b - a) < _SHORTEST:
            half = np.array([0.5 * _SHORTEST, 0.0, 0.0])
            a, b = a - half, b + half
        found.append(LinkCapsule(shape.name, _triple(a), _triple(b), shape.radius))
    return tuple(found)


def _triple(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> tuple[float, float, float]:
    x, y, z = values.tolist()
    return x, y, z
