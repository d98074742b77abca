"""Motion of a base that does not stand still, as an inertial measurement unit reports it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from armsense.errors import BadValue
from armsense.schema import vector
from armsense.types import Array


class BaseMotion(NamedTuple):
    """At the origin of the base frame, in its axes, (3,) each.

    The specific force is acceleration minus gravity, so that it holds the orientation too: a level
    base at rest has (0, 0, 9.81).
    """

    specific_force: Array        # [m/s^2]
    angular_velocity: Array      # [rad/s]
    angular_acceleration: Array  # [rad/s^2]

    @classmethod
    def at_rest(cls, gravity: ArrayLike) -> BaseMotion:
        """A base that stands still; gravity [m/s^2] in the base frame."""
        return cls(-vector('gravity', gravity, 3), np.zeros(3), np.zeros(3))

    @classmethod
    def unknown(cls) -> BaseMotion:
        """Of a base that moves while nobody reports how: nothing can be said about the arm."""
        return cls(*np.full((3, 3), np.nan))

    @property
    def known(self) -> bool:
        """Whether all components are numbers."""
        return bool(np.isfinite(self).all())

    @classmethod
    def of_imu(cls, specific_force: ArrayLike, angular_velocity: ArrayLike,
               angular_acceleration: ArrayLike = (0.0, 0.0, 0.0), *,
               rotation: ArrayLike | None = None,
               position: ArrayLike = (0.0, 0.0, 0.0)) -> BaseMotion:
        """From readings of a unit fixed to the base [m/s^2], [rad/s], [rad/s^2], in its own axes.

        Its axes, (3, 3), None: the same, and its position [m] are those in the base frame.
        """
        R = np.eye(3) if rotation is None else np.asarray(rotation, float)
        if R.shape != (3, 3) or not np.allclose(R @ R.T, np.eye(3), atol=1e-6):
            raise BadValue('rotation', R.tolist(), 'a rotation matrix, (3, 3)')
        omega = R @ vector('angular_velocity', angular_velocity, 3)
        alpha = R @ vector('angular_acceleration', angular_acceleration, 3)
        lever = vector('position', position, 3)
        turning = np.cross(alpha, lever) + np.cross(omega, np.cross(omega, lever))
        return cls(R @ vector('specific_force', specific_force, 3) - turning, omega, alpha)
