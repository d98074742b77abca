"""Readings of an inertial measurement unit to the motion of the base."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from armsense.model.base_motion import BaseMotion
from armsense.schema import vector
from armsense.velocity import WeightedRegression

WINDOW = 8            # samples, for the angular acceleration
LONGEST_GAP = 0.1     # [s] without readings, then the motion is unknown


def stamp_ns(message: Any) -> int:
    """Of a message with a header [ns]."""
    return int(message.header.stamp.sec) * 10**9 + int(message.header.stamp.nanosec)


class ImuMotion:
    """The newest motion of the base; the angular acceleration is the slope of the gyroscope's."""

    def __init__(self, *, rpy: ArrayLike = (0.0, 0.0, 0.0),
                 position: ArrayLike = (0.0, 0.0, 0.0), rate: float = 1000.0) -> None:
        """For a unit fixed to the base, which reports at about a rate [Hz].

        It stands at a position [m] in the base frame, turned about fixed x, y, z [rad].
        """
        self._position = vector('position of the imu', position, 3)
        self._rotation = Rotation.from_euler('xyz', vector('rpy of the imu', rpy, 3)).as_matrix()
        self._slope = WeightedRegression(3, WINDOW, 1.0 / rate)
        self._motion = BaseMotion.unknown()
        self._stamp = -1.0     # [s] of the last reading, on its own clock
        self._seen = -1.0      # [s] when it was taken, on the clock of the arm's states

    def take(self, specific_force: ArrayLike, angular_velocity: ArrayLike, stamp: float,
             now: float) -> None:
        """A reading [m/s^2], [rad/s], axes of the unit, and its stamp [s].

        `now` is the stamp [s] of the arm's state that it goes with.
        """
        readings = np.concatenate([specific_force, angular_velocity])
        if not np.isfinite(readings).all():
            return
        dt = stamp - self._stamp if self._stamp >= 0.0 else 0.0
        if not 0.0 <= dt <= LONGEST_GAP:
            self._slope.reset()
            dt = 0.0
        self._stamp, self._seen = stamp, now
        alpha = self._slope.step(readings[3:], dt)
        self._motion = BaseMotion.of_imu(readings[:3], readings[3:], alpha,
                                         rotation=self._rotation, position=self._position)

    def take_message(self, message: Any, now: float) -> None:
        """The same from a `sensor_msgs/Imu`."""
        a, w = message.linear_acceleration, message.angular_velocity
        self.take((a.x, a.y, a.z), (w.x, w.y, w.z), 1e-9 * stamp_ns(message), now)

    def at(self, now: float) -> BaseMotion:
        """Motion at the stamp of a state [s]; unknown where the unit has fallen silent."""
        heard = self._seen >= 0.0 and now - self._seen <= LONGEST_GAP
        return self._motion if heard else BaseMotion.unknown()
