"""Torques and positions from different sources: by how much their clocks differ.

For every shift the torques are fitted by the columns of links and drives; the shift that leaves
least is the one. With an orthonormal basis Q of the columns the fit is a product,
|tau|^2 - |Q^T tau|^2, and all shifts at once are a correlation. Here only coarse shifts are found;
what is left of them (milliseconds) is decided by cross-validation later.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy import signal

from armsense.identify.friction_columns import DriveColumns
from armsense.identify.preprocess import decimate, low_pass, motion, shift, torque_band
from armsense.identify.recording import Recording
from armsense.model.arm_model import ArmModel
from armsense.types import Array

LEAST = 0.03        # [s] smaller shifts are left to the fine search
LONGEST = 2.0       # [s]
SHARE = 0.125       # of the recording that a shift may cost at most
GAIN = 0.5          # of the squared error that must be left at most, against no shift
RATE = 50.0         # [Hz]
TERMS = ('viscous', 'coulomb', 'inertia', 'offset')


def without_shift(recordings: Sequence[Recording],
                  model: ArmModel) -> tuple[list[Recording], float, list[str]]:
    """Torques moved to the motion where the shift is clear; the shift [s]; words."""
    delay = find_shift(max(recordings, key=lambda r: len(r.t)), model)
    if abs(delay) < LEAST:
        return list(recordings), 0.0, []
    moved = [replace(r, tau=shift(r.tau, r.t, delay)) for r in recordings]
    return moved, delay, [f'the torques are {1e3 * delay:.0f} ms later than the motion: moved']


def find_shift(recording: Recording, model: ArmModel) -> float:
    """Delay of the torques behind the motion [s]; 0 where none is clear."""
    small = decimate(recording, RATE)
    band = torque_band(small)
    reach = int(min(LONGEST * small.rate, SHARE * len(small.t)))
    moving = motion(small, band)
    N, n = small.q.shape
    Y = model.torque_regressor_batch(moving.q, moving.dq, moving.ddq).reshape(N, n, -1)
    columns = np.concatenate([Y, DriveColumns(np.eye(n), TERMS).columns(moving.dq, moving.ddq)],
                             axis=2)
    tau = low_pass(small.tau, band, small.rate)
    left = np.zeros(2 * reach + 1)
    for joint in range(n):
        left += _left_over(columns[reach:N - reach, joint], tau[:, joint])
    best = int(np.argmin(left))
    if left[best] > GAIN * left[reach]:
        return 0.0
    return float((best - reach) / small.rate)


def _left_over(X: Array, tau: Array) -> Array:
    """Share of the torque that a fit leaves at each shift, (len(tau) - len(X) + 1,)."""
    busy = np.flatnonzero(np.any(X, axis=0))
    scaled = X[:, busy] / np.linalg.norm(X[:, busy], axis=0)
    U, s, _ = np.linalg.svd(scaled, full_matrices=False)
    Q = U[:, s > 1e-6 * s[0]]
    products = signal.fftconvolve(tau[:, None], Q[::-1], mode='valid', axes=0)    # (shifts, r)
    energy = np.convolve(np.square(tau), np.ones(len(X)), mode='valid')
    return np.asarray(1.0 - np.sum(np.square(products), axis=1) / np.maximum(energy, 1e-300))
