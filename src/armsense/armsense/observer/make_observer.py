"""Observers by name, for parameters and benchmarks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from armsense.errors import BadValue, UnknownName
from armsense.model import Arm
from armsense.observer.direct_observer import DirectObserver
from armsense.observer.kalman_filter import KalmanFilter
from armsense.observer.momentum_observer import MomentumObserver
from armsense.observer.observer import Observer
from armsense.observer.options import DEFAULT_OPTIONS, ObserverOptions
from armsense.observer.residual_filter import FirstOrderFilter, HigherOrderFilter, ResidualFilter
from armsense.types import Array

DEFAULT_GAIN = 100.0  # [1/s]
Make = Callable[[Array, float], ResidualFilter]   # of gains [1/s] (n,) and the nominal period [s]

# What is observed, and the filter behind it.
OBSERVERS: dict[str, tuple[type[Observer], Make]] = {
    'first_order': (MomentumObserver, lambda gains, _: FirstOrderFilter(gains)),
    'second_order': (MomentumObserver, lambda gains, _: HigherOrderFilter.of_family(2, gains)),
    'third_order': (MomentumObserver, lambda gains, _: HigherOrderFilter.of_family(3, gains)),
    'kalman': (MomentumObserver, KalmanFilter.of_bandwidth),
    'direct': (DirectObserver, lambda gains, _: FirstOrderFilter(gains)),
}


def make_observer(
    name: str,
    model: Arm,
    gain: ArrayLike = DEFAULT_GAIN,
    options: ObserverOptions = DEFAULT_OPTIONS,
) -> Observer:
    """An observer of one bandwidth.

    Args:
        name: One of OBSERVERS.
        model: The arm.
        gain: Bandwidth [1/s], scalar or per joint (n,).
        options: Sampling.
    """
    gains = np.asarray(gain, float)
    if gains.ndim == 0:
        gains = np.full(model.n, float(gains))
    elif gains.shape != (model.n,):
        raise BadValue('shape of gain', gains.shape, f'({model.n},) or a number')
    if name not in OBSERVERS:
        raise UnknownName('observer', name, OBSERVERS)
    kind, make = OBSERVERS[name]
    return kind(model, make(gains, options.period), options)
