"""The words that all rooms share: arrays, the state of an arm, what it shall follow, commands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import math
from typing import Generic

import numpy as np
from numpy.typing import NDArray
from typing_extensions import NamedTuple, TypeVar  # those of Python 3.10 are not generic

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
Floats = Sequence[float]     # in loops over few joints faster than an array

Values = TypeVar('Values', Array, Floats, default=Array)
Progress = Callable[[float, str], None]   # share of the work that is done, 0 to 1; step in words


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


class Press(NamedTuple):
    """Contact on purpose: the tool presses."""

    direction: Array     # unit vector in the base frame, into what is touched, (3,)
    force: float         # [N] asked for
    most: float          # [N] more is a collision


class Reference(NamedTuple):
    """Joint motion at one instant, link side."""

    q: Array                            # [rad] (n,)
    dq: Array                           # [rad/s] (n,)
    ddq: Array                          # [rad/s^2] (n,)
    jerk: Array | None = None           # [rad/s^3] (n,) None: zero; elastic drives use it
    snap: Array | None = None           # [rad/s^4] (n,) None: zero
    press: Press | None = None          # for the law `force`; None: touch nothing

    @classmethod
    def at_rest(cls, q: Array) -> Reference:
        zero = np.zeros(len(q))
        return cls(np.array(q, float), zero, zero)


class Command(NamedTuple, Generic[Values]):
    """What the boards shall do until the next command, motor angles on the joint side, (n,) each.

    kp (position - theta) + ki integral(position - theta) + kd (velocity - dtheta) + torque

    Control laws make it of arrays; behind the controller it is `Command[Floats]`.
    """

    position: Values    # [rad]
    velocity: Values    # [rad/s]
    torque: Values      # [Nm] feed-forward
    kp: Values          # [Nm/rad]
    kd: Values          # [Nm s/rad]
    ki: Values          # [Nm/(rad s)]


class Collision(NamedTuple):
    """What a controller needs to know of a collision."""

    joint: str     # outermost joint beyond its threshold
    link: str      # that was hit
    seq: int = 0   # of the state in which it was felt


def constant(values: Array) -> Array:
    """A read-only copy, to be shared between commands."""
    array = np.array(values, float)
    array.flags.writeable = False
    return array


def as_floats(command: Command) -> Command[Floats]:
    """The same for what stands behind a controller."""
    return Command(*(values.tolist() for values in command))


def torque_command(state: ArmState, torque: Array, zero: Array) -> Command:
    """A pure torque."""
    return Command(state.theta, zero, torque, zero, zero, zero)


def board_torque(command: Command, state: ArmState) -> Array:
    """Torque of the board law at a state, without its integral [Nm], (n,)."""
    return np.asarray(command.torque + command.kp * (command.position - state.theta)
                      + command.kd * (command.velocity - state.dtheta))
