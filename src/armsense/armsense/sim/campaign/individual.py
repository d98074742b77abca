"""One arm of a series: its plant differs from its files, and from run to run a little from itself.

An arm is identified once, as it is; later its tool carries something unknown and its friction is
not what it was. A recorder runs it and keeps what its boards said and what truly touched it.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from armsense.boards.joint_map import Reading
from armsense.boards.mode import Mode
from armsense.model import Arm
from armsense.model.arm_config import ArmConfig, JointConfig
from armsense.schema import quantity
from armsense.sim.closed_loop import ClosedLoop, Cycle
from armsense.sim.surroundings import Contact
from armsense.trajectory import Trajectory
from armsense.types import Array
from armsense.watch import Tape


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
        """Draw an arm from a seed; `model` is what controller and observer believe.

        Simulated is the arm of its `files`, None: by its name; never the identified one.
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


class TrueContact(NamedTuple):
    """Contact that acts in the plant after a reading."""

    number: int      # of the reading before it
    contact: Contact
    q: Array         # [rad] true link positions, (n,)


class Recorder:
    """Tape and truth of one run."""

    def __init__(self, loop: ClosedLoop) -> None:
        self.loop = loop
        self._stamps: list[int] = []
        self._readings: list[Reading] = []
        self._enabled: list[bool] = []
        self.contacts: list[TrueContact] = []
        self._period = round(loop.dt * 1e9)   # [ns]

    @property
    def time(self) -> float:
        """Length of the tape [s]."""
        return len(self._readings) * self.loop.dt

    @property
    def count(self) -> int:
        """Number of readings."""
        return len(self._readings)

    @property
    def here(self) -> Array:
        """Where the arm is led to [rad], (n,)."""
        reference = self.loop.controller.reference
        return np.array(self.loop.config.home if reference is None else reference.q)

    def follow(self, trajectory: Trajectory, until: float) -> None:
        """Drive a trajectory that is not refused, until the tape is so long [s] at most."""
        status = self.loop.controller.follow(trajectory)
        while status.active and self.time < until:
            self.step()

    def run(self, seconds: float) -> None:
        for _ in range(round(seconds / self.loop.dt)):
            self.step()

    def step(self) -> Cycle:
        number = len(self._readings)
        cycle = self.loop.step()
        if cycle.reading is not None:
            self._stamps.append((number + 1) * self._period)
            self._readings.append(cycle.reading)
            self._enabled.append(self.loop.driver.mode == Mode.ENABLED)
        for contact in self.loop.plant.contact:
            self.contacts.append(TrueContact(number, contact,
                                             self.loop.plant.state.joint_position.copy()))
        return cycle

    def tape(self) -> Tape:
        """What the boards said so far."""
        return Tape.of(self._stamps, self._readings, self._enabled)
