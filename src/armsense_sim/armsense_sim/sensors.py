"""Sensors on the link side: joint encoders and strain gauges. Seeded.

What the motor boards measure (motor encoders, currents) is emulated with the boards; load cells
have a module of their own.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from armsense_core.model.arm_config import ArmConfig

Array = NDArray[np.float64]


class JointEncoders:
    """Absolute encoders on the links; joints without one read exactly."""

    def __init__(self, config: ArmConfig) -> None:
        """Encoders of an arm as its yaml lists them."""
        encoders = [joint.joint_encoder for joint in config.joints.values()]
        self._step = np.array([2.0 * math.pi / e.counts if e else 0.0 for e in encoders])
        self._divisor = np.where(self._step > 0.0, self._step, 1.0)

    def read(self, joint_position: Array) -> Array:
        """Readings [rad], (n,): the count that has been passed, as a wheel reports it."""
        counted = np.floor(joint_position / self._divisor) * self._step
        return np.where(self._step > 0.0, counted, joint_position)


class StrainGauges:
    """Strain gauges with amplifier noise and a converter."""

    def __init__(self, config: ArmConfig, seed: int, *, noise: float = 2e-6,
                 full_scale: float = 2e-3, bits: int = 16) -> None:
        """Gauges of an arm.

        Args:
            config: The arm.
            seed: Of the noise.
            noise: Standard deviation of the strain [1]; assumed.
            full_scale: Largest strain the amplifier passes [1]; assumed.
            bits: Of the converter; assumed.
        """
        self._present = np.array([joint.strain is not None for joint in config.joints.values()])
        self._rng = np.random.default_rng(seed)
        self._noise = noise
        self._full_scale = full_scale
        self._step = 2.0 * full_scale / 2**bits

    def read(self, strain: Array) -> Array:
        """Readings [1], (n,); 0 where there is no gauge."""
        noisy = strain + self._noise * self._rng.standard_normal(len(strain))
        counted = np.round(noisy / self._step) * self._step
        return np.where(self._present, np.clip(counted, -self._full_scale, self._full_scale), 0.0)
