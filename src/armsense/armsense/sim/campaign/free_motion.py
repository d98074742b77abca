"""Motions without contact, seeded: from rest to rest, sums of harmonics, and rests between."""

from __future__ import annotations

import math

import numpy as np

from armsense.control.config import ControllerConfig
from armsense.errors import ArmsenseError
from armsense.model import Arm
from armsense.sim.campaign.individual import Individual, Recorder
from armsense.trajectory import (
    Chain,
    Clearance,
    Fourier,
    Limits,
    point_to_point,
    ramped,
    sample_grid,
    Trajectory,
)
from armsense.types import Array
from armsense.watch import Tape

HARMONICS = 3
ATTEMPTS = 60
REST = 0.15         # share of rests among the parts of a recording
LINES = 0.5         # share of straight ways among the motions drawn
MARGIN = 0.01       # [m] between sampled poses and what they must not touch
SETTLE = 0.3        # [s] at rest before anything counts
SPEED = 0.1, 0.6    # share of the limits that a motion uses


def record_free(individual: Individual, seconds: float, seed: int,
                as_identified: bool = False) -> Tape:
    """The readings of `seconds` of motion; the first `SETTLE` are a rest.

    The tape is shorter where the driver stops the arm, such as for a reference that an elastic arm
    cannot follow. `as_identified`: without the payload and the friction of a later run.
    """
    rng = np.random.default_rng([seed, 2])
    poses = Poses(individual.model)
    recorder = Recorder(individual.loop(run=None if as_identified else seed))
    recorder.run(SETTLE)
    while recorder.time < seconds and recorder.loop.driver.fault is None:
        # An arm that could not follow lets go first, and takes no other motion before.
        if rng.uniform() < REST or recorder.loop.controller.lets_go:
            recorder.run(float(rng.uniform(0.2, 1.0)))
        else:
            _drive(recorder, poses, rng, seconds)
    return recorder.tape()


def _drive(recorder: Recorder, poses: Poses, rng: np.random.Generator, until: float) -> None:
    """One motion, the first of those drawn that the controller accepts."""
    while recorder.loop.controller.lets_go and recorder.time < until:
        recorder.step()   # no goal is accepted meanwhile: on springs it may swing for seconds
    model, limits, here = poses.model, poses.limits, recorder.here
    for _ in range(ATTEMPTS):
        speed = float(rng.uniform(*SPEED))
        try:
            motion: Trajectory
            if rng.uniform() < LINES:
                motion = point_to_point(here, poses.near(here, rng), limits, model, speed)
            else:
                waves = random_waves(here, limits, speed, rng)
                motion = Chain([point_to_point(here, waves.sample(0.0).q, limits, model, speed),
                                waves])
                if not poses.free(sample_grid(waves, 0.1 * waves.duration).q):
                    continue
            return recorder.follow(motion, until)
        except ArmsenseError:   # breaks a limit: draw again
            continue
    raise ArmsenseError(f'{model.name}: no motion was accepted in {ATTEMPTS} attempts')


class Poses:
    """Poses of an arm at which it touches neither the floor nor itself."""

    def __init__(self, model: Arm) -> None:
        config = ControllerConfig.of(model)
        self.model, self.limits = model, Limits.of(model)
        self._floor, self._distance = config.floor, config.self_distance
        self._clearance = Clearance(model, floor=config.floor, self_distance=config.self_distance)
        low = np.maximum(self.limits.lower, -math.pi)
        high = np.minimum(self.limits.upper, math.pi)
        self._low, self._high = 0.95 * low + 0.05 * high, 0.05 * low + 0.95 * high

    def near(self, here: Array, rng: np.random.Generator) -> Array:
        """A free pose [rad], (n,), to which the straight way is free at its quarters too."""
        for _ in range(1000):
            share = rng.uniform(0.1, 1.0)   # short ways are more often free
            pose = here + share * (rng.uniform(self._low, self._high) - here)
            if self.free(here + np.outer((1.0, 0.75, 0.5, 0.25), pose - here)):
                return np.asarray(pose)
        raise ArmsenseError(f'{self.model.name}: no free pose was found near {here.tolist()}')

    def free(self, poses: Array) -> bool:
        """Whether all of the poses (N, n) are."""
        floor = -math.inf if self._floor is None else self._floor
        return all(self._clearance.lowest_point(q)[0] > floor + MARGIN
                   and self._clearance.smallest_distance(q)[0] > self._distance + MARGIN
                   for q in poses)


def random_waves(here: Array, limits: Limits, speed: float,
                 rng: np.random.Generator) -> Trajectory:
    """Harmonics about a pose, as fast as the share `speed` of the limits allows."""
    low, high = np.maximum(limits.lower, -math.pi), np.minimum(limits.upper, math.pi)
    center = np.clip(here, 0.8 * low + 0.2 * high, 0.2 * low + 0.8 * high)
    room = np.minimum(high - center, center - low) * rng.uniform(0.1, 0.5)
    waves = rng.normal(size=(2, HARMONICS, len(here))) / np.arange(1, HARMONICS + 1)[:, None]
    waves *= room / np.abs(waves).sum(axis=(0, 1))
    slow = sample_grid(Fourier(center, waves[0], waves[1], 1.0, 1.0), 0.01)
    rates = (np.abs(slow.dq).max(axis=0) / limits.velocity,
             np.sqrt(np.abs(slow.ddq).max(axis=0) / limits.acceleration),
             np.cbrt(np.abs(slow.jerk).max(axis=0) / limits.jerk))
    frequency = speed / float(max(rate.max() for rate in rates))
    periods = float(rng.uniform(1.0, 2.0))
    motion = Fourier(center, waves[0], waves[1], frequency, periods / frequency)
    return ramped(motion, ramp=0.25 / frequency)
