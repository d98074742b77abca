"""Positions of many points of an arm at many samples at once, and their derivatives.

The arm is a chain of screws read off the model at q = 0: T_i(q) = prod_j<=i exp(xi_j q_j) T_i(0).
One Pinocchio call per sample and point would cost far more than these few array products.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from armsense.errors import ArmsenseError
from armsense.model import Arm
from armsense.types import Array

Index = NDArray[np.intp]


class Placement(NamedTuple):
    """The chain at N samples; all in the base frame."""

    rotation: Array   # of link i against q = 0; the first entry is the base, (N, n + 1, 3, 3)
    shift: Array      # a point x of link i at q = 0 is at rotation @ x + shift, (N, n + 1, 3)
    axis: Array       # of joint j, (N, n, 3)
    origin: Array     # a point on it, (N, n, 3)


class Chain:
    """Kinematics of an arm whose joints follow one after the other."""

    def __init__(self, model: Arm) -> None:
        self.n = model.n
        zero = np.zeros(model.n)
        self._axis, self._origin = np.zeros((model.n, 3)), np.zeros((model.n, 3))
        self._turns = np.zeros(model.n, bool)
        for j, link in enumerate(model.link_names):
            J = model.jacobian(zero, link)
            if np.any(J[:, j + 1:]) or not np.any(J[:, j]):
                raise ArmsenseError(f'{model.name}: the joints do not form one chain')
            self._turns[j] = bool(np.linalg.norm(J[3:, j]) > 0.5)
            self._axis[j] = J[3:, j] if self._turns[j] else J[:3, j]
            self._origin[j] = model.frame_pose(zero, link)[:3, 3]

    def place(self, q: Array) -> Placement:
        """The chain at the samples, (N, n)."""
        N = len(q)
        rotation = np.empty((N, self.n + 1, 3, 3))
        shift = np.zeros((N, self.n + 1, 3))
        axis, origin = np.empty((N, self.n, 3)), np.empty((N, self.n, 3))
        rotation[:, 0] = np.eye(3)
        for j in range(self.n):
            R, p = rotation[:, j], shift[:, j]
            axis[:, j] = R @ self._axis[j]
            origin[:, j] = R @ self._origin[j] + p
            if self._turns[j]:
                E = _rotation(self._axis[j], q[:, j])
                rotation[:, j + 1] = R @ E
                shift[:, j + 1] = origin[:, j] - rotation[:, j + 1] @ self._origin[j]
            else:
                rotation[:, j + 1] = R
                shift[:, j + 1] = p + axis[:, j] * q[:, j, None]
        return Placement(rotation, shift, axis, origin)

    def points(self, place: Placement, link: Index, at_zero: Array) -> Array:
        """Points of links (0: base), given in the base frame at q = 0, (p, 3) -> (N, p, 3)."""
        return np.asarray(np.einsum('kpij,pj->kpi', place.rotation[:, link], at_zero)
                          + place.shift[:, link])

    def derivative(self, place: Placement, sample: Index, link: Index, point: Array) -> Array:
        """Jacobian of chosen points, one sample each: (r,), (r,), (r, 3) -> (r, 3, n)."""
        axis = place.axis[sample]                                    # (r, n, 3)
        arm = np.cross(axis, point[:, None, :] - place.origin[sample])
        J = np.where(self._turns[None, :, None], arm, axis)
        J[np.arange(self.n) >= link[:, None]] = 0.0                  # joints behind the point
        return np.asarray(J.transpose(0, 2, 1))


def _rotation(axis: Array, angle: Array) -> Array:
    """Turn about a unit axis (Rodrigues), (N,) -> (N, 3, 3)."""
    K = np.array([[0.0, -axis[2], axis[1]], [axis[2], 0.0, -axis[0]], [-axis[1], axis[0], 0.0]])
    s, c = np.sin(angle)[:, None, None], np.cos(angle)[:, None, None]
    return np.asarray(np.eye(3) + s * K + (1.0 - c) * (K @ K))
