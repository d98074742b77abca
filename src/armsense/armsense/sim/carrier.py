"""A carrier under the arm, such as a ship or a drone: it sways along all axes and stands tilted.

The plant computes in the base frame. Seen from a frame that is accelerated by a and keeps a
constant orientation R, every mass m feels the force m R' (g - a): the same acceleration for all of
them, wherever they are and however they move. That is what a gravity vector is, so changing it is
the whole effect and no approximation; where the carrier is and how fast does not matter. A carrier
that turns adds centrifugal, Coriolis and Euler forces, which differ from mass to mass: no gravity
vector holds them, and turning is not offered.

Obstacles, hands and pushes are given in the base frame, so they ride along.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from armsense.errors import BadValue
from armsense.schema import vector
from armsense.sim.sensors import NOISE_BLOCK
from armsense.types import Array

SLOWEST, FASTEST = 0.3, 0.8   # [Hz] of the sway; assumed: a boat, a hovering drone
STILL = 2.0                   # [s] before it begins: load cells take their offset at rest


class Carrier:
    """Gravity as the base feels it."""

    def __init__(self, gravity: ArrayLike, *, sway: float = 0.0,
                 tilt: Sequence[float] = (0.0, 0.0), seed: int = 0) -> None:
        """A carrier; without sway and tilt the base stands as the arm's yaml says.

        Gravity and the peak acceleration `sway` along each axis are those of the level base
        [m/s^2], tilt is its constant roll and pitch [rad]; the seed is that of three frequencies.
        """
        angles = vector('tilt (roll and pitch)', tilt, 2)
        if not (np.isfinite(sway) and sway >= 0.0):
            raise BadValue('sway', sway, '>= 0 m/s^2')
        self._gravity = np.asarray(gravity, float)
        self._sway = sway
        self._rates = 2.0 * np.pi * np.random.default_rng([seed, 4]).uniform(SLOWEST, FASTEST, 3)
        self._to_base = Rotation.from_euler('xy', angles).as_matrix().T   # R'
        self.moves = bool(sway or angles.any())

    def acceleration(self, t: float) -> Array:
        """At time t [s], axes of the level base [m/s^2], (3,); 0 until `STILL`."""
        return np.asarray(self._sway * np.sin(self._rates * max(t - STILL, 0.0)))

    def gravity(self, t: float) -> Array:
        """At time t [s] less the acceleration of the base, base frame [m/s^2], (3,)."""
        return np.asarray(self._to_base @ (self._gravity - self.acceleration(t)))


class InertialUnit:
    """A unit at the origin of the base, along its axes. Seeded."""

    # Standard deviation of the white noise, assumed: specific force [m/s^2], turning [rad/s].
    deviation = np.repeat([0.02, 0.002], 3)

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng([seed, 5])
        self._noise: list[Array] = []

    def read(self, gravity: Array) -> tuple[Array, Array]:
        """Specific force [m/s^2] and angular velocity [rad/s], base frame, (3,) each.

        The base feels this gravity [m/s^2], (3,), and does not turn.
        """
        if not self._noise:
            self._noise = list(self._rng.normal(0.0, self.deviation, (NOISE_BLOCK, 6)))
        noise = self._noise.pop()
        return noise[:3] - gravity, noise[3:]
