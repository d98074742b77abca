"""Velocity away from a contact, from the residual (paper 001, eq. 18; thesis 000, eq. 5.1).

    m dv/dt + f v + k integral(v) = k_o r

Thesis 000 is the special case m = k = 0, k_o / f = K_R: q_d = q_col + integral(K_R r).

How light an arm can pretend to be: its observer knows the velocity only T late, so a torque tau
that accelerates a joint looks like a push against it, r = -(1 - exp(-s T)) tau. The law answers
the admittance with tau = M K_D v. Around this loop the gain stays below k_o K_D T M / m: an arm
that yields as if it had a small part of its inertia M trembles, one with m = M does not as long
as k_o K_D T < 1.
"""

from __future__ import annotations

import numpy as np

from armsense_core.trajectory.reference import Array

LIGHTEST = 0.05       # [kg m^2] noise moves what is lighter
LEAST_DRAG = 5.0      # [Nm s/rad] likewise
SLOWING = 20.0        # [1/s] drag over inertia


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
        self.x = np.zeros(len(self._f))   # [rad] way since the contact
        self.v = np.zeros(len(self._f))   # [rad/s]

    def step(self, torque: Array, dt: float) -> tuple[Array, Array]:
        """Way [rad] and velocity [rad/s] under k_o r [Nm], (n,) each."""
        v = (self._m * self.v + dt * (torque - self._k * self.x)) / (
            self._m + dt * self._f + dt * dt * self._k) if dt > 0.0 else self.v
        # Slower towards the end of the way: a stop at once would feel like a contact.
        v = np.maximum(v, -np.minimum(self._speed, SLOWING * (self._distance + self.x)))
        v = np.minimum(v, np.minimum(self._speed, SLOWING * (self._distance - self.x)))
        x = self.x + dt * v
        inside = np.minimum(np.maximum(x, -self._distance), self._distance)
        self.v = np.where(inside == x, v, 0.0)
        self.x = inside
        return self.x, self.v

    def stay(self, x: Array) -> None:
        """Rest at a way x [rad], (n,)."""
        self.x, self.v = np.array(x), np.zeros(len(x))


def inertia_like(own: Array) -> Array:
    """Inertia [kg m^2] for joints of their own inertia [kg m^2], (n,) each."""
    return np.maximum(own, LIGHTEST)


def drag_like(own: Array) -> Array:
    """Drag [Nm s/rad] for joints of their own inertia [kg m^2], (n,) each."""
    return np.maximum(SLOWING * own, LEAST_DRAG)
