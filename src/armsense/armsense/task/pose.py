"""Where the tool is, or shall be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
import pinocchio as pin

from armsense.errors import BadValue
from armsense.schema import vector
from armsense.types import Array

UNIT = 0.01   # by which the length of a quaternion may differ from 1


class Pose(NamedTuple):
    """Of the tool in the base frame."""

    position: Array   # [m] (3,)
    rotation: Array   # axes of the tool as columns, (3, 3)

    @classmethod
    def of(cls, position: ArrayLike, quaternion: ArrayLike = (0.0, 0.0, 0.0, 1.0)) -> Pose:
        """From a position [m], (3,), and a unit quaternion (x, y, z, w)."""
        x = vector('quaternion', quaternion, 4)
        if not abs(float(np.linalg.norm(x)) - 1.0) < UNIT:
            raise BadValue('quaternion (x, y, z, w)', x.tolist(), 'of length 1')
        return cls(vector('position', position, 3),
                   pin.Quaternion(x / np.linalg.norm(x)).toRotationMatrix())

    @classmethod
    def of_matrix(cls, pose: Array) -> Pose:
        """From a homogeneous matrix, (4, 4), such as `Arm.frame_pose`."""
        return cls(np.array(pose[:3, 3]), np.array(pose[:3, :3]))

    @property
    def quaternion(self) -> Array:
        """(x, y, z, w), (4,)."""
        return np.array(pin.Quaternion(np.asarray(self.rotation)).coeffs())

    def within(self, frame: Pose) -> Pose:
        """This pose, given in a frame, in the frame that the frame itself is given in."""
        return Pose(frame.position + frame.rotation @ self.position,
                    frame.rotation @ self.rotation)


def pose_rows(poses: Sequence[Pose]) -> Array:
    """Positions and quaternions that turn no further than they must, (N, 7)."""
    rows = np.array([[*pose.position, *pose.quaternion] for pose in poses])
    for before, row in zip(rows[:-1], rows[1:], strict=True):
        if before[3:] @ row[3:] < 0.0:
            row[3:] *= -1.0
    return rows


def pose_of_row(row: Array) -> Pose:
    """The pose of a row of `pose_rows`, or between two of them."""
    return Pose(row[:3], pin.Quaternion(row[3:] / np.linalg.norm(row[3:])).toRotationMatrix())
