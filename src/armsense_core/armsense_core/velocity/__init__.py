"""Velocity from encoder positions, with the delay and noise of each method."""

from armsense_core.velocity.backward_difference import BackwardDifference
from armsense_core.velocity.encoder_counts import EncoderCounts
from armsense_core.velocity.kalman_velocity import KalmanVelocity
from armsense_core.velocity.velocity_filter import Characteristics, VelocityFilter
from armsense_core.velocity.weighted_regression import regression_weights, WeightedRegression

__all__ = [
    'BackwardDifference', 'Characteristics', 'EncoderCounts', 'KalmanVelocity', 'VelocityFilter',
    'WeightedRegression', 'regression_weights',
]
