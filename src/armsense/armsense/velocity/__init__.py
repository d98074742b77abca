"""Velocity from encoder positions, with the delay and noise of each method."""

from armsense.velocity.backward_difference import BackwardDifference
from armsense.velocity.encoder_counts import EncoderCounts
from armsense.velocity.kalman_velocity import KalmanVelocity
from armsense.velocity.velocity_filter import Characteristics, VelocityFilter
from armsense.velocity.weighted_regression import regression_weights, WeightedRegression

__all__ = [
    'BackwardDifference', 'Characteristics', 'EncoderCounts', 'KalmanVelocity', 'VelocityFilter',
    'WeightedRegression', 'regression_weights',
]
