"""Where contacts are looked for, and what a force there shows in the joints and at the base.

A wrench w = [F; M] in the frame of link L makes

    tau_i = [o_i x z_i; z_i] . W,  i <= L      felt = S W      with W = w moved to the base frame

so that y = A_L w with one matrix per link, whitened by the covariances of both residuals. A force
at the point p of the link has M = p x F.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armsense.base.cell_layout import CellLayout
from armsense.errors import ArmsenseError, BadValue
from armsense.geometry.link_surface import link_shapes, Shape
from armsense.model import Arm
from armsense.types import Array

# Row i: [e_i]x, flattened; a product with a is many times faster than np.cross of a few vectors.
_SKEW = np.array([[0, 0, 0, 0, 0, -1, 0, 1, 0], [0, 0, 1, 0, 0, 0, -1, 0, 0],
                  [0, -1, 0, 1, 0, 0, 0, 0, 0]], float)
_EYE = np.eye(3)


class PoseResponse(NamedTuple):
    """Of one pose."""

    rotation: Array   # of the links, (n, 3, 3)
    origin: Array     # [m], (n, 3)
    A: Array          # whitened residuals per wrench in the link frame, (n, rows, 6)


class ContactResponse:
    """Of one arm on its cells."""

    def __init__(self, model: Arm, layout: CellLayout, joint_covariance: ArrayLike | None,
                 base_covariance: ArrayLike | None) -> None:
        """For an arm whose joints all turn; covariances of joint (n, n) and felt (k, k) residuals.

        None: joints or base are not used.
        """
        self.model, self._layout = model, layout
        self.weigh(joint_covariance, base_covariance)
        # Axes of the joints in their own frames, which the pose does not change, (n, 3, 1).
        rest = np.zeros(model.n)
        J = model.jacobian(rest, model.link_names[-1])
        R = model.joint_poses(rest)[:, :3, :3]
        self._axis = R.transpose(0, 2, 1) @ J[3:].T[:, :, None]
        self._up_to = np.tri(model.n)[:, :, None]  # joints that move a link, (n, n, 1)

    def weigh(self, joint_covariance: ArrayLike | None,
              base_covariance: ArrayLike | None) -> None:
        """Use other covariances from now on."""
        if joint_covariance is None and base_covariance is None:
            raise ArmsenseError('a contact needs the joint residual, the base residual or both')
        n, k = self.model.n, len(self._layout.axes)
        self._joint = None if joint_covariance is None else _whitening(joint_covariance, n)
        self._base = None if base_covariance is None else _whitening(base_covariance, k)
        rows = (n if self._joint is not None else 0) + (k if self._base is not None else 0)
        self._at_base = np.zeros((n, rows, 6))     # of wrenches in the base frame
        if self._base is not None:                 # the base feels alike whatever the pose
            self._at_base[:, rows - k:] = self._base @ self._layout.selection

    def whiten(self, tau: Array, felt: Array) -> Array:
        """Both residuals with unit covariance, (rows,)."""
        parts = [] if self._joint is None else [self._joint @ tau]
        if self._base is not None:
            parts.append(self._base @ felt)
        return np.concatenate(parts)

    def at(self, q: Array) -> PoseResponse:
        """For joint positions [rad], (n,)."""
        poses = self.model.joint_poses(q)
        R, o, n = poses[:, :3, :3], poses[:, :3, 3], self.model.n
        lever = skew(o)
        if self._joint is not None:
            z = R @ self._axis                                                    # (n, 3, 1)
            torques = np.concatenate([lever @ z, z], axis=1)[:, :, 0]             # (n, 6)
            self._at_base[:, :n] = self._joint @ (self._up_to * torques)
        move = np.zeros((n, 6, 6))                                # link frame to base frame
        move[:, :3, :3] = move[:, 3:, 3:] = R
        move[:, 3:, :3] = lever @ R
        return PoseResponse(R, o, self._at_base @ move)


def skew(a: Array) -> Array:
    """[a]x of vectors, (P, 3) -> (P, 3, 3)."""
    return np.asarray((a @ _SKEW).reshape(-1, 3, 3))


def _whitening(covariance: ArrayLike, size: int) -> Array:
    C = np.asarray(covariance, float)
    if C.shape != (size, size):
        raise BadValue('shape of a covariance', C.shape, f'({size}, {size})')
    try:
        return np.asarray(np.linalg.inv(np.linalg.cholesky(C)), float)
    except np.linalg.LinAlgError:
        raise BadValue('covariance', C.tolist(), 'positive definite') from None


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
