"""Inertial parameters from a recorded motion over load cells: weighted and physically consistent.

Thesis 003 corrects parameters one sample at a time by a pseudo-inverse. A whole recording says
more: the combinations that the cells feel by least squares, weighted with the noise that each axis
shows; and the links that could exist and explain the recording best (`identify.feasible`). What
the recording does not say stays at the nominal model.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from armsense.base.base_regressor import parameter_names
from armsense.base.cell_layout import CellLayout
from armsense.errors import ArmsenseError, BadValue
from armsense.identify.estimation.base_parameters import base_parameters, BaseParameters
from armsense.identify.estimation.feasible import link_bounds, parameter_scale, solve_feasible
from armsense.model import Arm
from armsense.types import Array
from bench.papers.least_squares import Estimate, ordinary

PRIOR = 1e-4       # weight of the nominal parameters against the data, per sample
CONDITION = 1e-6   # the same against the strongest parameter: the solver needs it


class FeltMotion(NamedTuple):
    """A recorded motion, N samples at the same instants."""

    q: Array      # [rad], (N, n)
    dq: Array     # [rad/s], (N, n)
    ddq: Array    # [rad/s^2], (N, n)
    felt: Array   # felt wrench [N, Nm], (N, k)


class BatchEstimate(NamedTuple):
    """What a recording says about the arm."""

    model: Arm            # with the estimated parameters
    offset: Array              # felt beyond the moving links [N, Nm], (k,)
    base: Estimate             # combinations by weighted least squares
    names: tuple[str, ...]     # of the combinations
    error_before: Array        # rms of felt - predicted [N, Nm], (k,): nominal model, best offset
    error_after: Array         # (k,)


def felt_regressor(model: Arm, layout: CellLayout, q: Array, dq: Array, ddq: Array) -> Array:
    """Y of N samples stacked sample by sample, each argument (N, n) -> (k N, 10 n + k)."""
    k = len(layout.axes)
    U = np.array([model.base_wrench_regressor(*row)                    # (N, 6, 10 n)
                  for row in zip(q, dq, ddq, strict=True)])
    felt = np.einsum('ij,njp->nip', layout.selection, U)               # (N, k, 10 n)
    offsets = np.broadcast_to(np.eye(k), (len(felt), k, k))
    return np.concatenate([felt, offsets], axis=2).reshape(-1, felt.shape[2] + k)


def felt_parameters(model: Arm, layout: CellLayout, samples: int = 80,
                    seed: int = 0) -> BaseParameters:
    """Combinations of parameters that these cells can tell apart, from random motions."""
    q, dq, ddq = np.random.default_rng(seed).uniform(-2.0, 2.0, (3, samples, model.n))
    return base_parameters(felt_regressor(model, layout, q, dq, ddq),
                           parameter_names(model, layout))


def estimate_batch(model: Arm, layout: CellLayout, motion: FeltMotion,
                   fit_offset: bool = True) -> BatchEstimate:
    """Parameters from a motion.

    Args:
        model: Nominal arm.
        layout: Its cells.
        motion: The recording; positions and forces filtered alike, without collisions.
        fit_offset: Whether the cells were tared at an unknown load; False: they read the weight
            of the moving links as it is.
    """
    _check(model, layout, motion)
    k = len(layout.axes)
    Y = felt_regressor(model, layout, motion.q, motion.dq, motion.ddq)
    names = parameter_names(model, layout)
    if not fit_offset:
        Y, names = Y[:, :-k], names[:-k]
    y = motion.felt.reshape(-1)
    base = base_parameters(Y, names)
    W = base.regressor(Y)
    weights = _weights(y - W @ ordinary(W, y).theta, motion.felt)
    estimate = ordinary(W, y, np.tile(weights, len(motion.q)))
    nominal = np.concatenate([model.parameters, np.zeros(Y.shape[1] - len(model.parameters))])
    phi = _feasible(model, Y, y, weights, nominal)
    pi, offset = phi[:10 * model.n], phi[10 * model.n:] if fit_offset else np.zeros(k)
    before = (y - Y @ nominal).reshape(-1, k)
    if fit_offset:
        before = before - before.mean(axis=0)
    after = (y - Y @ phi).reshape(-1, k)
    return BatchEstimate(model.replace(parameters=pi), offset, estimate, base.names,
                         _rms(before), _rms(after))


def _feasible(model: Arm, Y: Array, y: Array, weights: Array, nominal: Array) -> Array:
    N = len(y) // len(weights)
    root = np.tile(np.sqrt(weights), N)
    A, b = Y * root[:, None], y * root
    scale = np.ones(len(nominal))
    scale[:10 * model.n] = parameter_scale(model.parameters)
    H = A.T @ A
    strongest = float((np.diag(H)[:10 * model.n] * scale[:10 * model.n]**2).max())
    pull = max(PRIOR * N, CONDITION * strongest) / scale**2
    pull[10 * model.n:] = 0.0       # nothing is known of the offsets
    H += np.diag(pull)
    f = A.T @ b + pull * nominal
    return solve_feasible(H, f, model.parameters, link_bounds(model))


def _weights(residual: Array, felt: Array) -> Array:
    """Inverse variances of the axes, (k,); no recording is better than a part in a thousand."""
    variance = residual.reshape(felt.shape).var(axis=0)
    floor = 1e-6 * np.maximum(felt.var(axis=0), 1e-6)
    return np.asarray(1.0 / np.maximum(variance, floor))


def _rms(residual: Array) -> Array:
    return np.asarray(np.sqrt(np.mean(np.square(residual), axis=0)))


def _check(model: Arm, layout: CellLayout, motion: FeltMotion) -> None:
    N = len(motion.q)
    shapes = tuple(np.shape(part) for part in motion)
    if shapes != ((N, model.n),) * 3 + ((N, len(layout.axes)),):
        raise BadValue('shapes of the motion', shapes,
                       f'(N, {model.n}) three times and (N, {len(layout.axes)})')
    if not all(np.isfinite(part).all() for part in motion):
        raise ArmsenseError('the motion has NaN or infinity; leave such samples out')
