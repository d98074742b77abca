"""Observers by name: of the generalised momentum, and direct."""

from collections.abc import Callable
import math

import numpy as np
from numpy.typing import ArrayLike

from armsense.errors import BadValue
from armsense.model import Arm
from armsense.observer.observer import DEFAULT_OPTIONS, Observer, ObserverOptions
from armsense.observer.residual_filter import (
    FirstOrderFilter,
    HigherOrderFilter,
    KalmanFilter,
    ResidualFilter,
)
from armsense.schema import check_known
from armsense.types import Array


class MomentumObserver(Observer):
    """External torque from the momentum (De Luca; thesis 000, eq. 5.10; paper 001, section 5).

        dp/dt = tau + tau_ext + beta(q, dq),   p = M(q) dq,   beta = C(q, dq)^T dq - g(q)

    Between two samples the mean external torque is exactly

        (p_1 - p_0) / dt - mean(tau) - mean(beta)

    and the observer is a low pass on it, of the order of the filter given. For a first-order one
    with gain K this is eq. 5.10 with K (p - p_estimate) as the residual, discretised exactly for
    an external torque constant over the step. The sign of beta in eq. 5.7 of the thesis is a
    misprint; eq. 5.10 has it right.

    The terms of two samples stand in the rows of one table, p, C^T dq, g, tau of each, so that the
    external torque is one vector-matrix product. Which half holds the newer sample alternates.
    """

    def __init__(self, model: Arm, residual_filter: ResidualFilter,
                 options: ObserverOptions = DEFAULT_OPTIONS) -> None:
        super().__init__(model, residual_filter, options)
        self._simpson = options.quadrature == 'simpson'
        self._table = np.zeros((9, model.n))  # the last row: beta in the middle of the step
        self._terms = tuple((self._table[k], self._table[k + 1], self._table[k + 2])
                            for k in (0, 4))
        end = 1.0 / 6.0 if self._simpson else 0.5
        half = [0.0, -end, end, 0.0]  # factors of p and tau are set in each step
        self._weights = np.array([*half, *half, -4.0 / 6.0 if self._simpson else 0.0])
        self._newer = 0  # half of the sample in hand
        self._q = self._dq = np.zeros(model.n)

    def _anchor(self, q: Array, dq: Array, tau: Array) -> None:
        self.model.momentum_terms(q, dq, self._terms[self._newer])
        self._table[4 * self._newer + 3] = tau
        self._accept(q, dq)

    def _external_torque(self, q: Array, dq: Array, tau: Array, newer_share: float,
                         dt: float) -> Array:
        half, table, weights = self._newer, self._table, self._weights
        now, before = 4 * half, 4 - 4 * half  # first rows of the two samples
        self.model.momentum_terms(q, dq, self._terms[half])
        table[now + 3] = tau
        if self._simpson:
            table[8] = self._middle_beta(q, dq, dt)
        weights[now] = 1.0 / dt
        weights[before] = -1.0 / dt
        weights[now + 3] = -newer_share
        weights[before + 3] = newer_share - 1.0
        return np.asarray(weights.dot(table))

    def _accept(self, q: Array, dq: Array) -> None:
        self._newer = 1 - self._newer
        if self._simpson:
            self._q, self._dq = q.copy(), dq.copy()

    def _middle_beta(self, q: Array, dq: Array, dt: float) -> Array:
        """Beta in the middle of the step, from the cubic through both samples and slopes."""
        middle_q = 0.5 * (self._q + q) - 0.125 * dt * (dq - self._dq)
        middle_dq = 1.5 / dt * (q - self._q) - 0.25 * (self._dq + dq)
        return self.model.momentum_rate(middle_q, middle_dq)


class DirectObserver(Observer):
    """Inverse dynamics minus torque, filtered (paper 001, eq. 12, in torques).

        r = M(q) ddq + C(q, dq) dq + g(q) - tau

    The baseline: it needs the acceleration, and pays for it with noise. Without a measured one
    the velocities' difference is used, with the dynamics evaluated in the middle of the step,
    where that difference belongs: the error is of second order in dt.
    """

    def __init__(self, model: Arm, residual_filter: ResidualFilter,
                 options: ObserverOptions = DEFAULT_OPTIONS) -> None:
        super().__init__(model, residual_filter, options)
        self._ddq: Array | None = None
        self._q = self._dq = self._tau = self._tau_now = np.zeros(model.n)

    def step(self, q: Array, dq: Array, tau_link: Array, dt: float,
             ddq: Array | None = None) -> Array:
        """One sample; see Observer.step. `ddq`: measured acceleration [rad/s^2], (n,)."""
        if ddq is not None and not math.isfinite(ddq.sum()):
            ddq = None
        self._ddq = ddq
        return super().step(q, dq, tau_link, dt)

    def _external_torque(self, q: Array, dq: Array, tau: Array, newer_share: float,
                         dt: float) -> Array:
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


Make = Callable[[Array, float], ResidualFilter]   # of gains [1/s] (n,) and the nominal period [s]

# Its residual is that of first order; beside it monitors test for sudden torques, see `onset`.
LIKELIHOOD = 'likelihood'

# What is observed, and the filter behind it.
OBSERVERS: dict[str, tuple[type[Observer], Make]] = {
    'first_order': (MomentumObserver, lambda gains, _: FirstOrderFilter(gains)),
    'second_order': (MomentumObserver, lambda gains, _: HigherOrderFilter.bessel(2, gains)),
    'third_order': (MomentumObserver, lambda gains, _: HigherOrderFilter.bessel(3, gains)),
    'kalman': (MomentumObserver, KalmanFilter.of_bandwidth),
    LIKELIHOOD: (MomentumObserver, lambda gains, _: FirstOrderFilter(gains)),
    'direct': (DirectObserver, lambda gains, _: FirstOrderFilter(gains)),
}


def make_observer(name: str, model: Arm, gain: ArrayLike = 100.0,
                  options: ObserverOptions = DEFAULT_OPTIONS) -> Observer:
    """One of OBSERVERS; its gain is the bandwidth [1/s], scalar or per joint (n,)."""
    gains = np.asarray(gain, float)
    if gains.ndim == 0:
        gains = np.full(model.n, float(gains))
    elif gains.shape != (model.n,):
        raise BadValue('shape of gain', gains.shape, f'({model.n},) or a number')
    check_known('observer', name, OBSERVERS)
    kind, make = OBSERVERS[name]
    return kind(model, make(gains, options.period), options)
