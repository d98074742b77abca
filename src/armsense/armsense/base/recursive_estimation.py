"""Inertial parameters and offsets of an arm on load cells, followed while it moves.

The filter is `identify.recursive`; here it starts from the nominal arm and the felt wrench is what
it measures.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from armsense.base.base_regressor import parameter_names
from armsense.base.cell_layout import CellLayout
from armsense.identify.estimation.feasible import is_consistent, parameter_scale
from armsense.identify.estimation.recursive import (
    DEFAULT_OPTIONS,
    RecursiveLeastSquares,
    RecursiveOptions,
)
from armsense.model import Arm
from armsense.types import Array

__all__ = ['RecursiveEstimator', 'RecursiveOptions']


class RecursiveEstimator(RecursiveLeastSquares):
    """Estimate of phi = [pi; offsets], sample by sample."""

    def __init__(self, model: Arm, layout: CellLayout, noise: ArrayLike,
                 options: RecursiveOptions = DEFAULT_OPTIONS) -> None:
        """Start from a nominal arm.

        Args:
            model: The arm.
            layout: Its cells.
            noise: Standard deviation of the felt wrench [N, Nm], (k,).
            options: How parameters follow.
        """
        self.model = model
        k = len(layout.axes)
        weight = float(model.masses.sum() * np.linalg.norm(model.gravity))
        super().__init__(
            parameter_names(model, layout), np.concatenate([model.parameters, np.zeros(k)]),
            np.concatenate([parameter_scale(model.parameters), np.full(k, weight)]),
            np.broadcast_to(np.asarray(noise, float), k), options)

    @property
    def offset(self) -> Array:
        """Felt beyond the moving links [N, Nm], (k,)."""
        return self.phi[10 * self.model.n:].copy()

    @property
    def masses(self) -> Array:
        """[kg] of the moving links, (n,)."""
        return self.phi[0:10 * self.model.n:10].copy()

    @property
    def consistent(self) -> bool:
        """Whether links with the present parameters could exist."""
        return is_consistent(self.phi[:10 * self.model.n])

    def estimated(self) -> Arm:
        """The arm with the present parameters."""
        return self.model.replace(parameters=self.phi[:10 * self.model.n])
