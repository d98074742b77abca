"""Velocity and observer together: 90 degree moves on coarse encoders.

As in thesis 000, figs. 5.3 and 5.4: one joint after another, 4096 counts at the joint.
"""

import numpy as np

from armsense.model import Arm
from armsense.observer import make_observer, ObserverOptions
from armsense.velocity import WeightedRegression
from bench.velocity_filters import BackwardDifference

PERIOD, SECONDS, STEP = 1e-3, 2.0, 2 * np.pi / 4096


def move(model, joint):
    """A smooth quarter turn of one joint: positions and the torques that it takes."""
    s = np.arange(0.0, 1.0, PERIOD / SECONDS)
    home = np.array(model.config.home)
    q, dq, ddq = np.tile(home, (len(s), 1)), np.zeros((len(s), 4)), np.zeros((len(s), 4))
    q[:, joint] += np.pi / 2 * (10 * s**3 - 15 * s**4 + 6 * s**5)
    dq[:, joint] = np.pi / 2 * (30 * s**2 - 60 * s**3 + 30 * s**4) / SECONDS
    ddq[:, joint] = np.pi / 2 * (60 * s - 180 * s**2 + 120 * s**3) / SECONDS**2
    return q, model.inverse_dynamics_batch(q, dq, ddq)


def largest_residual(model, make_filter):
    worst = 0.0
    for joint in range(4):
        q, tau = move(model, joint)
        counted = np.round(q / STEP) * STEP
        velocity = make_filter()
        observer = make_observer('first_order', model, 25.0, ObserverOptions(torque='sampled'))
        for x, torque in zip(counted, tau, strict=True):
            residual = observer.step(x, velocity.step(x, PERIOD), torque, PERIOD)
            worst = max(worst, float(np.abs(residual).max()))
    return worst


def test_regression_makes_the_residual_usable_where_the_difference_does_not():
    model = Arm.load('laas4')
    difference = largest_residual(model, lambda: BackwardDifference(4, PERIOD))
    regression = largest_residual(model, lambda: WeightedRegression(4, 60, PERIOD))
    assert difference > 6.0  # [Nm]
    assert regression < 0.2  # [Nm]; this arm has several times BioRob's inertia
