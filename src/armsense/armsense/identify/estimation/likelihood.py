"""Maximum likelihood with noise on positions and torques (Swevers et al. 1997; thesis 000, 4.2.4).

    min  sum |q - B delta|^2 / sigma_q^2
         + sum |tau - X(B delta, B' delta, B'' delta) beta|^2 / sigma_tau^2

over the coefficients delta of the motion and the base parameters beta, by Gauss-Newton steps. The
motion that fits both sensors best replaces the filtered one, so that noise of the positions does
not bias the parameters. Noise must be white at the working rate: torques are not filtered.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import linalg

from armsense.errors import ArmsenseError
from armsense.identify.estimation.base_parameters import BaseEstimate, BaseParameters
from armsense.identify.friction.columns import DriveColumns
from armsense.identify.signals.methods import Basis, find_period, fitted_series, fitted_spline
from armsense.identify.signals.recording import Recording
from armsense.model.arm import Arm
from armsense.types import Array

STEPS = 6
MOST = 6e7          # entries of a Jacobian: half a gigabyte
SMALL = 1e-5        # [rad], [rad/s], [rad/s^2] of difference quotients


def maximum_likelihood(base: BaseParameters, model: Arm, drive: DriveColumns,
                       recordings: Sequence[Recording], theta: Array, noise: Array,
                       cutoff: float) -> BaseEstimate:
    """Base parameters from raw positions and torques.

    Args:
        base: Structure.
        model: Kinematics and gravity.
        drive: Terms of the drives.
        recordings: At the working rate.
        theta: First estimate, (p,).
        noise: Of the torques [Nm], (n,).
        cutoff: Of the motion [Hz].
    """
    pieces = [_Piece(base, model, drive, recording, cutoff) for recording in recordings]
    beta = base.project(theta)
    H = np.eye(len(beta))
    for _ in range(STEPS):
        H, f, cost = np.zeros((len(beta), len(beta))), np.zeros(len(beta)), 0.0
        for piece in pieces:
            part, side, misfit = piece.reduced(beta, theta, noise)
            H, f, cost = H + part, f + side, cost + misfit
        step = linalg.solve(H + 1e-12 * np.diag(np.diag(H)), f, assume_a='pos')
        beta = beta + step
        for piece in pieces:
            piece.move(step)
        noise = np.sqrt(np.mean([piece.torque_variance for piece in pieces], axis=0))
        if np.all(np.abs(step) < 1e-3 * np.sqrt(np.diag(np.linalg.inv(H)))):
            break
    rows = sum(piece.rows for piece in pieces)
    scale = np.sqrt(np.diag(H))
    singular = np.sqrt(np.linalg.eigvalsh(H / np.outer(scale, scale))[::-1])
    covariance = np.asarray(np.linalg.inv(H), float)
    return BaseEstimate(base, beta, covariance, rows, singular)


class _Piece:
    """One recording and the coefficients of its motion."""

    def __init__(self, base: BaseParameters, model: Arm, drive: DriveColumns,
                 recording: Recording, cutoff: float) -> None:
        self._base, self._model, self._drive, self._recording = base, model, drive, recording
        self.basis, self.delta = motion_coefficients(recording, cutoff)
        size = recording.q.size * self.delta.size
        if size > MOST:
            raise ArmsenseError(f'{recording.name}: maximum likelihood would need {size:.1e} '
                                f'numbers; give shorter windows or choose the estimator iv')
        self.rows = recording.q.size
        misfit = recording.q - self.basis.position @ self.delta
        share = len(recording.t) / max(len(recording.t) - len(self.delta), 1)
        self._sigma = np.sqrt(np.mean(np.square(misfit), axis=0) * share) + 1e-12   # (n,) [rad]
        self._back: Array = np.zeros(0)

    def reduced(self, beta: Array, theta: Array, noise: Array) -> tuple[Array, Array, float]:
        """Normal equations of beta with the motion's own step eliminated, and the cost."""
        q, dq, ddq = self.basis.motion(self.delta)
        X = self._columns(q, dq, ddq, theta)
        error = (self._recording.tau - X @ beta) / noise
        self.torque_variance = np.mean(np.square(error * noise), axis=0)
        Jb = (X / noise[:, None]).reshape(-1, len(beta))
        Jd = self._by_motion(q, dq, ddq, beta, theta) / noise[:, None]     # (N, n, m n)
        Jd = Jd.reshape(len(Jb), -1)
        position = (self._recording.q - q) / self._sigma
        Hdd = Jd.T @ Jd + linalg.block_diag(*(
            self.basis.position.T @ self.basis.position / s**2 for s in self._sigma))
        fd = Jd.T @ error.ravel() + (self.basis.position.T @ (position / self._sigma)).T.ravel()
        Hdb = Jd.T @ Jb
        factor = linalg.cho_factor(Hdd + 1e-12 * np.diag(np.diag(Hdd)))
        solved = linalg.cho_solve(factor, np.column_stack([Hdb, fd]))
        self._back, self._own = solved[:, :-1], solved[:, -1]
        H = Jb.T @ Jb - Hdb.T @ self._back
        f = Jb.T @ error.ravel() - Hdb.T @ self._own
        return H, f, float(np.sum(error**2) + np.sum(position**2))

    def move(self, step: Array) -> None:
        """The motion's step that belongs to a step of beta."""
        n = self._recording.n
        self.delta = self.delta + (self._own - self._back @ step).reshape(n, -1).T

    def _columns(self, q: Array, dq: Array, ddq: Array, theta: Array) -> Array:
        N, n = q.shape
        pi, coefficients = np.split(theta, [10 * n])
        Y = self._model.torque_regressor_batch(q, dq, ddq).reshape(N, n, -1)
        load = Y @ pi + self._drive.rotor_torque(ddq, coefficients)
        columns = np.concatenate([Y, self._drive.columns(dq, ddq, load)], axis=2)
        return np.asarray(columns[:, :, list(self._base.independent)])

    def _by_motion(self, q: Array, dq: Array, ddq: Array, beta: Array, theta: Array) -> Array:
        """Derivative of the torques by the coefficients, joint by joint, (N, n, n m)."""
        N, n = q.shape
        parts = []
        for joint in range(n):
            total = np.zeros((N, n, self.basis.position.shape[1]))
            for which, functions in enumerate(self.basis):
                ends = []
                for sign in (1.0, -1.0):
                    state = [q.copy(), dq.copy(), ddq.copy()]
                    state[which][:, joint] += sign * SMALL
                    ends.append(self._columns(state[0], state[1], state[2], theta) @ beta)
                slope = (ends[0] - ends[1]) / (2.0 * SMALL)              # (N, n)
                total += slope[:, :, None] * functions[:, None, :]
            parts.append(total)
        return np.concatenate(parts, axis=2)


def motion_coefficients(recording: Recording, cutoff: float) -> tuple[Basis, Array]:
    """Fourier series where the motion repeats, splines elsewhere."""
    period = find_period(recording)
    if period is not None:
        return fitted_series(recording.t, recording.q, period, cutoff)
    return fitted_spline(recording, cutoff)
