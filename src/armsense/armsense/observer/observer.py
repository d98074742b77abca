"""The interface of all observers, and their common care for gaps, NaN and the first sample.

The residual tends to tau_ext of M(q) ddq + C(q, dq) dq + g(q) = tau_link + tau_ext.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
import math

import numpy as np

from armsense.errors import BadValue
from armsense.model import Arm
from armsense.observer.residual_filter import ResidualFilter
from armsense.schema import check, quantity
from armsense.types import Array

TORQUES = ('held', 'sampled')
QUADRATURES = ('trapezoid', 'simpson')
GAPS = ('hold', 'decay')


@dataclass(frozen=True, kw_only=True)
class ObserverOptions:
    """Sampling of an observer.

    The torque of `step` is either `held`, the constant torque that acted during the step which
    ends now (motor torque behind a zero-order hold), or `sampled`, its value at this instant
    (spring or strain torque; its mean over the step is taken by the trapezoid).

    `trapezoid` integrates beta = C^T dq - g between two samples with an error of
    period^2 beta'' / 12, far below sensor noise. `simpson` adds one evaluation in the middle of
    the step, from the cubic through both samples and their slopes: fourth order, for exact data
    and long periods. Its middle velocity contains a backward difference, so it suits data that
    are not quantised.
    """

    period: float = quantity(1e-3, unit='s', above=0, text='nominal sampling period')
    torque: str = quantity('held', choices=TORQUES)
    quadrature: str = quantity('trapezoid', choices=QUADRATURES)
    max_gap: float = quantity(0.02, unit='s', above=0,
                              text='longer pauses are not bridged: the momentum is anchored anew')
    on_gap: str = quantity('hold', choices=GAPS,
                           text='residual over an unbridged pause: kept, or decaying to zero')

    def __post_init__(self) -> None:
        check(self)


DEFAULT_OPTIONS = ObserverOptions()


class Observer(ABC):
    """Position, velocity and link torque in, external joint torque out.

    The first sample (or `reset`) is the anchor: the momentum the arm has at that moment is taken
    as it is, so a start in motion causes no phantom torque. Every further sample gives the mean
    external torque since the sample before it, `raw`, and its filtered form, `residual`. There
    is no integrator that could wind up: the states are the last sample and the filter.

    A sample that cannot be used never reaches the filter; `valid` is then False and the residual
    keeps its value:

    - NaN or infinity in q, dq, tau_link or dt, or dt < 0: the anchor is lost and the next good
      sample becomes the new one (that step is not valid either).
    - dt = 0, a repeated sample: ignored.
    - dt > options.max_gap: the sample is the new anchor. Shorter gaps are bridged with their true
      dt and the mean of the torques at both ends.

    With options.on_gap = 'decay' the residual fades over the time lost, as without contact.
    """

    def __init__(self, model: Arm, residual_filter: ResidualFilter,
                 options: ObserverOptions) -> None:
        if residual_filter.n != model.n:
            raise BadValue('number of gains', residual_filter.n, f'{model.n}, one per joint')
        self.model = model
        self.options = options
        self.filter = residual_filter
        self._held = options.torque == 'held'
        self._max_gap = options.max_gap
        # A pause of more than one period contains torques that nobody has seen.
        self._bridge = 1.5 * options.period
        self._shape = (model.n,)
        self.residual = np.zeros(model.n)  # [Nm] filtered
        self.raw = np.zeros(model.n)  # [Nm] mean over the last valid step, unfiltered
        self.valid = False
        self._anchored = False
        self._torque_known = False  # at the anchor

    def reset(self, q: Array | None = None, dq: Array | None = None) -> None:
        """Residual to zero; anchor at the given state, or at the next sample."""
        self.filter.reset()
        self.residual, self.raw = np.zeros(self._shape), np.zeros(self._shape)
        self.valid = self._anchored = self._torque_known = False
        if q is not None and dq is not None and math.isfinite(q.dot(dq)):
            self._anchor(q, dq, np.zeros(self._shape))
            self._anchored = True

    def step(self, q: Array, dq: Array, tau_link: Array, dt: float) -> Array:
        """The residual [Nm], (n,), to be read only, `dt` [s] after the sample before.

        Positions [rad], float64, and velocities [rad/s] of the joints; torque on the link side of
        the drive, friction taken off [Nm]; (n,) each.
        """
        if tau_link.shape != self._shape:  # Pinocchio checks the other two
            raise BadValue('shape of tau_link', tau_link.shape, f'{self._shape}')
        if not self._anchored or not 0.0 < dt <= self._max_gap:
            return self._restart(q, dq, tau_link, dt)
        newer_share = 1.0 if self._held and dt < self._bridge or not self._torque_known else 0.5
        raw = self._external_torque(q, dq, tau_link, newer_share, dt)
        # NaN and infinity in any input survive the sums above and this one.
        if not math.isfinite(sum(raw.tolist())):
            return self._lose(dt)
        self._accept(q, dq)
        self._torque_known = self.valid = True
        self.raw = raw
        self.residual = residual = self.filter.step(raw, dt)
        return residual

    @abstractmethod
    def _anchor(self, q: Array, dq: Array, tau: Array) -> None:
        """Take this sample as the start of the next step."""

    @abstractmethod
    def _external_torque(self, q: Array, dq: Array, tau: Array, newer_share: float,
                         dt: float) -> Array:
        """Mean external torque over the step that ends at this sample [Nm], (n,).

        `newer_share` is the weight of `tau` in the mean torque; the last sample's has the rest.
        """

    @abstractmethod
    def _accept(self, q: Array, dq: Array) -> None:
        """The sample of the last `_external_torque` is the start of the next step."""

    def _restart(self, q: Array, dq: Array, tau_link: Array, dt: float) -> Array:
        """First sample, sample after a gap, or one that cannot be used."""
        self.valid = False
        if dt == 0.0 and self._anchored:
            return self.residual
        if not math.isfinite(q.dot(dq) + tau_link.dot(tau_link) + dt) or dt < 0.0:
            return self._lose(dt)
        self._pass(dt)
        self._anchor(q, dq, tau_link)
        self._anchored = self._torque_known = True
        return self.residual

    def _lose(self, dt: float) -> Array:
        self.valid = self._anchored = self._torque_known = False
        self._pass(dt)
        return self.residual

    def _pass(self, dt: float) -> None:
        """Time without information."""
        if self.options.on_gap == 'decay' and 0.0 < dt < math.inf:
            self.residual = self.filter.step(np.zeros(self._shape), dt)
