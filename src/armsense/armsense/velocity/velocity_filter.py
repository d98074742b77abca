"""The interface of all velocity estimators."""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

import numpy as np

from armsense.types import Array


class VelocityFilter(Protocol):
    """Positions in, velocities out, one call per sample.

    The first sample gives zero. A sample with NaN counts as lost: the velocity keeps its value and
    the next step takes the whole time since the last good sample. Time between samples may vary.
    A dt that is negative or no number (the clock was set, a bag begins anew) says nothing about
    the samples before: they are forgotten, and the velocity keeps its value for that sample.
    """

    velocity: Array  # [rad/s], (n,)
    acceleration: Array | None  # [rad/s^2], (n,); None: not estimated

    def step(self, position: Array, dt: float) -> Array:
        """Velocity [rad/s], (n,), `dt` seconds after the sample before."""

    def reset(self) -> None:
        """Forget all samples."""

    def characteristics(self) -> Characteristics:
        """Delay and noise at the nominal period."""


def clock_jumped(dt: float) -> bool:
    """Whether `dt` [s] cannot be the time between two samples."""
    return not 0.0 <= dt < math.inf


class Characteristics(NamedTuple):
    """What a velocity estimate costs, at a constant period.

    `delay` is the lag behind the true velocity under constant acceleration; `half_response` is the
    time until half of a sudden change of velocity shows; `noise_gain` times the standard deviation
    of independent position noise is that of the velocity. An encoder of step size s, crossed fast
    enough, has a noise of s / sqrt(12).
    """

    delay: float  # [s]
    half_response: float  # [s]
    noise_gain: float  # [1/s]


def fir_characteristics(weights: Array, period: float) -> Characteristics:
    """Of velocity(t) = sum_k weights[k] * position(t - k * period), weights (m,) [1/s]."""
    ages = period * np.arange(len(weights))
    # Of x = t^2 / 2 the filter shows t - delay.
    delay = -0.5 * float(weights @ ages**2)
    # Of x = max(t, 0) it shows at t = k period: sum_j weights[j] (k - j) period, j <= k.
    steps = np.arange(1, len(weights) + 1)
    ramp = np.array([weights[:k] @ (k * period - ages[:k]) for k in steps])
    half_response = float(np.interp(0.5, np.maximum.accumulate(np.append(0.0, ramp)),
                                    period * np.append(0, steps)))
    return Characteristics(delay, half_response, float(np.linalg.norm(weights)))
