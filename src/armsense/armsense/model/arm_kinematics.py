"""Where the frames of an arm are, and how they move with its joints."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
import pinocchio as pin

from armsense.model.pinocchio_arm import PinocchioArm
from armsense.types import Array


class ArmKinematics(PinocchioArm):
    """Poses, Jacobians, accelerations; poses and axes are those of the base frame."""

    def frame_pose(self, q: Array, frame: str | None = None) -> Array:
        """Pose of a frame in the base frame, (4, 4)."""
        frame_id = self._frame_id(frame or self.tool_frame)
        pin.framesForwardKinematics(self._model, self._data, q)
        return np.array(self._data.oMf[frame_id].homogeneous)

    def joint_poses(self, q: Array) -> Array:
        """Poses of the frames of all joints in the base frame, (n, 4, 4)."""
        pin.forwardKinematics(self._model, self._data, q)
        return np.array([placement.homogeneous for placement in list(self._data.oMi)[1:]])

    def jacobian(self, q: Array, frame: str | None = None) -> Array:
        """[linear; angular] velocity of a frame per joint velocity, base axes, (6, n)."""
        frame_id = self._frame_id(frame or self.tool_frame)
        return np.array(pin.computeFrameJacobian(self._model, self._data, q, frame_id,
                                                 pin.LOCAL_WORLD_ALIGNED))

    def tool_kinematics(self, q: Array) -> tuple[Array, Array]:
        """Tool position [m], (3,), and its velocity per joint velocity, (3, n), base frame."""
        frame_id = self._frame_id(self.tool_frame)
        J = pin.computeFrameJacobian(self._model, self._data, q, frame_id,
                                     pin.LOCAL_WORLD_ALIGNED)
        placement = pin.updateFramePlacement(self._model, self._data, frame_id)
        return placement.translation, J[:3]

    def point_jacobian(self, q: Array, link: str, point: ArrayLike) -> Array:
        """Velocity of a point fixed to a link (given in link axes) per joint velocity, (3, n)."""
        J = self.jacobian(q, link)
        r = self.frame_pose(q, link)[:3, :3] @ np.asarray(point, float)
        return np.asarray(J[:3] - pin.skew(r) @ J[3:])

    def moving_joint(self, frame: str) -> int:
        """Index of the last joint that moves a frame; -1: fixed to the base."""
        return int(self._model.frames[self._frame_id(frame)].parentJoint) - 1

    def tool_acceleration_bias(self, q: Array, dq: Array) -> Array:
        """dJ/dt dq of the tool [m/s^2, rad/s^2], (6,)."""
        frame_id = self._frame_id(self.tool_frame)
        pin.forwardKinematics(self._model, self._data, q, dq, np.zeros(self.n))
        return np.array(pin.getFrameClassicalAcceleration(
            self._model, self._data, frame_id, pin.LOCAL_WORLD_ALIGNED).vector)
