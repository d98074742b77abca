"""Observers of the external torque: momentum, direct, and a filter on encoder counts."""

from armsense.observer.count_filter import CountFilter, FilterOptions
from armsense.observer.observer import Observer, ObserverOptions
from armsense.observer.observers import (
    DirectObserver,
    LIKELIHOOD,
    make_observer,
    MomentumObserver,
    OBSERVERS,
)
from armsense.observer.residual_filter import FirstOrderFilter, HigherOrderFilter, KalmanFilter

__all__ = ['LIKELIHOOD', 'OBSERVERS', 'CountFilter', 'DirectObserver', 'FilterOptions',
           'FirstOrderFilter', 'HigherOrderFilter', 'KalmanFilter', 'MomentumObserver', 'Observer',
           'ObserverOptions', 'make_observer']
