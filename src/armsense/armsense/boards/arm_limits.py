"""What the driver must know of an arm beyond its boards: limits, and where motors read zero."""

from __future__ import annotations

import numpy as np

from armsense.boards.command_guard import GuardLimits
from armsense.drive.elastic_joint import ElasticJoint
from armsense.model import Arm
from armsense.trajectory.limits import Limits


def guard_limits(model: Arm) -> GuardLimits:
    """The controllers' limits, and how the safe state brakes."""
    config = model.config
    limits = Limits.of(model)
    return GuardLimits(
        lower=limits.lower.tolist(), upper=limits.upper.tolist(),
        velocity=limits.velocity.tolist(), torque=limits.torque.tolist(),
        damping=[j.safe_damping for j in config.joints.values()],
        names=config.joint_names,
        integrates=bool(config.boards and config.boards.protocol == 'laas_inhouse'))


def motor_zero(model: Arm) -> list[float]:
    """Motor angles of the arm at home, springs in balance with gravity [rad], (n,)."""
    config = model.config
    home = np.array(config.home or [0.0] * model.n)
    if all(j.elastic for j in config.joints.values()):
        springs = ElasticJoint.from_config(config)
        return [float(v) for v in springs.motor_position(home, model.gravity_torque(home))]
    return [float(v) for v in home]
