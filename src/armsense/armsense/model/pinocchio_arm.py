"""An arm as Pinocchio sees it: its joints, frames, limits and kinematics."""

from collections.abc import Sequence
import functools

import numpy as np
from numpy.typing import ArrayLike
import pinocchio as pin

from armsense.errors import ArmsenseError, BadValue, UnknownName
from armsense.model.arm_config import ArmConfig
from armsense.schema import check_known, vector
from armsense.types import Array

PARAMETERS_PER_LINK = 10


class PinocchioArm:
    """What the dynamics of `Arm` stand on; it has a workspace for results."""

    def __init__(self, urdf: str, joint_names: Sequence[str] | None = None, *,
                 gravity: ArrayLike = (0.0, 0.0, -9.81), armature: ArrayLike | None = None,
                 tool_frame: str | None = None, name: str = '',
                 config: ArmConfig | None = None) -> None:
        """Build from URDF text; joints that are not named are locked at zero, None: all move.

        Gravity in the base frame [m/s^2], (3,); reflected rotor inertia [kg m^2], (n,); the tool
        is by default the last frame. Without the arm's yaml joints are rigid, without gears,
        friction and home.
        """
        self._model = _reduced(_parse(urdf), joint_names)
        self._model.gravity.linear = np.asarray(gravity, float)
        self.n = self._model.nv
        self.name = name or self._model.name
        self.urdf = urdf
        self.joint_names = tuple(self._model.names)[1:]
        if armature is not None:
            self._model.armature = vector('armature', armature, self.n)
        efforts = dict(zip(self.joint_names, self.effort_limits.tolist(), strict=True))
        self.config = config or ArmConfig.plain(
            self.name, f'{self.name}, known by its URDF', efforts, self._model.armature,
            urdf='', gravity=tuple(self._model.gravity.linear.tolist()))
        self._renew()
        self._frame_ids: dict[str, int] = {}
        self.tool_frame = tool_frame or self._model.frames[-1].name
        self._frame_id(self.tool_frame)

    @property
    def frame_names(self) -> tuple[str, ...]:
        return tuple(frame.name for frame in self._model.frames)

    @functools.cached_property
    def link_names(self) -> tuple[str, ...]:
        """Link that each joint moves, (n,) names."""
        names = []
        for k in range(1, self.n + 1):
            bodies = [f.name for f in self._model.frames
                      if f.type == pin.FrameType.BODY and f.parentJoint == k]
            names.append(bodies[0] if bodies else self.joint_names[k - 1])
        return tuple(names)

    @property
    def position_limits(self) -> tuple[Array, Array]:
        """Lower and upper [rad], (n,) each."""
        return np.array(self._model.lowerPositionLimit), np.array(self._model.upperPositionLimit)

    @property
    def velocity_limits(self) -> Array:
        """[rad/s], (n,)."""
        return np.array(self._model.upperVelocityLimit)

    @property
    def effort_limits(self) -> Array:
        """[Nm], (n,)."""
        return np.array(self._model.upperEffortLimit)

    # -- kinematics: poses and axes are those of the base frame ---------------------------------

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

    def _frame_id(self, frame: str) -> int:
        number = self._frame_ids.get(frame)   # asking Pinocchio costs more than a Jacobian
        if number is None:
            if not self._model.existFrame(frame):
                raise UnknownName('frame', frame, self.frame_names, self.name)
            number = self._frame_ids[frame] = int(self._model.getFrameId(frame))
        return number

    def _renew(self) -> None:
        """Fit the workspaces to the model."""
        self._data = self._model.createData()
        self._floating = _floating_base(self._model)
        self._floating_data = self._floating.createData()


def joint_order(urdf: str) -> tuple[str, ...]:
    """Moving joints of URDF text: each behind those that carry it, branches by name."""
    return tuple(_parse(urdf).names)[1:]


def _parse(urdf: str) -> pin.Model:
    try:
        return pin.buildModelFromXML(urdf)
    except (ValueError, RuntimeError, IndexError) as error:
        raise ArmsenseError(f'the URDF cannot be read: {" ".join(str(error).split())}') from error


def _reduced(model: pin.Model, joint_names: Sequence[str] | None) -> pin.Model:
    """The model with only the named joints, in that order."""
    present = list(model.names)[1:]
    wanted = list(joint_names) if joint_names is not None else present
    for name in wanted:
        check_known('joint', name, present, 'URDF')
    locked = [model.getJointId(name) for name in present if name not in wanted]
    if locked:
        model = pin.buildReducedModel(model, locked, pin.neutral(model))
    order = list(model.names)[1:]
    if order != wanted:
        raise BadValue('order of the joints', wanted,
                       f'{order}: each behind those that carry it, branches by name')
    if model.nq != model.nv or model.nv != len(wanted):
        raise ArmsenseError('every joint must be revolute or prismatic with limits; '
                            'continuous joints are not supported')
    return model


def _floating_base(model: pin.Model) -> pin.Model:
    """The same arm on a free-flying, massless base: its first six torques are the base wrench."""
    root = pin.Model()
    root.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), 'base')
    root.addFrame(pin.Frame('base_attachment', 1, 0, pin.SE3.Identity(), pin.FrameType.OP_FRAME))
    root.gravity = model.gravity
    frame_id = root.getFrameId('base_attachment')
    floating = pin.appendModel(root, model, frame_id, pin.SE3.Identity())
    floating.inertias[1] = pin.Inertia.Zero()   # appendModel brings the base link's own mass along
    return floating
