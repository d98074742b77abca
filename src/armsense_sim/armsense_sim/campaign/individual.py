"""One arm of a series: its plant differs from the model that controller and observer believe."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from armsense_core.model import ArmModel
from armsense_core.model.arm_config import ArmConfig, JointConfig
from armsense_core.schema import quantity
from armsense_sim.closed_loop import ClosedLoop

Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Variation:
    """How far the arms of a series lie from their model; drawn anew for every arm."""

    mismatch: float = quantity(0.03, low=0, high=0.5,
                               text='standard deviation of masses and friction, relative')
    payload: float = quantity(0.02, unit='kg', low=0,
                              text='most that the tool carries without the model knowing')
    friction: float = quantity(0.05, low=0, high=0.5,
                               text='standard deviation of all friction together, relative')
    noise: float = quantity(1.0, low=0, text='factor on the noise of the current sensors')


class Individual:
    """An arm of the series."""

    def __init__(self, model: ArmModel, variation: Variation, seed: int) -> None:
        """Draw an arm.

        Args:
            model: What controller and observer believe.
            variation: Of the series.
            seed: Of this arm.
        """
        rng = np.random.default_rng([seed, 1])
        self.model, self.seed = model, seed
        self.mismatch = variation.mismatch
        self.payload = float(variation.payload * rng.uniform())   # [kg]
        factor = float(np.clip(1.0 + variation.friction * rng.standard_normal(), 0.3, 2.0))
        truth = ArmConfig.load(model.name)   # never the identified one
        self._plant_model = ArmModel.load(replace(truth, joints={
            name: _changed(joint, factor, variation.noise)
            for name, joint in truth.joints.items()}))

    def loop(self, home: Array | None = None, run: int | None = None) -> ClosedLoop:
        """The arm, standing at `home` [rad]; `run` is the seed of the sensors' noise."""
        loop = ClosedLoop(self.model, plant_model=self._plant_model, seed=self.seed,
                          mismatch=self.mismatch, noise_seed=run, home=home)
        if self.payload > 0.0:
            loop.plant.set_payload(self.payload)
        return loop


def _changed(joint: JointConfig, friction: float, noise: float) -> JointConfig:
    f, sensor = joint.friction, joint.current_sensor
    return replace(
        joint, current_sensor=replace(sensor, noise=noise * sensor.noise),
        friction=replace(f, viscous=friction * f.viscous, coulomb=friction * f.coulomb,
                         stribeck=friction * f.stribeck))
