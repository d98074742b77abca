"""What the sensors of an arm say in one cycle."""

from __future__ import annotations

from typing import NamedTuple

from armsense.types import Array


class DriveReading(NamedTuple):
    """Sensor values of one cycle, joint side of the gear, (n,) each.

    Arms without link-side encoders give the motor's angle and velocity as the joint's; arms
    without strain gauges give None.
    """

    motor_position: Array          # [rad]
    motor_velocity: Array          # [rad/s]
    current: Array                 # [A] signed quadrature current
    joint_position: Array          # [rad]
    joint_velocity: Array          # [rad/s]
    strain: Array | None = None    # [1]
