"""How an observer reads its samples: torque convention, quadrature, gaps."""

from __future__ import annotations

from dataclasses import dataclass

from armsense.errors import UnknownName
from armsense.schema import quantity

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
        for kind, value, known in (('torque', self.torque, TORQUES),
                                   ('quadrature', self.quadrature, QUADRATURES),
                                   ('on_gap', self.on_gap, GAPS)):
            if value not in known:
                raise UnknownName(kind, value, known, 'observer')


DEFAULT_OPTIONS = ObserverOptions()
