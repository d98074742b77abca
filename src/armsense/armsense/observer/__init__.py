"""Observers of the external torque: momentum (first and higher order, Kalman) and direct."""

from armsense.observer.observer import Observer, ObserverOptions
from armsense.observer.observers import DirectObserver, make_observer, MomentumObserver, OBSERVERS
from armsense.observer.residual_filter import FirstOrderFilter, HigherOrderFilter, KalmanFilter

__all__ = ['OBSERVERS', 'DirectObserver', 'FirstOrderFilter', 'HigherOrderFilter', 'KalmanFilter',
           'MomentumObserver', 'Observer', 'ObserverOptions', 'make_observer']
