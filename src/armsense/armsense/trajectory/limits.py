"""Limits of an arm, and what of a trajectory breaks them, before anything moves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from armsense.model import Arm
from armsense.trajectory.reference import sample_grid, Samples, Trajectory
from armsense.types import Array

UNITS = {'position': 'rad', 'velocity': 'rad/s', 'acceleration': 'rad/s^2', 'jerk': 'rad/s^3',
         'torque': 'Nm', 'end velocity': 'rad/s', 'floor': 'm', 'self-distance': 'm'}
SLACK = 1e-6          # relative, so that a goal exactly at a limit is accepted
LEAST = 0.01          # of an acceleration limit, however gentle
REST = 1e-3           # [rad/s] what still counts as rest at the end


class Violation(NamedTuple):
    """One limit that a trajectory breaks, at its worst sample."""

    kind: str       # a key of UNITS
    joint: str      # or the links, for floor and self-distance
    time: float     # [s]
    value: float
    limit: float

    def __str__(self) -> str:
        side = 'is below' if self.kind in ('floor', 'self-distance') else 'is beyond'
        unit = UNITS[self.kind]
        return (f'{self.joint}: {self.kind} {self.value:.4g} {unit} at {self.time:.3f} s '
                f'{side} {self.limit:.4g} {unit}')


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Joint limits; every array (n,)."""

    joints: tuple[str, ...]
    lower: Array           # [rad]
    upper: Array           # [rad]
    velocity: Array        # [rad/s]
    acceleration: Array    # [rad/s^2]
    jerk: Array            # [rad/s^3]
    torque: Array          # [Nm]

    @classmethod
    def of(cls, model: Arm) -> Limits:
        """Limits of an arm from its URDF and yaml; torque: the smaller of both."""
        lower, upper = model.position_limits
        joints = list(model.config.joints.values())
        return cls(joints=model.joint_names, lower=lower, upper=upper,
                   velocity=model.velocity_limits,
                   acceleration=np.array([j.acceleration_limit for j in joints]),
                   jerk=np.array([j.jerk_limit for j in joints]),
                   torque=np.minimum(model.effort_limits, [j.torque_limit for j in joints]))

    def inside(self, q: Array) -> Array:
        """The nearest position within the limits [rad], (n,)."""
        return np.minimum(np.maximum(q, self.lower), self.upper)

    def gentler(self, acceleration: Array) -> Limits:
        """The same with no more than this acceleration [rad/s^2], (n,)."""
        return replace(self, acceleration=np.clip(acceleration, LEAST * self.acceleration,
                                                  self.acceleration))

    def scaled(self, factor: float) -> Limits:
        """The same with velocity, acceleration and jerk times `factor`."""
        return replace(self, velocity=self.velocity * factor,
                       acceleration=self.acceleration * factor, jerk=self.jerk * factor)


def check_motion(trajectory: Trajectory, limits: Limits, model: Arm | None = None,
                 step: float = 0.004) -> list[Violation]:
    """Joint limits (and, with a model, torque limits) that the trajectory breaks."""
    return check_samples(sample_grid(trajectory, step), limits, model)


def check_samples(samples: Samples, limits: Limits,
                  model: Arm | None = None) -> list[Violation]:
    """As `check_motion`, on a grid."""
    found = [*_beyond('position', samples.q, samples.t, limits, limits.lower, limits.upper)]
    for kind, values in (('velocity', samples.dq), ('acceleration', samples.ddq),
                         ('jerk', samples.jerk)):
        bound = getattr(limits, kind)
        found += _beyond(kind, values, samples.t, limits, -bound, bound)
    if model is not None and not found:
        found += _beyond('torque', motion_torque(samples, model), samples.t, limits,
                         -limits.torque, limits.torque)
    end = samples.dq[-1:]
    found += _beyond('end velocity', end, samples.t[-1:], limits, np.full(len(end[0]), -REST),
                     np.full(len(end[0]), REST))
    return found


def motion_torque(samples: Samples, model: Arm) -> Array:
    """Motor torque of a motion, friction included, springs taken as rigid [Nm], (N, n)."""
    torque = model.inverse_dynamics_batch(samples.q, samples.dq, samples.ddq)
    joints = list(model.config.joints.values())
    rotor = np.array([j.reflected_inertia for j in joints]) - model.armature
    viscous = np.array([j.friction.viscous for j in joints])
    coulomb = np.array([j.friction.coulomb for j in joints])
    return np.asarray(torque + rotor * samples.ddq + viscous * samples.dq
                      + coulomb * np.sign(samples.dq))


def _beyond(kind: str, values: Array, times: Array, limits: Limits, low: Array,
            high: Array) -> list[Violation]:
    slack = SLACK * np.maximum(np.abs(low), np.abs(high))
    excess = np.maximum(values - high, low - values) - slack   # (N, n)
    found = []
    for j in np.flatnonzero(excess.max(axis=0) > 0.0):
        k = int(excess[:, j].argmax())
        value = float(values[k, j])
        bound = high[j] if value > high[j] else low[j]
        found.append(Violation(kind, limits.joints[j], float(times[k]), value, float(bound)))
    return found
