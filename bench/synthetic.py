"""Recordings of an arm whose parameters are known: truth for tests, benchmarks and tables.

The arm that moves differs from its nominal model. Its sensors are those of the arm's yaml: current
noise and resolution on the torques, encoder steps on the positions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from armsense.drive.friction import FrictionModel
from armsense.identify.signals.recording import Recording
from armsense.model.arm import Arm
from armsense.model.arm_config import JointConfig
from armsense.types import Array

HARMONICS = 5
SPEED = 0.5      # of the joints' limits at most
REACH = 0.8      # of half the joints' range at most


@dataclass(frozen=True)
class Sensors:
    """Noise and resolution, (n,) each."""

    torque_noise: Array     # standard deviation [Nm]
    torque_step: Array      # [Nm]
    position_step: Array    # [rad]

    @classmethod
    def of(cls, model: Arm) -> Sensors:
        """As the arm's yaml states them."""
        joints = list(model.config.joints.values())
        return cls(np.array([j.current_sensor.noise * j.torque_per_ampere for j in joints]),
                   np.array([_torque_step(j) for j in joints]),
                   np.array([_position_step(j) for j in joints]))

    def torque(self, tau: Array, rng: np.random.Generator) -> Array:
        """Torques as the sensors tell them, (N, n)."""
        return _steps(tau + self.torque_noise * rng.standard_normal(tau.shape), self.torque_step)

    def position(self, q: Array) -> Array:
        """Positions as the encoders tell them, (N, n)."""
        return _steps(q, self.position_step)


@dataclass(frozen=True)
class SyntheticArm:
    """An arm with rigid drives that moves as told."""

    nominal: Arm         # what is known of it
    arm: Arm             # what moves, with rotor inertias
    friction: FrictionModel
    sensors: Sensors

    @classmethod
    def make(cls, name: str, spread: float = 0.2, seed: int = 0) -> SyntheticArm:
        """An arm of this repository whose links weigh up to `spread` more or less."""
        nominal = Arm.load(name)
        factor = 1.0 + np.random.default_rng(seed).uniform(-spread, spread, nominal.n)
        arm = nominal.replace(parameters=np.repeat(factor, 10) * nominal.parameters)
        known = nominal.replace(armature=np.zeros(nominal.n))
        return cls(known, arm, FrictionModel.from_config(nominal.config), Sensors.of(nominal))

    def record(self, motion: int, noise: int | None = None, seconds: float = 20.0,
               rate: float = 1000.0, periods: int = 1) -> Recording:
        """Drive along a random Fourier series.

        Args:
            motion: Seed of the motion.
            noise: Seed of the sensors' noise; None: that of the motion.
            seconds: Period of the series [s].
            rate: [Hz].
            periods: How often it is driven.
        """
        t = np.arange(int(periods * seconds * rate)) / rate
        q, dq, ddq = fourier_motion(self.nominal, t, motion, seconds)
        rng = np.random.default_rng((motion if noise is None else noise, 1))
        tau = self.sensors.torque(self.torque(q, dq, ddq), rng)
        return Recording(t, self.sensors.position(q), tau, None, f'{self.nominal.name} {motion}')

    def torque(self, q: Array, dq: Array, ddq: Array) -> Array:
        """True torque of the drives [Nm], (N, n)."""
        link = self.arm.inverse_dynamics_batch(q, dq, ddq)
        return np.asarray(link + self.friction.torque(dq, link))


def fourier_motion(model: Arm, t: Array, seed: int, period: float,
                   harmonics: int = HARMONICS) -> tuple[Array, Array, Array]:
    """Random Fourier series within the arm's limits: position, velocity, acceleration, (N, n)."""
    rng = np.random.default_rng(seed)
    low, high = model.position_limits
    omega = 2.0 * np.pi / period * np.arange(1, harmonics + 1)
    a, b = rng.uniform(-1.0, 1.0, (2, harmonics, model.n))
    fine = np.multiply.outer(np.linspace(0.0, period, 1000), omega)
    reach = np.ptp(np.sin(fine) @ a + np.cos(fine) @ b, axis=0)
    speed = np.abs((np.cos(fine) * omega) @ a - (np.sin(fine) * omega) @ b).max(axis=0)
    limit = np.where(model.velocity_limits > 0.0, model.velocity_limits, 2.0)
    size = np.minimum(REACH * np.minimum(high - low, 2.0 * np.pi) / reach, SPEED * limit / speed)
    a, b = a * size, b * size
    center = 0.5 * (low + high)
    phase = np.multiply.outer(t, omega)
    return (center + np.sin(phase) @ a + np.cos(phase) @ b,
            (np.cos(phase) * omega) @ a - (np.sin(phase) * omega) @ b,
            -(np.sin(phase) * omega**2) @ a - (np.cos(phase) * omega**2) @ b)


def _torque_step(joint: JointConfig) -> float:
    """Of a current sensor that spans the current limit to both sides."""
    return 2.0 * joint.torque_limit / 2.0**joint.current_sensor.bits


def _position_step(joint: JointConfig) -> float:
    if joint.joint_encoder is not None:
        return 2.0 * np.pi / joint.joint_encoder.counts
    return 2.0 * np.pi / (joint.motor_encoder.counts * joint.gear_ratio)


def _steps(x: Array, step: Array) -> Array:
    return np.asarray(np.round(x / step) * step)
