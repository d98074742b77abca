"""The dynamics of an arm: M(q) ddq + C(q, dq) dq + g(q) = tau + tau_ext.

Also what it does to its support, and what a support that moves does to it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
import pinocchio as pin

from armsense.errors import BadValue
from armsense.model.base_motion import BaseMotion
from armsense.model.pinocchio_arm import PARAMETERS_PER_LINK, PinocchioArm
from armsense.types import Array


class ArmDynamics(PinocchioArm):
    """Terms and solutions of that equation, and the regressor of its inertial parameters."""

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

    # -- on a base: [force; moment] in the base frame at its origin, (6,) -----------------------

    def base_wrench(self, q: Array, dq: Array, ddq: Array,
                    motion: BaseMotion | None = None) -> Array:
        """Wrench of the moving links on their support, base frame [N, Nm], (6,).

        Args:
            q: Joint positions [rad], (n,).
            dq: Joint velocities [rad/s], (n,).
            ddq: Joint accelerations [rad/s^2], (n,).
            motion: Of the base; None: it stands still.
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

    def base_wrench_regressor_batch(self, q: Array, dq: Array, ddq: Array) -> Array:
        """Base-wrench regressors of N samples stacked sample by sample, (6 N, 10 n)."""
        q, dq, ddq = self._batch(q, dq, ddq)
        N = len(q)
        pose = np.tile([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0], (N, 1))
        rest = np.zeros((N, 6))
        Q, V, A = np.hstack([pose, q]), np.hstack([rest, dq]), np.hstack([rest, ddq])
        out = np.empty((N, 6, PARAMETERS_PER_LINK * self.n))
        model, data = self._floating, self._floating_data
        regressor = pin.computeJointTorqueRegressor
        Y = data.jointTorqueRegressor[:6, PARAMETERS_PER_LINK:]
        for row, a, b, c in zip(out, Q, V, A, strict=True):
            regressor(model, data, a, b, c)
            np.negative(Y, out=row)
        return out.reshape(-1, PARAMETERS_PER_LINK * self.n)

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


def _cross(a: Array, b: Array) -> Array:
    """Vector product, (3,); a tenth of the time of np.cross."""
    a0, a1, a2 = a.tolist()
    b0, b1, b2 = b.tolist()
    return np.array([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0])
