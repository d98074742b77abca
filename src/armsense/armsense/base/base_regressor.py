"""The felt base wrench as a linear function of inertial parameters and offsets (2.11-2.20).

    c = S U(q, dq, ddq) pi + o = Y phi,    phi = [pi; o]  # (10 n + k,)

The offsets o take the weight of the base itself and whatever the cells were tared to. Most
parameters are felt only in combinations.
"""

import numpy as np
from numpy.typing import ArrayLike

from armsense.base.cell_layout import CellLayout
from armsense.identify.estimation.feasible import parameter_scale
from armsense.identify.estimation.recursive import RecursiveLeastSquares, RecursiveOptions
from armsense.model import Arm
from armsense.types import Array


def parameter_names(model: Arm, layout: CellLayout) -> tuple[str, ...]:
    """Such as `m1` ... `Izz4`, `offset_Fz`, (10 n + k,)."""
    return model.parameter_names + tuple(f'offset_{name}' for name in layout.names)


class FilteredRegressor:
    """Y behind the low pass of `BaseObserver`, without accelerations, sample by sample.

        LP[Y] = LP[G(q) + K H(q, dq)] - K H(q, dq)

    with regressors G of the weight and H of the momentum.
    """

    def __init__(self, model: Arm, layout: CellLayout, gain: float) -> None:
        """For an arm on its cells; `gain` K of the low pass [1/s]."""
        self._model, self._layout, self._gain = model, layout, gain
        self._rest = np.zeros(model.n)
        self._state: Array | None = None
        self._input: Array | None = None

    def step(self, q: Array, dq: Array, dt: float) -> Array:
        """Filtered Y, (k, 10 n + k), after `dt` seconds."""
        S, rest = self._layout.selection, self._rest
        G = S @ self._model.base_wrench_regressor(q, rest, rest)
        KH = self._gain * (G - S @ self._model.base_wrench_regressor(q, rest, dq))
        now = G + KH
        if self._state is None or self._input is None:
            self._state = now
        else:
            share = -np.expm1(-self._gain * dt)
            self._state = self._state + share * (0.5 * (self._input + now) - self._state)
        self._input = now
        return np.hstack([self._state - KH, np.eye(len(S))])


class RecursiveEstimator(RecursiveLeastSquares):
    """Estimate of phi = [pi; offsets], sample by sample, from the felt wrench."""

    def __init__(self, model: Arm, layout: CellLayout, noise: ArrayLike,
                 options: RecursiveOptions) -> None:
        """Start from a nominal arm; standard deviation of the felt wrench [N, Nm], (k,)."""
        self.model = model
        k = len(layout.axes)
        weight = float(model.masses.sum() * np.linalg.norm(model.gravity))
        super().__init__(
            parameter_names(model, layout), np.concatenate([model.parameters, np.zeros(k)]),
            np.concatenate([parameter_scale(model.parameters), np.full(k, weight)]),
            np.broadcast_to(np.asarray(noise, float), k), options)

    @property
    def masses(self) -> Array:
        """[kg] of the moving links, (n,)."""
        return self.phi[0:10 * self.model.n:10].copy()
