"""Two-sided information for elastic joints: actuator parameters and load parameters together.

Thesis 000 identifies in two steps, each with its own regressor: the actuator side (eq. 4.4)

    tau_m - I_m ddtheta = [dtheta - dq, dtheta, theta - q, sign(dtheta)] [d_e, d_v, k_e, d_C]^T

and the load side, tau_el = Phi(q, dq, ddq) beta with the bearing's viscous friction. One motion
serves both when the sum of both criteria (4.35-4.38) is optimised. The motor moves by the spring's
deflection ahead of the link; it follows from the load of the nominal model, and its rate from a
differentiation matrix over the samples, so that the gradient stays a chain of products.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg

from armsense.drive.elastic_joint import ElasticJoint
from armsense.errors import ArmsenseError
from armsense.excite.criteria import Criterion
from armsense.excite.information import (
    Linearised,
    Motion,
    RigidInformation,
    SMOOTHING,
    torque_noise,
)
from armsense.model import Arm
from armsense.types import Array

ACTUATOR_TERMS = ('damping', 'viscous', 'stiffness', 'coulomb')    # order of eq. 4.4


class ElasticInformation:
    """Arm with a spring in every joint."""

    def __init__(self, model: Arm, step: float, noise: ArrayLike | None = None) -> None:
        """Set up both sides.

        Args:
            model: The arm; its yaml states the springs.
            step: Time between the samples [s].
            noise: Standard deviation of the motor torques [Nm], (n,). None: of the yaml.
        """
        if any(joint.elastic is None for joint in model.config.joints.values()):
            raise ArmsenseError(f'{model.name}: the two-sided criterion needs a spring in every '
                                'joint')
        self.load = RigidInformation(model, noise, terms=('viscous',))
        self.noise = torque_noise(model) if noise is None else np.asarray(noise, float)
        springs = ElasticJoint.from_config(model.config)
        path = np.eye(model.n) + springs.coupling
        self._path, self._friction = path, springs.link_damping
        self._compliance = np.linalg.inv(path.T) / springs.stiffness[:, None]   # deflection / load
        self._parameters, self._step = model.parameters, step
        self.parameter_names = self.load.parameter_names + tuple(
            f'{term}{k + 1} (motor)' for k in range(model.n) for term in ACTUATOR_TERMS)

    def matrices(self, Y: Array, motion: Motion, weight: float) -> list[Array]:
        return [*self.load.matrices(Y, motion, weight),
                self._actuator_matrix(self._actuator(Y, motion), weight)]

    def gradient(self, criterion: Criterion, point: Linearised,
                 weight: float) -> tuple[float, Motion]:
        value, by_state = self.load.gradient(criterion, point, weight)
        columns = self._actuator(point.Y, point.motion)           # (n, N, 4)
        own, G = criterion.gradient(self._actuator_matrix(columns, weight))
        n, _, p = columns.shape
        blocks = G.reshape(n, p, n, p)[np.arange(n), :, np.arange(n)]   # what each joint feels
        adjoint = (2.0 * weight / self.noise**2)[:, None, None] * (columns @ blocks)
        return value + own, _sum(by_state, self._pull_back(point, columns, adjoint))

    def _actuator(self, Y: Array, motion: Motion) -> Array:
        """Columns of eq. 4.4 per joint, (n, N, 4)."""
        load = Y @ self._parameters + self._friction * motion.dq
        deflection = load @ self._compliance.T                    # (N, n)
        rate = _differentiation(len(load), self._step) @ deflection
        motor = motion.dq @ self._path.T + rate
        return np.stack([rate.T, motor.T, deflection.T, np.tanh(motor.T / SMOOTHING)], axis=2)

    def _actuator_matrix(self, columns: Array, weight: float) -> Array:
        """No parameter acts on two motors, (4 n, 4 n)."""
        blocks = columns.transpose(0, 2, 1) @ columns * (weight / self.noise**2)[:, None, None]
        return np.asarray(linalg.block_diag(*blocks))

    def _pull_back(self, point: Linearised, columns: Array, adjoint: Array) -> Motion:
        by_rate, by_motor, by_deflection, by_sign = adjoint.transpose(2, 1, 0)   # (N, n) each
        by_motor = by_motor + by_sign * (1.0 - columns[:, :, 3].T ** 2) / SMOOTHING
        D = _differentiation(len(by_rate), self._step)
        by_load = (by_deflection + D.T @ (by_rate + by_motor)) @ self._compliance
        n = by_load.shape[1]
        slope = point.dY @ self._parameters                       # d load / d state, (N, 3 n, n)
        slope = np.einsum('ksi,ki->ks', slope, by_load)
        return Motion(slope[:, :n],
                      slope[:, n:2 * n] + by_load * self._friction + by_motor @ self._path,
                      slope[:, 2 * n:])


def _sum(a: Motion, b: Motion) -> Motion:
    return Motion(a.q + b.q, a.dq + b.dq, a.ddq + b.ddq)


def _differentiation(count: int, step: float) -> Array:
    """Second-order differences, one-sided at the ends, (count, count)."""
    D = (np.eye(count, k=1) - np.eye(count, k=-1)) / (2.0 * step)
    D[0, :3] = np.array([-1.5, 2.0, -0.5]) / step
    D[-1, -3:] = np.array([0.5, -2.0, 1.5]) / step
    return D
