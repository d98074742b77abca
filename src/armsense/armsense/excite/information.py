"""Information matrix of the parameters that a motion identifies, with its gradient.

    M = sum_k Phi_k^T Sigma^-1 Phi_k,   Phi = [base columns of Y | rotor inertia | friction]

A criterion f(M) gives dF/dM = G; what its gradient asks of the samples is
<2 Sigma^-1 Phi_k G, dPhi_k>, so that no derivative of M itself is ever formed.

Pinocchio has no derivative of the regressor. One forward difference per joint and argument costs
as much as a regressor itself, 3 n + 1 calls per sample, and all samples go through one batch. The
regressor is linear in the acceleration, so that there a difference of any size is exact.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg

from armsense.drive.elastic_joint import ElasticJoint
from armsense.errors import ArmsenseError, BadValue
from armsense.excite.criteria import Criterion
from armsense.identify.estimation.base_parameters import base_parameters, regrouped
from armsense.model import Arm
from armsense.schema import check_known
from armsense.types import Array

STEP = 1e-6      # [rad], [rad/s]: truncation and rounding are both below 1e-6 of the regressor
TERMS = ('inertia', 'viscous', 'coulomb', 'offset')
DEFAULT_TERMS = ('inertia', 'viscous', 'coulomb')
SMOOTHING = 0.05        # [rad/s] over which the sign changes, wide enough for a coarse grid
NOISE_SHARE = 0.01      # of the torque limit, where the yaml gives no current noise


class Motion(NamedTuple):
    """Joint motion at N samples, each (N, n)."""

    q: Array      # [rad]
    dq: Array     # [rad/s]
    ddq: Array    # [rad/s^2]


class Linearised(NamedTuple):
    """Regressor and derivatives."""

    motion: Motion
    Y: Array      # (N, n, 10 n)
    dY: Array     # by q, dq, ddq of each joint, (N, 3 n, n, 10 n)


def regressor(model: Arm, motion: Motion) -> Array:
    """Y, (N, n, 10 n)."""
    return model.torque_regressor_batch(*motion).reshape(len(motion.q), model.n, -1)


def linearise(model: Arm, motion: Motion) -> Linearised:
    """Regressor and its derivatives along a motion."""
    N, n = motion.q.shape
    state = np.hstack(motion)                                             # (N, 3 n)
    steps = np.concatenate([np.full(2 * n, STEP), np.ones(n)])
    moved = state[:, None, :] + np.vstack([np.zeros(3 * n), np.diag(steps)])
    flat = moved.reshape(-1, 3 * n)
    Y = model.torque_regressor_batch(flat[:, :n], flat[:, n:2 * n], flat[:, 2 * n:])
    Y = Y.reshape(N, 3 * n + 1, n, -1)
    dY = Y[:, 1:]
    dY -= Y[:, :1]
    dY /= steps[:, None, None]
    return Linearised(motion, Y[:, 0], dY)


class RigidInformation:
    """Arm with rigid drives: inertias, rotor inertias and friction from motor torques."""

    def __init__(self, model: Arm, noise: ArrayLike | None = None,
                 terms: Sequence[str] = DEFAULT_TERMS) -> None:
        """Find the base parameters.

        The noise is the standard deviation of the torques [Nm], (n,), None: of the yaml; `terms`
        are the columns of the drives beside the rigid body, out of `TERMS`.
        """
        for term in terms:
            check_known('drive term', term, TERMS)
        self.model, self.terms = model, tuple(terms)
        self.noise = torque_noise(model) if noise is None else np.asarray(noise, float)
        if self.noise.shape != (model.n,) or not np.all(self.noise > 0.0):
            raise BadValue('torque noise', self.noise.tolist(), f'{model.n} numbers > 0 Nm')
        names = model.parameter_names + tuple(
            f'{term}{k + 1}' for term in terms for k in range(model.n))
        motion = Motion(*np.random.default_rng(0).uniform(-2.0, 2.0, (3, 80, model.n)))
        W = self._columns(regressor(model, motion), motion).reshape(-1, len(names))
        base = base_parameters(W, names, prefer=regrouped(model.parameter_names))
        self._keep = np.array(base.independent)
        self.parameter_names = base.names

    def regressor(self, Y: Array, motion: Motion) -> Array:
        """Phi in units of the noise, (N, n, r)."""
        columns = self._columns(Y, motion)[:, :, self._keep]
        return np.asarray(columns / self.noise[:, None])

    def matrices(self, Y: Array, motion: Motion, weight: float) -> list[Array]:
        """Information matrices that the criterion takes one by one; `weight` counts a sample."""
        flat = self.regressor(Y, motion).reshape(-1, len(self._keep))
        return [weight * (flat.T @ flat)]

    def gradient(self, criterion: Criterion, point: Linearised,
                 weight: float) -> tuple[float, Motion]:
        """Objective and its gradient by the samples."""
        Phi = self.regressor(point.Y, point.motion)
        flat = Phi.reshape(-1, len(self._keep))
        value, G = criterion.gradient(weight * (flat.T @ flat))
        adjoint = np.zeros((*Phi.shape[:2], (10 + len(self.terms)) * self.model.n))
        adjoint[:, :, self._keep] = 2.0 * weight * (Phi @ G) / self.noise[:, None]
        return value, self._pull_back(point, adjoint)

    def _pull_back(self, point: Linearised, adjoint: Array) -> Motion:
        """Gradient by the samples of <adjoint, columns>, (N, n, p) -> three times (N, n)."""
        N, n, rigid = point.Y.shape
        flat = np.ascontiguousarray(adjoint[:, :, :rigid]).reshape(N, n * rigid, 1)
        slope = (point.dY.reshape(N, 3 * n, n * rigid) @ flat)[:, :, 0]
        by_state = Motion(*np.split(slope, 3, axis=1))
        for k, term in enumerate(self.terms):
            start = rigid + k * n
            own = np.diagonal(adjoint[:, :, start:start + n], axis1=1, axis2=2)   # (N, n)
            if term == 'inertia':
                by_state.ddq[...] += own
            elif term == 'viscous':
                by_state.dq[...] += own
            elif term == 'coulomb':
                by_state.dq[...] += own / SMOOTHING / np.cosh(
                    np.clip(point.motion.dq / SMOOTHING, -300.0, 300.0)) ** 2
        return by_state

    def _columns(self, Y: Array, motion: Motion) -> Array:
        """[Y | drive columns], (N, n, p)."""
        shapes = {'inertia': motion.ddq, 'viscous': motion.dq,
                  'coulomb': np.tanh(motion.dq / SMOOTHING), 'offset': np.ones_like(motion.q)}
        eye = np.eye(self.model.n)
        return np.concatenate([Y, *(shapes[t][:, :, None] * eye for t in self.terms)], axis=2)


def torque_noise(model: Arm) -> Array:
    """Standard deviation of the joint torques from the current noise of the yaml [Nm], (n,)."""
    joints = model.config.joints.values()
    return np.array([j.current_sensor.noise * j.torque_per_ampere or NOISE_SHARE * j.torque_limit
                     for j in joints])


class ElasticInformation:
    """Arm with a spring in every joint: actuator parameters and load parameters together.

    Thesis 000 identifies in two steps, each with its own regressor: the actuator side (eq. 4.4)

        tau_m - I_m ddtheta = [dtheta - dq, dtheta, theta - q, sign(dtheta)] [d_e, d_v, k_e, d_C]^T

    and the load side, tau_el = Phi(q, dq, ddq) beta with the bearing's viscous friction. One
    motion serves both when the sum of both criteria (4.35-4.38) is optimised. The motor moves by
    the spring's deflection ahead of the link; it follows from the load of the nominal model, and
    its rate from a differentiation matrix over the samples, so that the gradient stays a chain of
    products.
    """

    def __init__(self, model: Arm, step: float, noise: ArrayLike | None = None) -> None:
        """As `RigidInformation`; `step` is the time between the samples [s]."""
        if any(joint.elastic is None for joint in model.config.joints.values()):
            raise ArmsenseError(f'{model.name}: the two-sided criterion needs a spring in every '
                                'joint')
        self.load = RigidInformation(model, noise, terms=('viscous',))
        self.noise = self.load.noise
        springs = ElasticJoint.from_config(model.config)
        path = np.eye(model.n) + springs.coupling
        self._path, self._friction = path, springs.link_damping
        self._compliance = np.linalg.inv(path.T) / springs.stiffness[:, None]   # deflection / load
        self._parameters, self._step = model.parameters, step

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
        actuator = self._pull_back(point, columns, adjoint)
        return value + own, Motion(*(a + b for a, b in zip(by_state, actuator, strict=True)))

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
        slope = point.dY @ self._parameters                       # d load / d state, (N, 3 n, n)
        q, dq, ddq = np.split(np.einsum('ksi,ki->ks', slope, by_load), 3, axis=1)
        return Motion(q, dq + by_load * self._friction + by_motor @ self._path, ddq)


Information = RigidInformation | ElasticInformation   # what a design maximises


def _differentiation(count: int, step: float) -> Array:
    """Second-order differences, one-sided at the ends, (count, count)."""
    D = (np.eye(count, k=1) - np.eye(count, k=-1)) / (2.0 * step)
    D[0, :3] = np.array([-1.5, 2.0, -0.5]) / step
    D[-1, -3:] = np.array([0.5, -2.0, 1.5]) / step
    return D
