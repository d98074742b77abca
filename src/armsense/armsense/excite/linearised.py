"""The rigid regressor along a motion and its derivatives by position, velocity, acceleration.

Pinocchio has no derivative of the regressor. One forward difference per joint and argument costs
as much as a regressor itself, 3 n + 1 calls per sample, and all samples go through one batch. The
regressor is linear in the acceleration, so that there a difference of any size is exact.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from armsense.model import ArmModel
from armsense.types import Array

STEP = 1e-6      # [rad], [rad/s]: truncation and rounding are both below 1e-6 of the regressor


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


def regressor(model: ArmModel, motion: Motion) -> Array:
    """Y, (N, n, 10 n)."""
    return model.torque_regressor_batch(*motion).reshape(len(motion.q), model.n, -1)


def linearise(model: ArmModel, motion: Motion) -> Linearised:
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
