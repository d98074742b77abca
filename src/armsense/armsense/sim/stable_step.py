"""Longest time step at which the springs of a model stay stable.

MuJoCo takes spring forces from the old position and damping implicitly:

    (M + h D) v' = M v - h K q,      q' = q + h v'

The springs are linear, so the eigenvalues of that map tell whether a step h holds.
"""

import mujoco
import numpy as np

from armsense.types import Array

STIFFER = 1.1   # margin on the stiffness: other poses are a little stiffer than this one


def stable_step(model: mujoco.MjModel, data: mujoco.MjData, longest: float) -> float:
    """`longest` [s], halved until stable at the pose of `data`, which is left unchanged."""
    K, D = _derivatives(model, data)
    M = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, M)
    h = longest
    while _growth(M, D, STIFFER * K, h) > 1.0 + 1e-6 and h > 1e-5:
        h *= 0.5
    return h


def _growth(M: Array, D: Array, K: Array, h: float) -> float:
    """Largest factor by which one step multiplies a motion."""
    n = len(M)
    inverse = np.linalg.inv(M + h * D)
    from_q, from_v = -h * inverse @ K, inverse @ M
    step = np.block([[np.eye(n) + h * from_q, h * from_v], [from_q, from_v]])
    return float(np.abs(np.linalg.eigvals(step)).max())


def _derivatives(model: mujoco.MjModel, data: mujoco.MjData) -> tuple[Array, Array]:
    """Stiffness and damping matrix of joints and tendons, by differences, (nv, nv) each."""
    probe = mujoco.MjData(model)
    delta = 1e-6
    columns: list[list[Array]] = [[], []]
    for column, name in zip(columns, ('qpos', 'qvel'), strict=True):
        for k in range(model.nv):
            sides = []
            for sign in (1.0, -1.0):
                probe.qpos[:], probe.qvel[:] = data.qpos, 0.0
                getattr(probe, name)[k] += sign * delta
                mujoco.mj_forward(model, probe)
                sides.append(probe.qfrc_passive.copy())
            column.append((sides[1] - sides[0]) / (2.0 * delta))
    return np.array(columns[0]).T, np.array(columns[1]).T
