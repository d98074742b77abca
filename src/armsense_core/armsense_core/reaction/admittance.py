"""Velocity away from a contact, from the residual (paper 001, eq. 18; thesis 000, eq. 5.1).

    m dv/dt + f v + k integral(v) = k_o r

Thesis 000 is the special case m = k = 0, k_o / f = K_R: q_d = q_col + integral(K_R r).
"""

from __future__ import annotations

import numpy as np

from armsense_core.trajectory.reference import Array


class Admittance:
    """Every joint yields to its residual like a mass with friction and a spring.

    Integrated implicitly, so it is stable for every m >= 0, f > 0, k >= 0 and every dt.
    """

    def __init__(self, inertia: Array, drag: Array, stiffness: Array, speed: Array,
                 distance: Array) -> None:
        """Set the parameters, (n,) each.

        Args:
            inertia: m [kg m^2]
            drag: f [Nm s/rad]
            stiffness: k [Nm/rad]
            speed: Largest velocity [rad/s].
            distance: Largest way [rad].
        """
        self._m, self._f, self._k = inertia, drag, stiffness
        self._speed, self._distance = speed, distance
        self.reset()

    def reset(self, velocity: Array | None = None) -> None:
        """Begin anew at x = 0, with a velocity [rad/s], (n,)."""
        self.x = np.zeros(len(self._f))   # [rad] way since the contact
        self.v = np.zeros(len(self._f)) if velocity is None else np.array(velocity, float)

    @property
    def exhausted(self) -> bool:
        """A joint has used up its way."""
        return bool((np.abs(self.x) >= self._distance).any())

    def step(self, torque: Array, dt: float) -> tuple[Array, Array]:
        """Way [rad] and velocity [rad/s] under k_o r [Nm], (n,) each."""
        v = (self._m * self.v + dt * (torque - self._k * self.x)) / (
            self._m + dt * self._f + dt * dt * self._k) if dt > 0.0 else self.v
        v = np.minimum(np.maximum(v, -self._speed), self._speed)
        x = self.x + dt * v
        inside = np.minimum(np.maximum(x, -self._distance), self._distance)
        self.v = np.where(inside == x, v, 0.0)
        self.x = inside
        return self.x, self.v
