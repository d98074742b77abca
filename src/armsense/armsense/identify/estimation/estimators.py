"""Estimators behind one name: from columns and torques to base parameters with covariance.

    ols         every equation counts alike
    wls         joints count by the inverse variance of their torques (thesis 000, eq. 4.44)
    huber       errors beyond 1.3 deviations count linearly
    ridge       drawn towards the CAD values where the data say little
    iv          instruments from a simulated motion: noise in the positions does not bias
    ml          maximum likelihood of positions and torques together (Swevers et al. 1997)
    recursive   sample by sample with rate limits (thesis 003, eq. 2.22)

`consistent` (the default of an identification) solves for links that can exist at once, and takes
its intervals from wls. All others are followed by `single_parameters`.

Instruments (IDIM-IV, after Janot et al. 2014): noise of the positions enters regressor and torque
error alike and biases least squares. Columns Z of a motion that is simulated, not measured, have
the same shape but not the same noise, beta = (Z^T W X)^-1 Z^T W y. The simulated arm has the last
estimate of the links and follows the recorded motion under the control of nominal feed-forward
and feedback that is too slow to follow noise.

Maximum likelihood with noise on positions and torques (thesis 000, 4.2.4):

    min  sum |q - B delta|^2 / sigma_q^2
         + sum |tau - X(B delta, B' delta, B'' delta) beta|^2 / sigma_tau^2

over the coefficients delta of the motion and the base parameters beta, by Gauss-Newton steps. The
motion that fits both sensors best replaces the filtered one, so that noise of the positions does
not bias the parameters. Noise must be white at the working rate: torques are not filtered.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg

from armsense.errors import ArmsenseError, UnknownName
from armsense.identify.estimation.base_parameters import (
    BaseEstimate,
    BaseParameters,
    estimate_base,
)
from armsense.identify.estimation.equations import HUBER, huber_weights
from armsense.identify.estimation.feasible import parameter_scale, solve_arm
from armsense.identify.estimation.recursive import RecursiveLeastSquares
from armsense.identify.estimation.training import Options
from armsense.identify.friction.columns import DriveColumns
from armsense.identify.signals.filters import in_band, low_pass, Motion
from armsense.identify.signals.methods import fitted_series, fitted_spline
from armsense.identify.signals.recording import find_period, Recording
from armsense.model.arm import Arm
from armsense.types import Array

PRIOR = 1e-4        # pull to the nominal parameters where base parameters leave them open,
PULL = 1e-9         # and against the strongest parameter
RIDGE = 10.0        # inverse variance of a CAD value, in units of its own size
ITERATIONS = 5      # of weights or instruments
BANDWIDTH = 0.4      # of the feedback over the torque band
STEPS = 4            # of integration per sample
NEWTON_STEPS = 6         # of maximum likelihood
MOST = 6e7          # entries of a Jacobian: half a gigabyte
SMALL = 1e-5        # [rad], [rad/s], [rad/s^2] of difference quotients


@dataclass(frozen=True)
class Evidence:
    """Filtered columns and torques of the chosen structure, and the motion behind them."""

    model: Arm             # nominal, with the gravity that was found
    drive: DriveColumns
    base: BaseParameters
    columns: list[Array]        # of links and drives, (N, n, p) each
    torques: list[Array]        # [Nm], (N, n) each
    trust: list[Array]          # in samples, 0 to 1, (N, n) each
    noise: Array                # of the torques [Nm], (n,)
    nominal: Array              # links and drives before the data, (p,)
    theta: Array                # physically consistent first estimate, (p,)
    recordings: list[Recording]   # behind the columns, at the working rate
    motions: list[Motion]
    cutoff: float               # of the columns [Hz]
    options: Options
    slopes: list[Array] | None = None    # of the torques [Nm/s], (N, n) each
    periods: list[float] | None = None   # of the motions [samples]

    def weights(self) -> list[Array]:
        """Inverse variances times trust, (N, n) each."""
        return [trust / np.square(self.noise) for trust in self.trust]


def estimate(evidence: Evidence, name: str) -> BaseEstimate:
    """Base parameters by an estimator of this table."""
    if name not in TABLE:
        raise UnknownName('estimator', name, TABLE)
    return TABLE[name](evidence)


def _ordinary(e: Evidence) -> BaseEstimate:
    return _weighted(replace(e, noise=np.ones_like(e.noise),
                             trust=[np.ones_like(y) for y in e.torques]))


def _weighted(e: Evidence, instruments: list[Array] | None = None,
              prior: tuple[Array, Array] | None = None) -> BaseEstimate:
    return estimate_base(e.base, e.columns, e.torques, e.weights(), instruments, prior, e.slopes,
                         e.periods)


def _huber(e: Evidence) -> BaseEstimate:
    found = _weighted(e)
    for _ in range(ITERATIONS):
        keep = list(e.base.independent)
        errors = [y - A[:, :, keep] @ found.values
                  for A, y in zip(e.columns, e.torques, strict=True)]
        # What was rejected before (joints at rest, outliers) stays so.
        trust = [np.where(old > 0.0, huber_weights(error, HUBER), 0.0)
                 for error, old in zip(errors, e.trust, strict=True)]
        found = _weighted(replace(e, trust=trust))
    return found


def _ridge(e: Evidence) -> BaseEstimate:
    """A further row per base parameter: its CAD value, with the spread of its parts."""
    n10 = len(e.model.parameters)
    spread = np.concatenate([parameter_scale(e.model.parameters),
                             np.full(len(e.nominal) - n10, np.inf)])
    with np.errstate(invalid='ignore'):
        parts = np.where(e.base.combination == 0.0, 0.0, e.base.combination * spread)
    sigma = np.sqrt(np.sum(np.square(parts), axis=1) / RIDGE)         # inf: drives have no CAD
    return _weighted(e, prior=(e.base.project(e.nominal), 1.0 / np.square(sigma)))


def _instrumental(e: Evidence) -> BaseEstimate:
    theta = e.theta
    found = _weighted(e)
    for _ in range(2):      # the second simulation knows the first estimate
        Z = [instrument_columns(e.model, e.drive, theta, m, e.cutoff, len(y))
             for m, y in zip(e.motions, e.torques, strict=True)]
        found = _weighted(e, Z)
        theta = single_parameters(found, e)
    return found


def _likelihood(e: Evidence) -> BaseEstimate:
    """From raw positions and torques."""
    pieces = [_Piece(e, recording) for recording in e.recordings]
    beta, noise = e.base.project(e.theta), e.noise
    H = np.eye(len(beta))
    for _ in range(NEWTON_STEPS):
        H, f, cost = np.zeros((len(beta), len(beta))), np.zeros(len(beta)), 0.0
        for piece in pieces:
            part, side, misfit = piece.reduced(beta, noise)
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
    return BaseEstimate(e.base, beta, covariance, rows, singular)


def _recursive(e: Evidence) -> BaseEstimate:
    """Sample by sample; the covariance of the filter, widened to what the jackknife finds."""
    batch = _weighted(e)
    keep = list(e.base.independent)
    start = e.base.project(e.theta)
    scale = np.maximum(np.abs(start), 10.0 * batch.deviations) + 1e-9
    noise = e.noise * np.sqrt(max(1.0, len(e.torques[0]) / (2.0 * batch.blocks)))
    filter_ = RecursiveLeastSquares(e.base.names, start, scale, noise)
    for A, y, moving in zip(e.columns, e.torques, e.motions, strict=True):
        dt = float(moving.t[-1] - moving.t[0]) / len(y)
        for row, tau in zip(A[:, :, keep], y, strict=True):
            filter_.step(row, tau, dt)
    return replace(batch, values=filter_.phi.copy())


TABLE: dict[str, Callable[[Evidence], BaseEstimate]] = {
    'ols': _ordinary, 'wls': _weighted, 'huber': _huber, 'ridge': _ridge, 'iv': _instrumental,
    'ml': _likelihood, 'recursive': _recursive}


def single_parameters(found: BaseEstimate, e: Evidence) -> Array:
    """Links that can exist and drives that brake, with these base parameters (4.3.2), (p,).

    Thesis 000 searches single parameters whose combinations come nearest to the estimated base
    parameters, within bounds. Near means: in units of their uncertainty; what the combinations
    leave open stays close to the nominal values.
    """
    n10 = len(e.model.parameters)
    scale = np.sqrt(np.maximum(np.diag(found.covariance), 1e-300))
    unit = found.covariance / np.outer(scale, scale)
    value, vector = np.linalg.eigh(unit)
    precision = (vector / np.maximum(value, 1e-5 * value[-1])) @ vector.T / np.outer(scale, scale)
    C = e.base.combination
    H, f = C.T @ precision @ C, C.T @ precision @ found.values
    reach = parameter_scale(e.model.parameters)
    strongest = float((np.diag(H)[:n10] * reach**2).max())
    pull = np.zeros(len(e.nominal))
    pull[:n10] = max(PRIOR, PULL * strongest) / reach**2
    return solve_arm(H + np.diag(pull + 1e-12 * np.diag(H)), f + pull * e.nominal, e.model,
                     e.drive, e.options.mass_factors, e.options.total_mass)


def instrument_columns(model: Arm, drive: DriveColumns, theta: Array, moving: Motion,
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
    return in_band(columns, cutoff, moving.rate)[:count]


def simulated_motion(arm: Arm, nominal: Arm, reference: Motion,
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


class _Piece:
    """One recording and the coefficients of its motion."""

    def __init__(self, evidence: Evidence, recording: Recording) -> None:
        self._evidence, self._recording = evidence, recording
        period = find_period(recording)
        # Fourier series where the motion repeats, splines elsewhere.
        self.basis, self.delta = (
            fitted_spline(recording, evidence.cutoff) if period is None else
            fitted_series(recording.t, recording.q, period, evidence.cutoff))
        size = recording.q.size * self.delta.size
        if size > MOST:
            raise ArmsenseError(f'{recording.name}: maximum likelihood would need {size:.1e} '
                                f'numbers; give shorter windows or choose the estimator iv')
        self.rows = recording.q.size
        misfit = recording.q - self.basis.position @ self.delta
        share = len(recording.t) / max(len(recording.t) - len(self.delta), 1)
        self._sigma = np.sqrt(np.mean(np.square(misfit), axis=0) * share) + 1e-12   # (n,) [rad]
        self._back: Array = np.zeros(0)

    def reduced(self, beta: Array, noise: Array) -> tuple[Array, Array, float]:
        """Normal equations of beta with the motion's own step eliminated, and the cost."""
        q, dq, ddq = self.basis.motion(self.delta)
        X = self._columns(q, dq, ddq)
        error = (self._recording.tau - X @ beta) / noise
        self.torque_variance = np.mean(np.square(error * noise), axis=0)
        Jb = (X / noise[:, None]).reshape(-1, len(beta))
        Jd = self._by_motion(q, dq, ddq, beta) / noise[:, None]     # (N, n, m n)
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

    def _columns(self, q: Array, dq: Array, ddq: Array) -> Array:
        N, n = q.shape
        e = self._evidence
        pi, coefficients = np.split(e.theta, [10 * n])
        Y = e.model.torque_regressor_batch(q, dq, ddq).reshape(N, n, -1)
        load = Y @ pi + e.drive.rotor_torque(ddq, coefficients)
        columns = np.concatenate([Y, e.drive.columns(dq, ddq, load)], axis=2)
        return np.asarray(columns[:, :, list(e.base.independent)])

    def _by_motion(self, q: Array, dq: Array, ddq: Array, beta: Array) -> Array:
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
                    ends.append(self._columns(*state) @ beta)
                slope = (ends[0] - ends[1]) / (2.0 * SMALL)              # (N, n)
                total += slope[:, :, None] * functions[:, None, :]
            parts.append(total)
        return np.concatenate(parts, axis=2)
