"""What a simulated arm looks like from outside.

A plant takes motor torques and advances time; it knows nothing of boards, messages or controllers,
and shares no mathematics with `armsense` beyond the numbers in the arm's yaml and URDF.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from numpy.typing import ArrayLike

from armsense.types import Array


class PlantState(NamedTuple):
    """True state of an arm, joint side of the gear, (n,) each."""

    time: float              # [s]
    motor_position: Array    # [rad]
    motor_velocity: Array    # [rad/s]
    joint_position: Array    # [rad] link side of the drive
    joint_velocity: Array    # [rad/s]
    strain: Array            # [1] at the gauges; 0 where a link has none


class Readings(NamedTuple):
    """What the sensors of an arm meet, (n,) each; plain floats, which emulated boards take."""

    motor_position: list[float]    # [rad]
    motor_velocity: list[float]    # [rad/s]
    joint_position: list[float]    # [rad]
    strain: list[float]            # [1]


class Contact(NamedTuple):
    """One true contact."""

    link: str       # link that is touched
    force: Array    # [N] on the arm, world frame, (3,)
    point: Array    # [m] world frame, (3,)
    cause: str      # name of the obstacle, or 'push'


class Plant(Protocol):
    """A simulated arm in its surroundings."""

    @property
    def n(self) -> int:
        """Number of joints."""
        ...

    @property
    def state(self) -> PlantState:
        """State now."""
        ...

    @property
    def readings(self) -> Readings:
        """State now, for sensors."""
        ...

    @property
    def contact(self) -> list[Contact]:
        """Contacts during the last step."""
        ...

    @property
    def base_wrench(self) -> Array:
        """Wrench of the arm on its support, base frame [N, Nm], (6,)."""
        ...

    @property
    def energy(self) -> float:
        """Kinetic, gravitational and spring energy of everything simulated [J]."""
        ...

    def reset(self, q: ArrayLike) -> None:
        """Rest at joint positions q [rad], springs and beams in balance with gravity."""
        ...

    def step(self, motor_torque: ArrayLike, dt: float) -> None:
        """Advance by dt [s] under torques [Nm] of the motors, joint side, before friction."""
        ...

    def set_gravity(self, gravity: ArrayLike) -> None:
        """Let the arm feel this gravity [m/s^2], base frame, (3,), from the next step on."""
        ...

    def set_payload(self, mass: float, center: ArrayLike = (0.0, 0.0, 0.0)) -> None:
        """Let the tool carry a point mass [kg] at `center` [m] in the tool frame."""
        ...

    def apply_force(self, link: str, point: ArrayLike, force: ArrayLike,
                    duration: float | None = None) -> None:
        """Push a link at a point of its frame [m] with a force [N] in the world frame."""
        ...
