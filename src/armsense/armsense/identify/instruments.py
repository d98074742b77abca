"""Instruments for estimation with noisy positions (IDIM-IV, after Janot et al. 2014).

Noise of the positions enters regressor and torque error alike and biases least squares. Columns Z
of a motion that is simulated, not measured, have the same shape but not the same noise:

    beta = (Z^T W X)^-1 Z^T W y

The simulated arm has the last estimate of the links and follows the recorded motion under the
control of nominal feed-forward and feedback that is too slow to follow noise.
"""

from __future__ import annotations

import numpy as np

from armsense.identify.design import thinned
from armsense.identify.friction_columns import DriveColumns
from armsense.identify.preprocess import low_pass, Motion
from armsense.model.arm_model import ArmModel
from armsense.types import Array

BANDWIDTH = 0.4      # of the feedback over the torque band
STEPS = 4            # of integration per sample


def instrument_columns(model: ArmModel, drive: DriveColumns, theta: Array, moving: Motion,
                       cutoff: float, count: int) -> Array:
    """Columns of the simulated motion behind the same filter, (count, n, p)."""
    pi, coefficients = np.split(theta, [10 * model.n])
    arm = model.replace(parameters=pi)
    ghost = simulated_motion(arm, model, moving, 2.0 * np.pi * BANDWIDTH * cutoff)
    link = arm.inverse_dynamics_batch(ghost.q, ghost.dq, ghost.ddq)
    load = link + drive.rotor_torque(ghost.ddq, coefficients)
    N, n = ghost.q.shape
    Y = model.torque_regressor_batch(ghost.q, ghost.dq, ghost.ddq).reshape(N, n, -1)
    columns = np.concatenate([Y, drive.columns(ghost.dq, ghost.ddq, load)], axis=2)
    keep = thinned(N, cutoff, moving.rate)
    flat = low_pass(columns.reshape(N, -1), cutoff, moving.rate)[keep]
    return np.asarray(flat.reshape(-1, n, columns.shape[2])[:count])


def simulated_motion(arm: ArmModel, nominal: ArmModel, reference: Motion,
                     bandwidth: float) -> Motion:
    """Motion of `arm` under feed-forward of `nominal` and feedback of `bandwidth` [1/s]."""
    dt = 1.0 / (reference.rate * STEPS)
    slow = low_pass(reference.ddq, bandwidth / (2.0 * np.pi), reference.rate)
    q, dq = reference.q[0].copy(), reference.dq[0].copy()
    out = np.empty((3, *reference.q.shape))
    for k, (q_r, dq_r, ddq_r) in enumerate(zip(reference.q, reference.dq, slow, strict=True)):
        wanted = ddq_r + 2.0 * bandwidth * (dq_r - dq) + bandwidth**2 * (q_r - q)
        tau = nominal.inverse_dynamics(q, dq, wanted)
        for step in range(STEPS):
            ddq = arm.forward_dynamics(q, dq, tau)
            if step == 0:
                out[:, k] = q, dq, ddq
            dq = dq + dt * ddq
            q = q + dt * dq
    return Motion(reference.t, out[0], out[1], out[2], reference.rate)
