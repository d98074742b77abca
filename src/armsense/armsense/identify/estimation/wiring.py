"""Signals of another joint, of the wrong sign or of another clock, found from the motion itself.

Each joint alone is fitted with what its drive must give, all coefficients of the right sign:

    tau_j = a rigid_j + f_v dq_j + f_c sign(dq_j) + J ddq_j + offset,    a, f_v, f_c, J >= 0

where `rigid` is the torque of the nominal masses. A torque of the wrong sign would need negative
friction, one of another joint fits that joint. So the same fit is made as if a sign were turned or
two joints were exchanged; where it then misses far less, that is the likely cause.

Torques of another clock: for every shift they are fitted by the columns of links and drives; the
shift that leaves least is the one. With an orthonormal basis Q of the columns the fit is a
product, |tau|^2 - |Q^T tau|^2, and all shifts at once are a correlation. Only coarse shifts are
found here; what is left of them (milliseconds) is decided by cross-validation later.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy import signal
from scipy.optimize import nnls

from armsense.identify.friction.columns import DriveColumns
from armsense.identify.signals.filters import (
    decimate,
    low_pass,
    Motion,
    motion,
    settled,
    torque_band,
)
from armsense.identify.signals.recording import Recording, shift
from armsense.model.arm import Arm
from armsense.types import Array

CLEAR = 0.3          # share of the squared error that the likely cause may leave
LEAST = 0.1          # share of a torque that must be missed before a cause is looked for
SMOOTHING = 0.01     # [rad/s] over which friction changes its sign
SAMPLES = 4.0        # per period of the cut-off
AUDIBLE = 2.0        # torque over noise of its sensor: below, nothing can be explained
LEAST_SHIFT = 0.03        # [s] smaller shifts are left to the fine search
LONGEST_SHIFT = 2.0       # [s]
SHIFT_SHARE = 0.125       # of the recording that a shift may cost at most
SHIFT_GAIN = 0.5          # of the squared error that must be left at most, against no shift
SHIFT_RATE = 50.0         # [Hz]
SHIFT_TERMS = ('viscous', 'coulomb', 'inertia', 'offset')


class _Guess(NamedTuple):
    """What might have been connected otherwise."""

    joints: tuple[int, ...]
    text: str
    motion: list[int]     # which joint's motion each joint has
    torque: list[int]     # which joint's torque
    sign: Array           # of the torques, (n,)


def wrong_wiring(model: Arm, motions: Sequence[Motion], torques: Sequence[Array],
                 cutoff: float) -> tuple[str, ...]:
    """What seems to be connected wrongly, in words; the clearest cause of each joint only.

    Args:
        model: Nominal masses, true gravity.
        motions: Smooth.
        torques: Measured, on the clocks of the motions [Nm], (N, n) each.
        cutoff: Of the torque band [Hz].
    """
    n = model.n
    same = list(range(n))

    def missed(guess: _Guess) -> Array:
        return _missed(model, motions, torques, cutoff, guess)

    now = missed(_Guess((), '', same, same, np.ones(n)))
    clear = []
    for guess in _guesses(model.joint_names):
        own = list(guess.joints)
        if now[own].max() > LEAST ** 2:
            ratio = float(missed(guess)[own].sum() / now[own].sum())
            if ratio < CLEAR:
                clear.append((ratio, guess))
    found: list[_Guess] = []
    for _, guess in sorted(clear, key=lambda pair: pair[0]):
        if not any(set(guess.joints) & set(other.joints) for other in found):
            found.append(guess)
    return tuple(guess.text for guess in found)


def _guesses(names: Sequence[str]) -> list[_Guess]:
    n = len(names)
    same, plus = list(range(n)), np.ones(n)
    guesses = [_Guess((j,), f'the torque of {name} has the wrong sign', same, same,
                      np.where(np.arange(n) == j, -1.0, 1.0)) for j, name in enumerate(names)]
    for j, k in combinations(range(n), 2):
        swapped = list(range(n))
        swapped[j], swapped[k] = k, j
        pair = f'{names[j]} and {names[k]}'
        guesses += [_Guess((j, k), f'the torques of {pair} are exchanged', same, swapped, plus),
                    _Guess((j, k), f'{pair} are exchanged', swapped, swapped, plus)]
    return guesses


def _missed(model: Arm, motions: Sequence[Motion], torques: Sequence[Array], cutoff: float,
            guess: _Guess) -> Array:
    """Share of each joint's squared torque that its own fit misses, (n,)."""
    columns, sides = [], []
    for moving, tau in zip(motions, torques, strict=True):
        q, dq, ddq = (x[:, guess.motion] for x in (moving.q, moving.dq, moving.ddq))
        parts = np.stack([model.inverse_dynamics_batch(q, dq, ddq), dq, np.tanh(dq / SMOOTHING),
                          ddq], axis=2)                                        # (N, n, 4)
        keep = slice(*settled(len(q), cutoff, moving.rate).indices(len(q))[:2],
                     max(1, int(moving.rate / (SAMPLES * cutoff))))
        flat = low_pass(parts.reshape(len(q), -1), cutoff, moving.rate)[keep]
        columns.append(flat.reshape(-1, model.n, 4))
        sides.append((low_pass(tau, cutoff, moving.rate)[keep])[:, guess.torque] * guess.sign)
    A, y = np.concatenate(columns), np.concatenate(sides)
    ones = np.ones((len(y), 1))
    out = np.empty(model.n)
    for j in range(model.n):
        own = np.hstack([A[:, j], ones, -ones])         # an offset may have either sign
        scale = np.maximum(np.linalg.norm(own, axis=0), 1e-300)
        out[j] = nnls(own / scale, y[:, j])[1] ** 2 / max(float(y[:, j] @ y[:, j]), 1e-300)
    return out


def silent_joints(recordings: Sequence[Recording], expected: Array, cutoff: float) -> Array:
    """Joints whose torque, measured and expected, drowns in the noise of its sensor, bool (n,).

    The noise within the band is taken to be as dense as it is above.

    Args:
        recordings: On a regular clock.
        expected: RMS of what the nominal masses need [Nm], (n,).
        cutoff: Of the torque band [Hz].
    """
    noise = np.zeros(len(expected))
    torque = np.zeros(len(expected))
    for r in recordings:
        smooth = low_pass(r.tau, cutoff, r.rate)
        above = max(0.5 * r.rate - cutoff, 1e-9)
        noise += np.sum(np.square(r.tau - smooth), axis=0) * min(cutoff / above, 1.0)
        torque += np.sum(np.square(smooth), axis=0)
    count = sum(len(r.t) for r in recordings)
    loudest = np.maximum(np.sqrt(torque / count), expected)
    return np.asarray(loudest < AUDIBLE * np.sqrt(noise / count))


def without_shift(recordings: Sequence[Recording],
                  model: Arm) -> tuple[list[Recording], float, list[str]]:
    """Torques moved to the motion where the shift is clear; the shift [s]; words."""
    delay = find_shift(max(recordings, key=lambda r: len(r.t)), model)
    if abs(delay) < LEAST_SHIFT:
        return list(recordings), 0.0, []
    moved = [replace(r, tau=shift(r.tau, r.t, delay)) for r in recordings]
    return moved, delay, [f'the torques are {1e3 * delay:.0f} ms later than the motion: moved']


def find_shift(recording: Recording, model: Arm) -> float:
    """Delay of the torques behind the motion [s]; 0 where none is clear."""
    small = decimate(recording, SHIFT_RATE)
    band = torque_band(small)
    reach = int(min(LONGEST_SHIFT * small.rate, SHIFT_SHARE * len(small.t)))
    moving = motion(small, band)
    N, n = small.q.shape
    Y = model.torque_regressor_batch(moving.q, moving.dq, moving.ddq).reshape(N, n, -1)
    drive = DriveColumns(np.eye(n), SHIFT_TERMS)
    columns = np.concatenate([Y, drive.columns(moving.dq, moving.ddq)], axis=2)
    tau = low_pass(small.tau, band, small.rate)
    left = np.zeros(2 * reach + 1)
    for joint in range(n):
        left += _left_over(columns[reach:N - reach, joint], tau[:, joint])
    best = int(np.argmin(left))
    if left[best] > SHIFT_GAIN * left[reach]:
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
