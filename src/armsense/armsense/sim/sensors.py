"""Strain gauges on the links. Seeded.

What the motor boards measure (encoders, currents) is emulated with the boards; load cells have a
module of their own.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from armsense.model.arm_config import ArmConfig

NOISE_BLOCK = 4096   # numbers drawn at a time: one alone costs microseconds


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
        self._present = [joint.strain is not None for joint in config.joints.values()]
        self._none = not any(self._present)
        self._rng = np.random.default_rng(seed)
        self._noise: list[float] = []
        self._deviation = noise
        self._full_scale = full_scale
        self._step = 2.0 * full_scale / 2**bits

    def read(self, strain: Sequence[float]) -> list[float]:
        """Readings [1], (n,); 0 where there is no gauge."""
        if self._none:
            return [0.0] * len(strain)
        return [self._reading(float(value)) if present else 0.0
                for value, present in zip(strain, self._present, strict=True)]

    def _reading(self, strain: float) -> float:
        if not self._noise:
            self._noise = self._rng.normal(0.0, self._deviation, NOISE_BLOCK).tolist()
        value = round((strain + self._noise.pop()) / self._step) * self._step
        return float(min(max(value, -self._full_scale), self._full_scale))
