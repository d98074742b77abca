"""Base parameters of an arm and their least-squares values, as tests and comparisons want them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import linalg

from armsense.errors import BadValue
from armsense.identify.estimation.base_parameters import (
    _from_factor,
    _gram_factor,
    base_parameters,
    BaseParameters,
    gram,
    GRAM_LIMIT,
    regrouped,
)
from armsense.model.arm import Arm
from armsense.types import Array


def base_estimate(W: Array, y: Array, names: Sequence[str]) -> tuple[BaseParameters, Array, float]:
    """Base parameters, their least-squares values (r,) and |y - W_b beta|, in one pass over W.

    For long recordings: W^T W decides and solves, which loses half of the digits.
    """
    if W.ndim != 2 or W.shape[1] != len(names) or y.shape != (len(W),):
        raise BadValue('shapes of regressor and torque', (W.shape, y.shape),
                       f'(N, {len(names)}) and (N,)')
    square, right = gram(W, y)
    base = _from_factor(*_gram_factor(square), names, GRAM_LIMIT, ())
    keep = list(base.independent)
    H, f = square[np.ix_(keep, keep)], right[keep]
    length = np.sqrt(np.diag(H))
    beta = linalg.solve(H / np.outer(length, length), f / length, assume_a='pos') / length
    error = float(y @ y - 2.0 * f @ beta + beta @ H @ beta)
    return base, np.asarray(beta), float(np.sqrt(max(error, 0.0)))


def arm_base_parameters(model: Arm, samples: int = 60, seed: int = 0) -> BaseParameters:
    """Base parameters of an arm's joint torques, from random states, in regrouped form."""
    q, dq, ddq = np.random.default_rng(seed).uniform(-2.0, 2.0, (3, samples, model.n))
    W = model.torque_regressor_batch(q, dq, ddq)
    return base_parameters(W, model.parameter_names, prefer=regrouped(model.parameter_names))
