"""Velocity from encoder positions, with the delay and noise of each method."""

from armsense.velocity.weighted_regression import (
    regression_weights,
    VelocityFilter,
    WeightedRegression,
)

__all__ = ['VelocityFilter', 'WeightedRegression', 'regression_weights']
