"""A target for the tool that may change in every cycle, as a space mouse or a camera gives it."""

from typing import NamedTuple

import numpy as np

from armsense.task.kinematics import damped_solve, TaskKinematics
from armsense.task.pose import Pose
from armsense.trajectory import Guard, Limits
from armsense.trajectory.stopping import approach_speed
from armsense.types import Array, Reference

RATE = 20.0       # [1/s] of the last bit of the way to a pose
SHARE = 0.9       # of the acceleration, in the approach: cycles are not infinitely short
THRESHOLD = 0.05  # [m/rad] singular value below which damping sets in
DAMPING = 0.05    # [m/rad]
NO_TWIST = np.zeros(6)


class TaskTarget(NamedTuple):
    """Where the tool shall be, how it shall move, or both; in the base frame."""

    pose: Pose | None = None
    twist: Array = NO_TWIST      # [m/s, rad/s] linear, angular, (6,)


class Servo:
    """References that lead the tool after a target within velocity and acceleration limits.

    The joints keep the direction of the tool where they cannot keep its speed. Near singularities,
    at joint limits, the floor and the arm itself the tool comes to rest instead.
    """

    def __init__(self, kinematics: TaskKinematics, limits: Limits, guard: Guard) -> None:
        self._kinematics, self._limits, self._guard = kinematics, limits, guard

    def begin(self, motion: Reference) -> None:
        """From a motion on."""
        self._q, self._dq = motion.q, motion.dq

    def step(self, target: TaskTarget, dt: float) -> Reference:
        """The motion after dt [s] towards the target."""
        q, before = self._q, self._dq
        dq = self._toward(self._wanted(target), dt)
        way = 0.5 * dq * np.abs(dq) / self._limits.acceleration
        if not self._guard.allows(q, q + dq * dt, way):
            dq = self._toward(np.zeros(len(q)), dt)
        wanted = q + 0.5 * (before + dq) * dt
        self._q = self._limits.inside(wanted)
        self._dq = np.where(self._q == wanted, dq, 0.0)
        ddq = (self._dq - before) / dt if dt > 0.0 else np.zeros(len(q))
        return Reference(self._q, self._dq, ddq)

    def _wanted(self, target: TaskTarget) -> Array:
        """Joint velocity that the limits of velocity and position allow [rad/s], (n,)."""
        kinematics, limits, q = self._kinematics, self._limits, self._q
        J, axes = kinematics.jacobian(q)
        dq = damped_solve(J, kinematics.rates(target.twist, axes), THRESHOLD, DAMPING)
        top = SHARE * limits.acceleration
        if target.pose is not None:
            error, J = kinematics.error(q, target.pose)
            left = damped_solve(J, error, THRESHOLD, DAMPING)     # [rad] to the pose
            size = np.maximum(np.abs(left), 1e-12)
            dq = dq + left * float((approach_speed(size, top, RATE) / size).min())
        room = (approach_speed(np.maximum(q - limits.lower, 0.0), top, RATE),
                approach_speed(np.maximum(limits.upper - q, 0.0), top, RATE))
        fastest = np.minimum(np.where(dq < 0.0, *room), limits.velocity)
        return np.asarray(dq * min(1.0, float((fastest / np.maximum(np.abs(dq), 1e-12)).min())))

    def _toward(self, wanted: Array, dt: float) -> Array:
        """As far from the present velocity to another as the acceleration allows [rad/s]."""
        change = np.abs(wanted - self._dq)
        share = float((self._limits.acceleration * dt / np.maximum(change, 1e-12)).min())
        return np.asarray(self._dq + (wanted - self._dq) * min(1.0, share))
