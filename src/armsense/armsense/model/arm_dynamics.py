"""The dynamics of an arm: M(q) ddq + C(q, dq) dq + g(q) = tau + tau_ext."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
import pinocchio as pin

from armsense.errors import BadValue
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

    def _batch(self, *samples: ArrayLike) -> list[Array]:
        arrays = [np.ascontiguousarray(s, float) for s in samples]
        for array in arrays:
            if array.ndim != 2 or array.shape[1] != self.n or array.shape != arrays[0].shape:
                raise BadValue(f'{self.name}: shape of a batch', array.shape,
                               f'(N, {self.n}), the same for all')
        return arrays
