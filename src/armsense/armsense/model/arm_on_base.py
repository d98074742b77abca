"""What an arm does to its support, and what a support that moves does to the arm."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from armsense.model.arm_dynamics import ArmDynamics
from armsense.model.base_motion import BaseMotion
from armsense.model.pinocchio_arm import PARAMETERS_PER_LINK
from armsense.types import Array


class ArmOnBase(ArmDynamics):
    """Wrench, regressor and momentum in the base frame at its origin, [force; moment], (6,)."""

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


def _cross(a: Array, b: Array) -> Array:
    """Vector product, (3,); a tenth of the time of np.cross."""
    a0, a1, a2 = a.tolist()
    b0, b1, b2 = b.tolist()
    return np.array([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0])
