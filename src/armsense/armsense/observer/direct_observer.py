"""The direct residual: inverse dynamics minus torque (paper 001, eq. 12, in torques).

    r = M(q) ddq + C(q, dq) dq + g(q) - tau

The baseline: it needs the acceleration, and pays for it with noise.
"""

from __future__ import annotations

import math

import numpy as np

from armsense.model import Arm
from armsense.observer.observer import Observer
from armsense.observer.options import DEFAULT_OPTIONS, ObserverOptions
from armsense.observer.residual_filter import ResidualFilter
from armsense.types import Array


class DirectObserver(Observer):
    """Direct residual, filtered.

    Without a measured acceleration the velocities' difference is used, with the dynamics evaluated
    in the middle of the step, where that difference belongs: the error is of second order in dt.
    """

    def __init__(
        self,
        model: Arm,
        residual_filter: ResidualFilter,
        options: ObserverOptions = DEFAULT_OPTIONS,
    ) -> None:
        super().__init__(model, residual_filter, options)
        self._ddq: Array | None = None
        self._q = self._dq = self._tau = self._tau_now = np.zeros(model.n)

    def step(
        self, q: Array, dq: Array, tau_link: Array, dt: float, ddq: Array | None = None,
    ) -> Array:
        """One sample; see Observer.step. `ddq`: measured acceleration [rad/s^2], (n,)."""
        if ddq is not None and not math.isfinite(ddq.sum()):
            ddq = None
        self._ddq = ddq
        return super().step(q, dq, tau_link, dt)

    def _external_torque(
        self, q: Array, dq: Array, tau: Array, newer_share: float, dt: float,
    ) -> Array:
        self._tau_now = tau.copy()
        if self._ddq is not None:
            return self.model.inverse_dynamics(q, dq, self._ddq) - tau
        middle_q, middle_dq = 0.5 * (self._q + q), 0.5 * (self._dq + dq)
        raw = self.model.inverse_dynamics(middle_q, middle_dq, (dq - self._dq) / dt) - tau
        if newer_share < 1.0:
            raw += (1.0 - newer_share) * (tau - self._tau)
        return raw

    def _anchor(self, q: Array, dq: Array, tau: Array) -> None:
        self._tau_now = tau.copy()
        self._accept(q, dq)

    def _accept(self, q: Array, dq: Array) -> None:
        self._q, self._dq, self._tau = q.copy(), dq.copy(), self._tau_now
