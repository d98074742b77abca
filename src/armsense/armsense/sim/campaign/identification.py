"""The model of one arm of the series, identified from its own motion, as a user would do it."""

from __future__ import annotations

from armsense.drive import make_drive
from armsense.identify.identify import identify, Options
from armsense.identify.model import model_file
from armsense.identify.signals.recording import Recording
from armsense.model import Arm
from armsense.model.model_file import ModelFile, Provenance
from armsense.sim.campaign.free_motion import record_free, SETTLE
from armsense.sim.campaign.individual import Individual
from armsense.watch import link_torques, Tape
from armsense.watch.collision_monitor import DetectionConfig
from armsense.watch.state_estimator import StateEstimator

SECONDS = 60.0      # [s] of motion that a model is identified from
BAND = 5.0          # [Hz] of torques behind springs, whose encoders are coarse


def identify_arm(individual: Individual, seed: int, seconds: float | None = None) -> ModelFile:
    """Move the arm, whose model is the nominal one, and identify it.

    Drives and friction are identified where the torque comes from the motor's current; behind a
    spring or a strain gauge it is that of the links alone.
    """
    model = individual.model
    tape = record_free(individual, seconds or SECONDS, seed, as_identified=True)
    rigid = _rigid(model)
    # Without drives there is nothing but the links that may explain a torque.
    options = (Options(gravity=model.gravity) if rigid else
               Options(gravity=model.gravity, cutoff=BAND, terms=()))
    found = identify([_recording(model, tape, rigid)], model, options)
    errors = {'train_percent': found.train.percent}
    if rigid:
        gears = {name: joint.gear_ratio for name, joint in model.config.joints.items()}
        return model_file(found, (), errors, gears)
    return ModelFile.create(found.model, found.parameters, Provenance.now(
        'physically consistent least squares', (), {'train': found.train.percent}))


def _rigid(model: Arm) -> bool:
    return all(joint.drive == 'rigid' for joint in model.config.joints.values())


def _recording(model: Arm, tape: Tape, rigid: bool) -> Recording:
    """Positions and torques of the moving arm."""
    estimator = StateEstimator(model.config, DetectionConfig.of(model).velocity)
    states = estimator.batch(tape.position, tape.torque, tape.joint_position, tape.strain)
    time = tape.stamp * 1e-9
    keep = time > time[0] + SETTLE
    torque = tape.torque if rigid else link_torques(make_drive(model.config, model=model), states)
    return Recording(time[keep], states.q[keep], torque[keep], name=model.name)

