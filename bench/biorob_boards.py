"""BioRob identified through its own boards, as thesis 000 did in section 4.3.2.

The document's model was far from its arm. Here the arm in MuJoCo is the one of the arm file, and
what its controller and observer believe at first has other springs and masses. The excitation is
designed and driven with that wrong model. Currents come from 14 bit without a sign.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
import tempfile
from typing import Any

import numpy as np
from scipy.ndimage import uniform_filter1d

from armsense.excite import design_excitation, DesignOptions
from armsense.jobs.identify_job import run, Setup
from armsense.model import Arm
from armsense.model.arm_config import ArmConfig
from armsense.report.page import write_all
from armsense.sim.closed_loop import ClosedLoop
from armsense.trajectory import Trajectory
from armsense.types import Array
from armsense.watch.collision_monitor import CollisionMonitor, DetectionConfig
from bench.boards_bag import record_motion

STIFFNESS = (1.4, 0.75, 1.3, 0.8)   # believed over true
MASSES = 1.3
PERIODS = 2                         # the document: 16
OTHER = 6.0                         # [s] of the motion that shows the residual
SMOOTH = 0.1                        # [s]
NEVER = 1e6                         # [Nm] a threshold that watches and does not trip


def believed() -> Arm:
    """The arm as somebody thinks it is."""
    config = ArmConfig.load('biorob')
    joints = {}
    for (name, joint), factor in zip(config.joints.items(), STIFFNESS, strict=True):
        assert joint.elastic is not None
        joints[name] = replace(joint, elastic=replace(
            joint.elastic, stiffness=factor * joint.elastic.stiffness))
    arm = Arm.load(replace(config, joints=joints))
    return arm.replace(parameters=MASSES * arm.parameters)


def measure(say: Callable[[str], None], periods: int = PERIODS, seed: int = 1) -> dict[str, Any]:
    """Errors of the springs, and residuals of a motion without contact before and after."""
    truth, wrong = Arm.load('biorob'), believed()
    say('biorob: design with the wrong model')
    options = DesignOptions(seed=seed, starts=1, time_limit=0.0)
    excitation = design_excitation(wrong, options).excitation
    other = design_excitation(truth, replace(options, period=OTHER, seed=seed + 1)).excitation
    with tempfile.TemporaryDirectory() as folder:
        say(f'biorob: {periods} periods of the excitation')
        bag = record_motion(ClosedLoop(wrong, plant_model=truth, seed=seed),
                            excitation.trajectory(periods), Path(folder) / 'bag')
        setup = Setup.of_arm('biorob')._replace(arm=wrong.replace(armature=np.zeros(4)))
        job = run(setup, [bag])
        model = Path(folder) / 'model.yaml'
        write_all(job, model)
        found = Arm.load('biorob', model)
        say('biorob: residuals before and after')
        before, after = (
            free_residual(arm, truth, other.trajectory(1), seed + 1) for arm in (wrong, found))
    assert job.springs is not None
    exact = np.array([j.elastic.stiffness for j in truth.config.joints.values() if j.elastic])
    stiffness = job.springs.actuators.stiffness
    within = [bool(low <= k <= high) for k, (low, high) in zip(exact, (
        job.springs.actuators.interval(f'stiffness{j + 1}') for j in range(4)), strict=True)]
    return {'stiffness_nm_per_rad': stiffness.round(3).tolist(),
            'stiffness_error_percent': (100.0 * np.abs(stiffness / exact - 1.0)).round(3).tolist(),
            'stiffness_within_interval': within,
            'residual_before_nm': before.round(3).tolist(),
            'residual_after_nm': after.round(3).tolist()}


def free_residual(believes: Arm, truth: Arm, motion: Trajectory, seed: int) -> Array:
    """Peak of the observer's residual while nothing touches the arm [Nm], (n,).

    As a mean over `SMOOTH`: the steps of the joint encoders stand in it as spikes.
    """
    config = replace(DetectionConfig.of(truth), threshold=(NEVER,) * 4)
    loop = ClosedLoop(believes, plant_model=truth, seed=seed,
                      monitor=CollisionMonitor(believes, config))
    loop.run(0.5)
    loop.controller.follow(motion)
    rows = []
    loop.run(motion.duration, lambda cycle: rows.append(cycle.result.filtered)
             if cycle.result else None)
    width = round(SMOOTH / loop.dt)
    return np.asarray(np.abs(uniform_filter1d(np.array(rows), width, axis=0)).max(axis=0))
