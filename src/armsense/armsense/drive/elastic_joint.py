"""Torque through the springs of elastic joints, with cable coupling.

    tau_el = K (theta - q - R q) + D (dtheta - dq - R dq)        alpha_c(q) = R q
    tau    = (1 + R)^T tau_el - F dq

K, D: thesis 000, eq. 3.25; alpha_c: eqs. 3.9-3.10, in which the cable of joint 4 runs over a
pulley on joint 3, so that R[4, 3] = -r_d3 / r_4. A tensioned cable also pulls at the pulley it
passes: the spring's energy depends on q_3 as well, and its derivative gives joint 3 the torque
R[4, 3] tau_el,4. The document leaves that reaction out of eq. 3.24; here it is kept, otherwise the
drive would create energy.
F is the viscous friction of the link's bearing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from armsense.model.arm_config import ArmConfig
from armsense.types import ArmState, Array


def no_springs(n: int) -> tuple[Array, Array]:
    """Stiffness and damping where nothing yields, (n, n) each."""
    return np.zeros((n, n)), np.zeros((n, n))


class ElasticJoint:
    """Springs between the motors and the links; joints without one give zero."""

    def __init__(self, stiffness: ArrayLike, damping: ArrayLike,
                 coupling: ArrayLike | None = None, link_damping: ArrayLike | None = None) -> None:
        """Springs K [Nm/rad], 0: none, dampers D and link damping F [Nm s/rad], (n,) each.

        Row i of the coupling R, (n, n), moves the rest position of spring i.
        """
        self.stiffness = np.asarray(stiffness, float)
        self.damping = np.asarray(damping, float)
        n = len(self.stiffness)
        self.coupling = np.zeros((n, n)) if coupling is None else np.asarray(coupling, float)
        self.link_damping = np.zeros(n) if link_damping is None else np.asarray(link_damping)
        self._path = np.eye(n) + self.coupling   # motor travel per joint travel, spring at rest
        P, K, D = self._path, np.diag(self.stiffness), np.diag(self.damping)
        # Link torque as one product with [theta, dtheta, q, dq]: a call in every cycle.
        self._link_gain = np.hstack([P.T @ K, P.T @ D, -P.T @ K @ P,
                                     -P.T @ D @ P - np.diag(self.link_damping)])   # (n, 4 n)

    @classmethod
    def from_config(cls, config: ArmConfig) -> ElasticJoint:
        """Springs as the arm's yaml states them."""
        n, names = config.n, config.joint_names
        K, D, F, R = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros((n, n))
        for k, joint in enumerate(config.joints.values()):
            if joint.elastic is None:
                continue
            K[k], D[k] = joint.elastic.stiffness, joint.elastic.damping
            F[k] = joint.elastic.link_damping
            if joint.elastic.coupled_to is not None:
                R[k, names.index(joint.elastic.coupled_to)] = joint.elastic.coupling_ratio
        return cls(K, D, R, F)

    def spring_torque(self, theta: Array, dtheta: Array, q: Array, dq: Array) -> Array:
        """tau_el, which the motors feel as load [Nm], (n,)."""
        return np.asarray(self.stiffness * (theta - self._path @ q)
                          + self.damping * (dtheta - self._path @ dq))

    def link_torque(self, state: ArmState) -> Array:
        torque: Array = self._link_gain.dot(np.concatenate((
            state.theta, state.dtheta, state.q, state.dq)))
        return torque

    @property
    def springs(self) -> tuple[Array, Array]:
        n = len(self.stiffness)
        return -self._link_gain[:, 2 * n:3 * n], -self._link_gain[:, 3 * n:]

    def motor_range(self, lower: Array, upper: Array, torque: Array) -> tuple[Array, Array]:
        """Motor angles of all joint angles within limits, springs at full torque [rad], (n,)."""
        up, down = np.maximum(self._path, 0.0), np.minimum(self._path, 0.0)
        stretch = np.divide(torque, self.stiffness, where=self.stiffness > 0.0,
                            out=np.zeros_like(self.stiffness))
        return up @ lower + down @ upper - stretch, up @ upper + down @ lower + stretch

    def motor_speed(self, velocity: Array) -> Array:
        """Fastest that the motors turn with joints within their velocity limits [rad/s], (n,)."""
        return np.asarray(np.abs(self._path) @ velocity)

    def motor_position(self, q: Array, torque: Array) -> Array:
        """Motor angles [rad] that put `torque` [Nm] on the links at rest (eqs. 3.26, 3.28), (n,).

        All joints of the arm must have a spring.
        """
        tau_el = np.linalg.solve(self._path.T, torque)
        return np.asarray(self._path @ q + tau_el / self.stiffness)
