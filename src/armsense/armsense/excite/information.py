"""Information matrix of the parameters that a motion identifies, with its gradient.

    M = sum_k Phi_k^T Sigma^-1 Phi_k,   Phi = [base columns of Y | rotor inertia | friction]

A criterion f(M) gives dF/dM = G; what its gradient asks of the samples is
<2 Sigma^-1 Phi_k G, dPhi_k>, so that no derivative of M itself is ever formed.

Pinocchio has no derivative of the regressor. One forward difference per joint and argument costs
as much as a regressor itself, 3 n + 1 calls per sample, and all samples go through one batch. The
regressor is linear in the acceleration, so that there a difference of any size is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from armsense.errors import BadValue, UnknownName
from armsense.excite.criteria import Criterion
from armsense.identify.estimation.base_parameters import base_parameters, regrouped
from armsense.model import Arm
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


def split(gradient: Array) -> Motion:
    """Rows over (q, dq, ddq), (N, 3 n), as a motion-like triple."""
    n = gradient.shape[1] // 3
    return Motion(gradient[:, :n], gradient[:, n:2 * n], gradient[:, 2 * n:])


class Information(Protocol):
    """What a design maximises."""

    parameter_names: tuple[str, ...]
    noise: Array      # standard deviation of the torques [Nm], (n,)

    def matrices(self, Y: Array, motion: Motion, weight: float) -> list[Array]:
        """Information matrices that the criterion takes one by one; `weight` counts a sample."""

    def gradient(self, criterion: Criterion, point: Linearised,
                 weight: float) -> tuple[float, Motion]:
        """Objective and its gradient by the samples."""


class RigidInformation:
    """Arm with rigid drives: inertias, rotor inertias and friction from motor torques."""

    def __init__(self, model: Arm, noise: ArrayLike | None = None,
                 terms: Sequence[str] = DEFAULT_TERMS) -> None:
        """Find the base parameters.

        Args:
            model: The arm.
            noise: Standard deviation of the joint torques [Nm], (n,). None: of the yaml.
            terms: Columns of the drives beside the rigid body, out of `TERMS`.
        """
        for term in terms:
            if term not in TERMS:
                raise UnknownName('drive term', term, TERMS)
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
        flat = self.regressor(Y, motion).reshape(-1, len(self._keep))
        return [weight * (flat.T @ flat)]

    def gradient(self, criterion: Criterion, point: Linearised,
                 weight: float) -> tuple[float, Motion]:
        Phi = self.regressor(point.Y, point.motion)
        flat = Phi.reshape(-1, len(self._keep))
        value, G = criterion.gradient(weight * (flat.T @ flat))
        adjoint = np.zeros((*Phi.shape[:2], self._width))
        adjoint[:, :, self._keep] = 2.0 * weight * (Phi @ G) / self.noise[:, None]
        return value, self.pull_back(point, adjoint)

    def pull_back(self, point: Linearised, adjoint: Array) -> Motion:
        """Gradient by the samples of <adjoint, columns>, (N, n, p) -> three times (N, n)."""
        N, n, rigid = point.Y.shape
        flat = np.ascontiguousarray(adjoint[:, :, :rigid]).reshape(N, n * rigid, 1)
        by_state = split((point.dY.reshape(N, 3 * n, n * rigid) @ flat)[:, :, 0])
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

    @property
    def _width(self) -> int:
        return int((10 + len(self.terms)) * self.model.n)

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
