"""What a wrench on a link shows in the joints and at the base, whitened by both covariances.

A wrench w = [F; M] in the frame of link L makes

    tau_i = [o_i x z_i; z_i] . W,  i <= L      felt = S W      with W = w moved to the base frame

so that y = A_L w with one matrix per link. A force at the point p of the link has M = p x F.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from armsense.base.cell_layout import CellLayout
from armsense.errors import ArmsenseError, BadValue
from armsense.model import Arm
from armsense.types import Array

# Row i: [e_i]x, flattened; a product with a is many times faster than np.cross of a few vectors.
_SKEW = np.array([[0, 0, 0, 0, 0, -1, 0, 1, 0], [0, 0, 1, 0, 0, 0, -1, 0, 0],
                  [0, -1, 0, 1, 0, 0, 0, 0, 0]], float)


class PoseResponse(NamedTuple):
    """Of one pose."""

    rotation: Array   # of the links, (n, 3, 3)
    origin: Array     # [m], (n, 3)
    A: Array          # whitened residuals per wrench in the link frame, (n, rows, 6)


class ContactResponse:
    """Joints or base are left out by a covariance of None."""

    def __init__(self, model: Arm, layout: CellLayout, joint_covariance: ArrayLike | None,
                 base_covariance: ArrayLike | None) -> None:
        """For an arm on its cells; every joint turns.

        Args:
            model: The arm.
            layout: Its cells.
            joint_covariance: Of the joint residual [Nm^2], (n, n); None: joints are not used.
            base_covariance: Of the felt residual, (k, k); None: the base is not used.
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
