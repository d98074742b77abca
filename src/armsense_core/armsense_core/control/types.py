"""What goes into a control law and what comes out."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from armsense_core.trajectory.reference import Array, Reference, TaskReference

__all__ = ['ArmState', 'Array', 'Command', 'Reference', 'TaskReference', 'all_finite',
           'board_torque', 'constant', 'torque_command']


def all_finite(*arrays: Array) -> bool:
    """All are numbers, and their sum too; for short arrays faster than np.isfinite."""
    return math.isfinite(sum([sum(array.tolist()) for array in arrays]))


class ArmState(NamedTuple):
    """One arm at one instant, joint side of the gears, (n,) each.

    Motor and joint are the same where nothing elastic lies between them.
    """

    q: Array                      # [rad] joints, link side
    dq: Array                     # [rad/s]
    theta: Array                  # [rad] motors
    dtheta: Array                 # [rad/s]
    tau: Array                    # [Nm] motor torque, friction not removed
    strain: Array | None = None   # [1] of the links; entries without a gauge are ignored

    @classmethod
    def rigid(cls, q: Array, dq: Array, tau: Array | None = None,
              strain: Array | None = None) -> ArmState:
        """State of an arm whose motor angles are its joint angles."""
        return cls(q, dq, q, dq, np.zeros(len(q)) if tau is None else tau, strain)

    @property
    def finite(self) -> bool:
        """Positions and velocities are numbers."""
        return all_finite(self.q, self.dq, self.theta, self.dtheta)


class Command(NamedTuple):
    """What the boards shall do until the next command, motor angles on the joint side, (n,) each.

    kp (position - theta) + ki integral(position - theta) + kd (velocity - dtheta) + torque
    """

    position: Array    # [rad]
    velocity: Array    # [rad/s]
    torque: Array      # [Nm] feed-forward
    kp: Array          # [Nm/rad]
    kd: Array          # [Nm s/rad]
    ki: Array          # [Nm/(rad s)]


def constant(values: Array) -> Array:
    """A read-only copy, to be shared between commands."""
    array = np.array(values, float)
    array.flags.writeable = False
    return array


def torque_command(state: ArmState, torque: Array, zero: Array) -> Command:
    """A pure torque."""
    return Command(state.theta, zero, torque, zero, zero, zero)


def board_torque(command: Command, state: ArmState) -> Array:
    """Torque of the board law at a state, without its integral [Nm], (n,)."""
    return np.asarray(command.torque + command.kp * (command.position - state.theta)
                      + command.kd * (command.velocity - state.dtheta))
