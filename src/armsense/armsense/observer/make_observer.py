"""Observers by name, for parameters and benchmarks."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from armsense.errors import BadValue, UnknownName
from armsense.model import ArmModel
from armsense.observer.direct_observer import DirectObserver
from armsense.observer.kalman_filter import KalmanFilter
from armsense.observer.momentum_observer import MomentumObserver
from armsense.observer.observer import Observer
from armsense.observer.options import DEFAULT_OPTIONS, ObserverOptions
from armsense.observer.residual_filter import (
    FirstOrderFilter,
    HigherOrderFilter,
    ResidualFilter,
)

OBSERVERS = ('first_order', 'second_order', 'third_order', 'kalman', 'direct')
DEFAULT_GAIN = 100.0  # [1/s]


def make_observer(
    name: str,
    model: ArmModel,
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
    residual_filter: ResidualFilter
    if name in ('first_order', 'direct'):
        residual_filter = FirstOrderFilter(gains)
    elif name in ('second_order', 'third_order'):
        residual_filter = HigherOrderFilter.of_family(2 if name == 'second_order' else 3, gains)
    elif name == 'kalman':
        residual_filter = KalmanFilter.of_bandwidth(gains, options.period)
    else:
        raise UnknownName('observer', name, OBSERVERS)
    kind = DirectObserver if name == 'direct' else MomentumObserver
    return kind(model, residual_filter, options)
