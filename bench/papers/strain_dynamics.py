"""Dynamics referred to link strains (paper 001, eqs. 8-11).

    eps_i = K_b (I ddq + C dq + g - dtau)_i = Y_i chi_i

The gauge feels what acts beyond it. Inertias beyond it act with shorter levers, so that every
gauge has base parameters of its own: those of its joint's torque, with further static columns for
the weight between joint and gauge. Friction and rotors of the drives do not appear.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from armsense.errors import BadValue
from armsense.identify.estimation.base_parameters import (
    base_parameters,
    BaseEstimate,
    estimate_base,
)
from armsense.identify.signals.filters import Motion
from armsense.model.arm import Arm
from armsense.types import Array

STATIC = ('m', 'mx', 'my', 'mz')


@dataclass(frozen=True)
class StrainDynamics:
    """Identified strains of some links."""

    model: Arm
    joints: tuple[int, ...]               # that have a gauge
    estimates: tuple[BaseEstimate, ...]   # chi of each gauge [1/Nm times its unit]

    def strain(self, q: Array, dq: Array, ddq: Array) -> Array:
        """Strains of a motion [1], (N, gauges)."""
        return np.stack([found.base.regressor(_columns(self.model, k, q, dq, ddq)) @ found.values
                         for k, found in zip(self.joints, self.estimates, strict=True)], axis=1)

    def nrmse(self, motion: Motion, strain: Array) -> Array:
        """Root mean square error over the range of each gauge [%], (gauges,)."""
        error = strain - self.strain(motion.q, motion.dq, motion.ddq)
        span = np.ptp(strain, axis=0)
        return np.asarray(100.0 * np.sqrt(np.mean(np.square(error), axis=0)) / span)


def identify_strain(motions: Sequence[Motion], strains: Sequence[Array], model: Arm,
                    joints: Sequence[int]) -> StrainDynamics:
    """Base parameters of each gauge by least squares.

    Args:
        motions: Smooth motions.
        strains: Behind the same filter [1], (N, gauges) each.
        model: Kinematics.
        joints: Joint of each gauge.
    """
    for strain in strains:
        if strain.ndim != 2 or strain.shape[1] != len(joints):
            raise BadValue('shape of the strains', strain.shape, f'(N, {len(joints)})')
    names = (*model.parameter_names, *(f'{name} (static)' for name in STATIC))
    found = []
    for column, joint in enumerate(joints):
        parts = [_columns(model, joint, m.q, m.dq, m.ddq) for m in motions]
        base = base_parameters(np.concatenate(parts), names)
        y = [strain[:, column:column + 1] for strain in strains]
        found.append(estimate_base(base, [part[:, None, :] for part in parts], y,
                                   [np.ones_like(part) for part in y]))
    return StrainDynamics(model, tuple(joints), tuple(found))


def _columns(model: Arm, joint: int, q: Array, dq: Array, ddq: Array) -> Array:
    """Row of the joint's torque regressor and of its link's weight, (N, 10 n + 4)."""
    still = np.zeros_like(q)
    N, n = q.shape
    Y = model.torque_regressor_batch(q, dq, ddq).reshape(N, n, -1)[:, joint]
    G = model.torque_regressor_batch(q, still, still).reshape(N, n, -1)[:, joint]
    return np.hstack([Y, G[:, 10 * joint:10 * joint + len(STATIC)]])
