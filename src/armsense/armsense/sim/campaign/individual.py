"""One arm of a series: its plant differs from its files, and from run to run a little from itself.

An arm is identified once, as it is; later its tool carries something unknown and its friction is
not what it was.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from armsense.model import Arm
from armsense.model.arm_config import ArmConfig, JointConfig
from armsense.schema import quantity
from armsense.sim.closed_loop import ClosedLoop
from armsense.types import Array


@dataclass(frozen=True, kw_only=True)
class Variation:
    """How far the arms of a series lie from their files, and runs from the identified arm."""

    mismatch: float = quantity(0.05, low=0, high=0.5,
                               text='standard deviation of masses and friction, relative, of arms')
    payload: float = quantity(0.02, unit='kg', low=0,
                              text='most that the tool carries in a run without the model knowing')
    friction: float = quantity(0.05, low=0, high=0.5,
                               text='standard deviation of all friction together, of runs')
    noise: float = quantity(1.0, low=0, text='factor on the noise of the current sensors')


class Individual:
    """An arm of the series."""

    def __init__(self, model: Arm, variation: Variation, seed: int,
                 files: ArmConfig | None = None) -> None:
        """Draw an arm.

        Args:
            model: What controller and observer believe.
            variation: Of the series.
            seed: Of this arm.
            files: The arm that is simulated, never the identified one; None: by its name.
        """
        self.model, self.seed, self.variation = model, seed, variation
        self._files = files or ArmConfig.load(model.name)

    def loop(self, home: Array | None = None, run: int | None = None) -> ClosedLoop:
        """The arm, standing at `home` [rad], in the run of a seed; None: as it is identified."""
        payload, friction = 0.0, 1.0
        if run is not None:
            rng = np.random.default_rng([run, 1])
            payload = float(self.variation.payload * rng.uniform())   # [kg]
            friction = float(np.clip(1.0 + self.variation.friction * rng.standard_normal(),
                                     0.3, 2.0))
        truth = Arm.load(replace(self._files, joints={
            name: _changed(joint, friction, self.variation.noise)
            for name, joint in self._files.joints.items()}))
        loop = ClosedLoop(self.model, plant_model=truth, seed=self.seed,
                          mismatch=self.variation.mismatch, noise_seed=run, home=home)
        if payload > 0.0:
            loop.plant.set_payload(payload)
        return loop


def _changed(joint: JointConfig, friction: float, noise: float) -> JointConfig:
    f, sensor = joint.friction, joint.current_sensor
    return replace(
        joint, current_sensor=replace(sensor, noise=noise * sensor.noise),
        friction=replace(f, viscous=friction * f.viscous, coulomb=friction * f.coulomb,
                         stribeck=friction * f.stribeck))
