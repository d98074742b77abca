"""Observers of the external torque: momentum (first and higher order, Kalman) and direct."""

from armsense.observer.direct_observer import DirectObserver
from armsense.observer.kalman_filter import KalmanFilter, momentum_noise
from armsense.observer.make_observer import DEFAULT_GAIN, make_observer, OBSERVERS
from armsense.observer.momentum_observer import MomentumObserver
from armsense.observer.observer import Observer
from armsense.observer.options import ObserverOptions
from armsense.observer.residual_filter import FirstOrderFilter, HigherOrderFilter, ResidualFilter

__all__ = [
    'DEFAULT_GAIN', 'OBSERVERS', 'DirectObserver', 'FirstOrderFilter', 'HigherOrderFilter',
    'KalmanFilter', 'MomentumObserver', 'Observer', 'ObserverOptions', 'ResidualFilter',
    'make_observer', 'momentum_noise',
]
