"""An arm: configuration, dynamics on Pinocchio, and what was identified of both.

    M(q) ddq + C(q, dq) dq + g(q) = tau + tau_ext

`Arm` is constant: positions, velocities and accelerations are passed in, results are new
arrays. One scratch workspace belongs to each instance, so an instance serves one thread.

Inertial parameters are Pinocchio's ten per link, about the link frame, stacked over the moving
links: pi = [m, m cx, m cy, m cz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz, ...]  # (10 n,)
Rotor inertia of rigid drives is a diagonal term of M (the armature), not part of pi:

    inverse_dynamics(q, dq, ddq) = torque_regressor(q, dq, ddq) @ pi + armature * ddq

Kinematics stand in `pinocchio_arm`; here are dynamics and parameters, what an arm does to its
support, what a support that moves does to it, and the same arm with other parameters.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
import pinocchio as pin

from armsense.errors import ArmsenseError, BadValue
from armsense.model.arm_config import ArmConfig
from armsense.model.base_motion import BaseMotion
from armsense.model.description_places import find_description
from armsense.model.pinocchio_arm import PARAMETERS_PER_LINK, PinocchioArm
from armsense.model.robot_description import load_description
from armsense.schema import vector
from armsense.types import Array

PARAMETER_NAMES = ('m', 'mx', 'my', 'mz', 'Ixx', 'Ixy', 'Iyy', 'Ixz', 'Iyz', 'Izz')


class Arm(PinocchioArm):
    """Configuration (`config`), dynamics, regressors and kinematics of one arm.

    See the module text for conventions.
    """

    @classmethod
    def load(cls, arm: str | Path | ArmConfig, model_file: str | Path | None = None) -> Arm:
        """An arm by name, yaml file or configuration, with an identified model on top."""
        config = arm if isinstance(arm, ArmConfig) else ArmConfig.load(arm)
        urdf = load_description(find_description(config.urdf, config.folder),
                                config.urdf_arguments)
        armature = [joint.armature for joint in config.joints.values()]
        model = cls(urdf, config.joint_names, gravity=config.gravity, armature=armature,
                    tool_frame=config.tool_frame, name=config.arm, config=config)
        if model_file is not None:
            from armsense.model.model_file import ModelFile
            return ModelFile.read(model_file, arm=config.arm).apply(model)
        return model

    def __repr__(self) -> str:
        return (f'<Arm {self.name}: {self.n} joints, {self.config.rate:g} Hz, effort '
                f'{self.config.effort}>')

    # -- dynamics ----------------------------------------------------------------------------

    def mass_matrix(self, q: Array) -> Array:
        """M(q) including rotor inertia, (n, n)."""
        M: Array = pin.crba(self._model, self._data, q)   # it fills both triangles
        return M

    def coriolis_matrix(self, q: Array, dq: Array) -> Array:
        """C(q, dq) from Christoffel symbols, so that dM/dt - 2 C is skew, (n, n)."""
        return np.array(pin.computeCoriolisMatrix(self._model, self._data, q, dq))

    def gravity_torque(self, q: Array) -> Array:
        """g(q) [Nm], (n,)."""
        g: Array = pin.computeGeneralizedGravity(self._model, self._data, q)
        return g

    def bias_torque(self, q: Array, dq: Array) -> Array:
        """C(q, dq) dq + g(q) [Nm], (n,)."""
        return np.array(pin.nonLinearEffects(self._model, self._data, q, dq))

    def momentum_terms(self, q: Array, dq: Array, out: tuple[Array, Array, Array]) -> None:
        """Write p = M(q) dq [Nm s], C(q, dq)^T dq [Nm] and g(q) [Nm] into three arrays (n,).

        They belong together by dp/dt = tau + tau_ext + C^T dq - g.
        """
        model, data = self._model, self._data
        p, centrifugal, gravity = out
        # crba fills both triangles, so no symmetrising here.
        pin.crba(model, data, q).dot(dq, p)
        dq.dot(pin.computeCoriolisMatrix(model, data, q, dq), centrifugal)
        gravity[:] = pin.computeGeneralizedGravity(model, data, q)

    def momentum_rate(self, q: Array, dq: Array) -> Array:
        """C(q, dq)^T dq - g(q) [Nm], (n,): the part of dp/dt that no torque causes."""
        model, data = self._model, self._data
        rate: Array = dq.dot(pin.computeCoriolisMatrix(model, data, q, dq))
        rate -= pin.computeGeneralizedGravity(model, data, q)
        return rate

    def inverse_dynamics(self, q: Array, dq: Array, ddq: Array) -> Array:
        """Joint torques of a motion [Nm], (n,)."""
        tau: Array = pin.rnea(self._model, self._data, q, dq, ddq)
        return tau

    def forward_dynamics(self, q: Array, dq: Array, tau: Array) -> Array:
        """Accelerations under joint torques [rad/s^2], (n,)."""
        return np.array(pin.aba(self._model, self._data, q, dq, tau))

    def energy(self, q: Array, dq: Array) -> float:
        """Kinetic (with rotors) plus potential energy [J]."""
        kinetic = 0.5 * dq @ self.mass_matrix(q) @ dq
        return float(kinetic + pin.computePotentialEnergy(self._model, self._data, q))

    def torque_regressor(self, q: Array, dq: Array, ddq: Array) -> Array:
        """Y with Y @ pi = joint torques without rotor inertia, (n, 10 n)."""
        return np.array(pin.computeJointTorqueRegressor(self._model, self._data, q, dq, ddq))

    # -- batches: one Pinocchio call per sample, no Python work per number ----------------------

    def inverse_dynamics_batch(self, q: Array, dq: Array, ddq: Array) -> Array:
        """Torques of N samples, each argument (N, n) -> (N, n)."""
        q, dq, ddq = self._batch(q, dq, ddq)
        out = np.empty_like(q)
        model, data, rnea = self._model, self._data, pin.rnea
        for k, (a, b, c) in enumerate(zip(q, dq, ddq, strict=True)):
            out[k] = rnea(model, data, a, b, c)
        return out

    def torque_regressor_batch(self, q: Array, dq: Array, ddq: Array) -> Array:
        """Regressors of N samples stacked sample by sample, (N n, 10 n)."""
        q, dq, ddq = self._batch(q, dq, ddq)
        out = np.empty((len(q), self.n, PARAMETERS_PER_LINK * self.n))
        model, data, regressor = self._model, self._data, pin.computeJointTorqueRegressor
        Y = data.jointTorqueRegressor   # a view of what each call fills: one copy less
        for row, a, b, c in zip(out, q, dq, ddq, strict=True):
            regressor(model, data, a, b, c)
            row[...] = Y
        return out.reshape(-1, PARAMETERS_PER_LINK * self.n)

    def effort_torque(self, effort: ArrayLike) -> Array:
        """Joint torques [Nm] from what the joint states of a robot call effort, (n,) or (N, n)."""
        if self.config.effort == 'current' and not self.config.effort_gains:
            raise ArmsenseError(f'{self.name} reports currents, and its gains are not known; give '
                                f'{self.n} numbers [Nm/A] as gains of armsense.load, or as '
                                'effort_gains of an arm file (1 where the driver tells torques)')
        values = np.asarray(effort, float)
        gains = self.config.effort_gains
        return values * np.array(gains) if gains else values

    # -- on a base: [force; moment] in the base frame at its origin, (6,) -----------------------

    def base_wrench(self, q: Array, dq: Array, ddq: Array,
                    motion: BaseMotion | None = None) -> Array:
        """Wrench of the moving links on their support, base frame [N, Nm], (6,).

        Joint positions [rad], velocities and accelerations, (n,) each; the base stands still or
        moves.
        """
        tau = pin.rnea(self._floating, self._floating_data, *self._float(q, dq, ddq, motion))
        return -np.array(tau[:6])

    def base_motion_torque(self, q: Array, dq: Array, motion: BaseMotion) -> Array:
        """What the motion of the base adds to the joint torques of an arm that stands [Nm], (n,).

        M ddq + C dq + g + this = tau_motor + tau_ext, with g of the base at rest.
        """
        rest = np.zeros(self.n)
        moving = pin.rnea(self._floating, self._floating_data, *self._float(q, dq, rest, motion))
        return np.asarray(moving[6:] - pin.rnea(self._model, self._data, q, dq, rest))

    def base_wrench_regressor(self, q: Array, dq: Array, ddq: Array,
                              motion: BaseMotion | None = None) -> Array:
        """Y with Y @ pi = base wrench, (6, 10 n); arguments as for `base_wrench`."""
        Y = pin.computeJointTorqueRegressor(self._floating, self._floating_data,
                                            *self._float(q, dq, ddq, motion))
        return -np.array(Y[:6, PARAMETERS_PER_LINK:])

    def base_momentum(self, q: Array, dq: Array) -> tuple[Array, Array]:
        """Momentum h of the moving links and wrench G of their weight, base frame, (6,) each.

        h = [linear; angular] about the base origin [N s, Nm s] with the base at rest. Together
        they are the wrench on the support without any acceleration: base_wrench = G - dh/dt.
        """
        data = self._data
        h = pin.computeCentroidalMomentum(self._model, data, q, dq).vector.copy()   # about c
        c, mass = data.com[0], data.mass[0]
        h[3:] += _cross(c, h[:3])
        weight = mass * self._model.gravity.linear
        return h, np.concatenate([weight, _cross(c, weight)])

    def _float(self, q: Array, dq: Array, ddq: Array,
               motion: BaseMotion | None = None) -> tuple[Array, Array, Array]:
        velocity, acceleration = np.zeros(6), np.zeros(6)
        if motion is not None:
            # Seen from a frame that moves along with the base at this instant. The specific force
            # holds gravity too, so the model's own gravity is taken out again.
            velocity[3:] = motion.angular_velocity
            acceleration[:3] = motion.specific_force + self._model.gravity.linear
            acceleration[3:] = motion.angular_acceleration
        return (np.concatenate([[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0], q]),
                np.concatenate([velocity, dq]), np.concatenate([acceleration, ddq]))

    def _batch(self, *samples: ArrayLike) -> list[Array]:
        arrays = [np.ascontiguousarray(s, float) for s in samples]
        for array in arrays:
            if array.ndim != 2 or array.shape[1] != self.n or array.shape != arrays[0].shape:
                raise BadValue(f'{self.name}: shape of a batch', array.shape,
                               f'(N, {self.n}), the same for all')
        return arrays

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

    def with_rate(self, rate: float) -> Arm:
        """The same arm, its states at another rate [Hz]."""
        other = self._copy()
        other.config = dataclasses.replace(self.config, rate=rate)
        other._renew()
        return other

    def with_payload(self, mass: float, center: ArrayLike = (0.0, 0.0, 0.0),
                     inertia: ArrayLike | None = None) -> Arm:
        """The same arm carrying a body of a mass [kg] in its tool; 0: nothing.

        Its centre of mass is in the tool frame [m], (3,), its inertia about that centre in tool
        axes [kg m^2], (3, 3); None: a point mass.
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
    """The arm with what a `geometry_msgs/InertiaStamped` says in its tool."""
    frame, body = message.header.frame_id, message.inertia
    if frame not in ('', model.tool_frame):
        raise ArmsenseError(f'payload in the frame {frame!r}; it must be in that of the tool, '
                            f'{model.tool_frame!r}')
    return model.with_payload(body.m, (body.com.x, body.com.y, body.com.z), [
        [body.ixx, body.ixy, body.ixz], [body.ixy, body.iyy, body.iyz],
        [body.ixz, body.iyz, body.izz]])


def _cross(a: Array, b: Array) -> Array:
    """Vector product, (3,); a tenth of the time of np.cross."""
    a0, a1, a2 = a.tolist()
    b0, b1, b2 = b.tolist()
    return np.array([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0])
