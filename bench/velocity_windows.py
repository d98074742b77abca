"""Windows of the velocities that the controller and the observer of laas4 use: why they differ."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from armsense.model import Arm
from armsense.sim.closed_loop import ClosedLoop
from armsense.trajectory import Limits, point_to_point
from armsense.watch.collision_monitor import CollisionMonitor, DetectionConfig
from armsense.watch.state_estimator import StateEstimator, VelocityOptions

PAIRS = ((8, 8), (12, 8), (12, 12))   # samples: controller, observer
SEEDS = 1, 2, 3
PUSH = 400                            # cycle of the motion in which the hand is pushed
COLUMNS = ('controller', 'observer', 'roughness of torques [Nm]', 'delay [ms]')


def compare() -> list[tuple[int, int, float, float]]:
    """Roughness of the torques in free motion and delay of a push, means over the seeds."""
    rows = []
    for control, observe in PAIRS:
        free = [_run(control, observe, seed, push=False)[0] for seed in SEEDS]
        delays = [_run(control, observe, seed, push=True)[1] for seed in SEEDS]
        rows.append((control, observe, float(np.mean(free)), float(np.mean(delays))))
    return rows


def _run(control: int, observe: int, seed: int, push: bool) -> tuple[float, float]:
    """Worst joint's RMS of the second difference of the torque [Nm], delay of a push [ms]."""
    model = Arm.load('laas4')
    config: Any = replace(DetectionConfig.of(model), velocity=VelocityOptions(window=observe))
    arm = ClosedLoop(model, monitor=CollisionMonitor(model, config), seed=seed, mismatch=0.03)
    arm._estimator = StateEstimator(arm.config, VelocityOptions(window=control))
    arm.run(0.3)
    here = arm.controller.reference.q
    arm.controller.follow(point_to_point(here, here + 0.3, Limits.of(model), model, 0.5))
    torques, delay = [], float('nan')
    for k in range(1500):
        if push and k == PUSH:
            arm.plant.apply_force(model.link_names[-1], [0.0] * 3, [8.0, 6.0, -9.0], 0.2)
        cycle = arm.step()
        torques.append(cycle.command.torque)
        if k >= PUSH and np.isnan(delay) and cycle.result.detection is not None:
            delay = 1e3 * arm.dt * (k - PUSH)
    return float(np.sqrt((np.diff(torques, 2, axis=0)**2).mean(axis=0)).max()), delay
