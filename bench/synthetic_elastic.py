"""Recordings of arms with springs or strain gauges whose parameters are known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from armsense.drive.elastic_joint import ElasticJoint
from armsense.drive.friction import FrictionModel
from armsense.drive.strain_link import StrainLink
from armsense.identify.elastic.actuators import elastic_config
from armsense.identify.elastic.recording import ElasticRecording
from armsense.identify.signals.recording import Recording
from armsense.model.arm import Arm
from armsense.types import Array
from bench.synthetic import fourier_motion, Sensors, SyntheticArm

STRAIN_NOISE = 2.0     # of a gauge, in steps of its converter


@dataclass(frozen=True)
class SyntheticElasticArm:
    """Springs between motors and links."""

    nominal: Arm
    arm: Arm
    springs: ElasticJoint
    friction: FrictionModel     # of the motors
    inertia: Array              # of the rotors, joint side [kg m^2], (n,)
    sensors: Sensors

    @classmethod
    def make(cls, name: str = 'biorob', spread: float = 0.2, seed: int = 0) -> SyntheticElasticArm:
        """An arm of this repository whose links weigh up to `spread` more or less."""
        rigid = SyntheticArm.make(name, spread, seed)
        config = elastic_config(rigid.nominal)
        return cls(rigid.nominal, rigid.arm, ElasticJoint.from_config(config),
                   FrictionModel.from_config(config),
                   np.array([j.reflected_inertia for j in config.joints.values()]), rigid.sensors)

    def record(self, motion: int, noise: int | None = None, seconds: float = 10.0,
               rate: float = 1000.0, periods: int = 2) -> ElasticRecording:
        """Drive along a random Fourier series; see `SyntheticArm.record`."""
        one = np.arange(int(seconds * rate)) / rate
        q, dq, ddq = fourier_motion(self.nominal, one, motion, seconds)
        theta, tau = self.motors(q, dq, ddq, rate)
        rng = np.random.default_rng((motion if noise is None else noise, 2))
        q, theta, tau = (np.tile(x, (periods, 1)) for x in (q, theta, tau))
        counts = np.array([2.0 * np.pi / (j.motor_encoder.counts * j.gear_ratio)
                           for j in self.nominal.config.joints.values()])
        return ElasticRecording(np.arange(len(q)) / rate, np.round(theta / counts) * counts,
                                self.sensors.position(q), self.sensors.torque(tau, rng),
                                f'{self.nominal.name} {motion}')

    def link_torque(self, q: Array, dq: Array, ddq: Array) -> Array:
        """Torque that the links and their bearings need [Nm], (N, n)."""
        return np.asarray(self.arm.inverse_dynamics_batch(q, dq, ddq)
                          + self.springs.link_damping * dq)

    def motors(self, q: Array, dq: Array, ddq: Array, rate: float) -> tuple[Array, Array]:
        """Motor angles [rad] and torques [Nm] of a periodic motion of the links, (N, n) each."""
        path = np.eye(q.shape[1]) + self.springs.coupling
        spring = self.link_torque(q, dq, ddq) @ np.linalg.inv(path)
        omega = 2.0 * np.pi * np.fft.rfftfreq(len(q), 1.0 / rate)[:, None]
        response = self.springs.stiffness + 1j * omega * self.springs.damping

        def derivative(x: Array) -> Array:
            return np.fft.irfft(1j * omega * np.fft.rfft(x, axis=0), len(x), axis=0)

        twist = np.fft.irfft(np.fft.rfft(spring, axis=0) / response, len(q), axis=0)
        theta = q @ path.T + twist
        dtheta = derivative(theta)
        tau = self.inertia * derivative(dtheta) + self.friction.torque(dtheta) + spring
        return np.asarray(theta), np.asarray(tau)


def strain_arm(name: str = 'tudor', spread: float = 0.2, seed: int = 0) -> SyntheticArm:
    """An arm with elastic links as identification sees it: torques of the gauges, no friction.

    The gauges tell the load side, so that friction and rotor of their joints do not appear.
    """
    made = SyntheticArm.make(name, spread, seed)
    joints = list(made.nominal.config.joints.values())
    rigid = np.array([joint.strain is None for joint in joints])
    gain = StrainLink.from_config(made.nominal.config).gain
    step = np.array([gain[k] * joint.strain.adc_scale if joint.strain is not None else
                     made.sensors.torque_step[k] for k, joint in enumerate(joints)])
    noise = np.where(rigid, made.sensors.torque_noise, STRAIN_NOISE * step)
    return SyntheticArm(made.nominal, made.arm, made.friction.only(rigid),
                        Sensors(noise, step, made.sensors.position_step))


def strain_readings(run: Recording, model: Arm) -> Array:
    """Strains that belong to the torques of a recording [1], (N, n)."""
    link = StrainLink.from_config(model.config, model)
    return np.stack([link.strain(tau, q) for tau, q in zip(run.tau, run.q, strict=True)])
