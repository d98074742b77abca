"""An arm: configuration, dynamics on Pinocchio, and what was identified of both.

    M(q) ddq + C(q, dq) dq + g(q) = tau + tau_ext

`Arm` is constant: positions, velocities and accelerations are passed in, results are new
arrays. One scratch workspace belongs to each instance, so an instance serves one thread.

Inertial parameters are Pinocchio's ten per link, about the link frame, stacked over the moving
links: pi = [m, m cx, m cy, m cz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz, ...]  # (10 n,)
Rotor inertia of rigid drives is a diagonal term of M (the armature), not part of pi:

    inverse_dynamics(q, dq, ddq) = torque_regressor(q, dq, ddq) @ pi + armature * ddq

Dynamics stand in `arm_dynamics`, kinematics in `pinocchio_arm`; here are the parameters, and the
same arm with others.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
import pinocchio as pin

from armsense.errors import ArmsenseError, BadValue
from armsense.model.arm_config import ArmConfig
from armsense.model.arm_dynamics import ArmDynamics
from armsense.model.pinocchio_arm import PARAMETERS_PER_LINK, vector
from armsense.model.robot_description import find_description, load_description
from armsense.types import Array

PARAMETER_NAMES = ('m', 'mx', 'my', 'mz', 'Ixx', 'Ixy', 'Iyy', 'Ixz', 'Iyz', 'Izz')


class Arm(ArmDynamics):
    """Configuration (`config`), dynamics, regressors and kinematics of one arm.

    See the module text for conventions.
    """

    @classmethod
    def load(cls, arm: str | Path | ArmConfig, model_file: str | Path | None = None) -> Arm:
        """An arm by name, yaml file or configuration, with an identified model on top."""
        config = arm if isinstance(arm, ArmConfig) else ArmConfig.load(arm)
        urdf = load_description(find_description(config.urdf, config.folder))
        armature = [joint.armature for joint in config.joints.values()]
        model = cls(urdf, config.joint_names, gravity=config.gravity, armature=armature,
                    tool_frame=config.tool_frame, name=config.arm, config=config)
        if model_file is not None:
            from armsense.model.model_file import ModelFile
            return ModelFile.read(model_file, arm=config.arm).apply(model)
        return model

    # -- parameters --------------------------------------------------------------------------

    @property
    def parameters(self) -> Array:
        """Inertial parameters pi, (10 n,)."""
        return np.concatenate([inertia.toDynamicParameters()
                               for inertia in list(self._model.inertias)[1:]])

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Such as `m1`, `Ixx4`; the number counts the moving links."""
        return tuple(f'{name}{k + 1}' for k in range(self.n) for name in PARAMETER_NAMES)

    @property
    def armature(self) -> Array:
        """Reflected rotor inertia [kg m^2], (n,)."""
        return np.array(self._model.armature)

    @property
    def gravity(self) -> Array:
        """[m/s^2] in the base frame, (3,)."""
        return np.array(self._model.gravity.linear)

    @property
    def masses(self) -> Array:
        """[kg] of the moving links, (n,)."""
        return self.parameters[::PARAMETERS_PER_LINK]

    def replace(self, parameters: ArrayLike | None = None, armature: ArrayLike | None = None,
                gravity: ArrayLike | None = None) -> Arm:
        """The same arm with other inertial parameters, rotor inertias or gravity."""
        other = self._copy()
        if parameters is not None:
            pi = vector('parameters', parameters, PARAMETERS_PER_LINK * self.n)
            for k in range(self.n):
                values = pi[PARAMETERS_PER_LINK * k:PARAMETERS_PER_LINK * (k + 1)]
                if values[0] <= 0.0:
                    raise BadValue(f'{self.name}: mass of link {k + 1}', float(values[0]),
                                   '> 0 kg')
                other._model.inertias[k + 1] = pin.Inertia.FromDynamicParameters(values)
        if armature is not None:
            other._model.armature = vector('armature', armature, self.n)
        if gravity is not None:
            other._model.gravity.linear = vector('gravity', gravity, 3)
        other._renew()
        return other

    def with_payload(self, mass: float, center: ArrayLike = (0.0, 0.0, 0.0),
                     inertia: ArrayLike | None = None) -> Arm:
        """The same arm carrying a body.

        Args:
            mass: [kg]; 0 carries nothing.
            center: Centre of mass in the tool frame [m], (3,).
            inertia: About that centre, tool axes [kg m^2], (3, 3). None: a point mass.
        """
        if not (np.isfinite(mass) and mass >= 0.0):
            raise BadValue('payload mass', mass, '>= 0 kg')
        tensor = np.zeros((3, 3)) if inertia is None else np.asarray(inertia, float)
        if tensor.shape != (3, 3) or not np.isfinite(tensor).all():
            raise BadValue('payload inertia', tensor.tolist(), 'finite numbers, (3, 3)')
        other = self._copy()
        frame = other._model.frames[self._frame_id(self.tool_frame)]
        body = pin.Inertia(float(mass), vector('payload center', center, 3), tensor)
        if mass > 0.0:
            other._model.appendBodyToJoint(frame.parentJoint, body, frame.placement)
        other._renew()
        return other

    def _copy(self) -> Arm:
        """The same arm with a Pinocchio model of its own; `_renew` once that is changed."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._model = self._model.copy()
        return other


def carrying(model: Arm, message: Any) -> Arm:
    """The arm with what a `geometry_msgs/InertiaStamped` says in its tool.

    Raises:
        ArmsenseError: The message is given in another frame, or no body is like that.
    """
    frame, body = message.header.frame_id, message.inertia
    if frame not in ('', model.tool_frame):
        raise ArmsenseError(f'payload in the frame {frame!r}; it must be in that of the tool, '
                            f'{model.tool_frame!r}')
    return model.with_payload(body.m, (body.com.x, body.com.y, body.com.z), [
        [body.ixx, body.ixy, body.ixz], [body.ixy, body.iyy, body.iyz],
        [body.ixz, body.iyz, body.izz]])
