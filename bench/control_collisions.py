"""The collision tests of the documents in many variations: no single lucky motion counts."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
import dataclasses
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from armsense.model import Arm
from armsense.model.arm_config import ArmConfig
from bench.papers.collision_trial import BIOROB, CollisionTrial, Setup, TrialResult, TUDOR

SPEEDS = (60.0, 80.0, 100.0)           # [deg/s] of TUDOR; 100 is the document's
SHIFTS = ((0.0, 0.0), (-0.15, 0.0), (0.0, 0.05))   # [m] of the obstacle: out, up
DURATIONS = (1.5, 1.8, 2.2)            # [s] of BioRob's motion; 1.8 is the document's
SEEDS = (2, 3, 4)                      # one for each shift
ROTORS = (0.5, 1.0, 2.0, 4.0)          # times the assumed inertia of TUDOR's rotors


class Job(NamedTuple):
    """One collision."""

    setup: Setup
    strategy: str
    seed: int = 1
    rotor: float = 1.0


def collide(job: Job) -> TrialResult:
    """One collision test."""
    model = Arm.load(job.setup.arm)
    if job.rotor != 1.0:
        model = Arm.load(heavier_rotors(model, job.rotor))
    return CollisionTrial(job.setup, job.strategy, model=model, seed=job.seed).run()


def heavier_rotors(model: Arm, factor: float) -> ArmConfig:
    """The arm's configuration with other rotors."""
    config = model.config
    joints = {name: dataclasses.replace(joint, rotor_inertia=factor * joint.rotor_inertia)
              for name, joint in config.joints.items()}
    return dataclasses.replace(config, joints=joints)


def run(jobs: list[Job]) -> list[TrialResult]:
    """All jobs; two processes share the work."""
    with ProcessPoolExecutor(2) as pool:
        return list(pool.map(collide, jobs))


def tudor_jobs() -> list[Job]:
    """Speeds, contact points and seeds; the document's own first."""
    jobs = [Job(moved(replace(TUDOR, speed=speed), shift), 'stop', seed)
            for speed in SPEEDS for shift, seed in zip(SHIFTS, SEEDS, strict=True)]
    return [Job(TUDOR, 'stop'), *jobs]


def biorob_jobs() -> list[Job]:
    """As `tudor_jobs`, with the admittance reaction."""
    jobs = [Job(moved(replace(BIOROB, duration=duration), shift), 'retract', seed)
            for duration in DURATIONS for shift, seed in zip(SHIFTS, SEEDS, strict=True)]
    return [Job(BIOROB, 'retract'), *jobs]


def rotor_jobs() -> list[Job]:
    """The document's collision with lighter and heavier rotors."""
    return [Job(TUDOR, 'stop', rotor=factor) for factor in ROTORS]


def moved(setup: Setup, shift: tuple[float, float]) -> Setup:
    """The obstacle further out and up [m]: another point and another pose of the contact."""
    x, y, z = setup.position
    return replace(setup, position=(x + shift[0], y, z + shift[1]))


def told(result: TrialResult) -> str:
    """What happened, in words."""
    delay = 1e3 * (result.detection - result.contact)
    return (f'contact at {result.contact:.3f} s, detected {delay:.0f} ms later, '
            f'{result.false_alarms} false alarms, peak {result.peak_force:.1f} N, at rest '
            f'{result.rest_force:.2f} N, {result.phase}')


def spread(values: list[float], digits: int = 3) -> str:
    """Median and extremes, and how many are missing."""
    there = [value for value in values if np.isfinite(value)]
    if not there:
        return f'none of {len(values)}'
    text = (f'median {np.median(there):.{digits}g}, {min(there):.{digits}g} to '
            f'{max(there):.{digits}g}')
    missing = len(values) - len(there)
    return text + (f', missing in {missing} of {len(values)}' if missing else '')
