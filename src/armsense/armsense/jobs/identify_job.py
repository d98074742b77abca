"""Recordings in, a model and everything known about it out: what command and action share.

The result is plain data, for programs, with a verdict.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
import time
from typing import Any, NamedTuple

import numpy as np

from armsense.errors import ArmsenseError
from armsense.identify.elastic.arm import ElasticArm, identify_elastic, spring_torque
from armsense.identify.elastic.recording import ElasticRecording
from armsense.identify.estimation.training import Options
from armsense.identify.gauges import has_gauges, identify_gauged, referred
from armsense.identify.identify import identify
from armsense.identify.model import IdentifiedModel, model_file
from armsense.identify.payload import identify_payload
from armsense.identify.robot_file import RobotFile, SourceConfig
from armsense.identify.signals.filters import change_percent
from armsense.identify.signals.recording import Recording, without_rest
from armsense.jobs.verdict import JointErrors, verdict
from armsense.model.arm import Arm
from armsense.model.model_file import ModelFile
from armsense.recordings.bag_files import BagFacts
from armsense.recordings.reader import Origin, read_elastic, read_recording, read_strain
from armsense.types import Progress

LOADED = 2.0                      # times the usual error: a load is looked for
CLEARLY = 0.5                     # of the squared error must be explained by it


class Setup(NamedTuple):
    """What is identified, from which signals and how."""

    arm: Arm                   # nominal; inertias of rotors are identified beside its links
    source: SourceConfig       # where the signals stand in a recording
    options: Options
    robot: RobotFile | None = None   # None: an arm with a yaml file of its own

    @classmethod
    def of_arm(cls, name: str) -> Setup:
        """An arm of this repository, or of its own yaml file."""
        arm = Arm.load(name)
        return cls.rigid(arm, Options(gravity=arm.gravity))

    @classmethod
    def rigid(cls, arm: Arm, options: Options) -> Setup:
        """An arm whose rotors are identified beside its links."""
        return cls(arm.replace(armature=np.zeros(arm.n)), SourceConfig(topic=None), options)

    @classmethod
    def of_robot(cls, robot: RobotFile, data: Path) -> Setup:
        """Of a robot file; its URDF may stand beside the data."""
        arm = robot.model(data)
        return cls(arm, robot.source, robot.options(arm), robot)

    @property
    def origin(self) -> Origin:
        """Of its recordings."""
        return Origin(self.arm, self.source, self.robot)

    @property
    def elastic(self) -> bool:
        """Whether every joint has a spring."""
        return all(joint.elastic is not None for joint in self.arm.config.joints.values())

    @property
    def gears(self) -> dict[str, float]:
        """Of rigid drives."""
        return {name: joint.gear_ratio for name, joint in self.arm.config.joints.items()
                if joint.drive == 'rigid'}

    def training(self, recording: Recording) -> list[Recording]:
        """Parts of a recording to train with."""
        return [recording] if self.robot is None else self.robot.training(recording)


@dataclass(frozen=True)
class Identification:
    """A finished identification."""

    setup: Setup
    model: IdentifiedModel
    training: tuple[Recording, ...]
    unseen: tuple[Recording, ...]        # not used for the fit; empty: none were given
    files: tuple[Path, ...]              # of the training
    validation_files: tuple[Path, ...]
    result: dict[str, Any]               # what programs read
    springs: ElasticArm | None = None    # of an arm with elastic joints; `model` is its load side

    def model_file(self) -> ModelFile:
        """For the nodes."""
        file = model_file(self.model, self.files, self.result, self.setup.gears)
        if self.springs is None:
            return file
        return replace(self.springs.model_file(), provenance=file.provenance)


def run(setup: Setup, data: Sequence[Path], validate: Sequence[Path] = (),
        tell: Progress = lambda share, step: None) -> Identification:
    """Identify from recordings and validate with others; `tell` is called at every step."""
    start = time.perf_counter()
    notes: list[str] = []
    work = _elastic if setup.elastic else _rigid
    model, training, unseen, springs = work(setup, data, validate, tell, notes)
    if springs is None and validate:
        notes += [note for recording in unseen
                  for note in _load_words(model, recording, training[0])]
    result = summary(model, unseen, notes, time.perf_counter() - start)
    if springs is not None:
        result['springs'] = spring_values(springs)
    return Identification(setup, model, tuple(training), tuple(unseen), tuple(data),
                          tuple(validate), result, springs)


Found = tuple[IdentifiedModel, list[Recording], list[Recording], ElasticArm | None]


def _rigid(setup: Setup, data: Sequence[Path], validate: Sequence[Path], say: Progress,
           notes: list[str]) -> Found:
    """Torques on the links are recorded."""
    robot = setup.robot

    def read(path: Path) -> Recording:
        say(0.1, f'reading {path.name}')
        recording, remarks = recorded_motion(path, setup)
        notes.extend(remarks)
        return recording

    recordings, unseen = [read(path) for path in data], [read(path) for path in validate]
    if robot is not None and (validate or robot.windows.validate):
        unseen = [part for recording in unseen or recordings
                  for part in robot.validation(recording, not validate)]
    training = [part for recording in recordings for part in setup.training(recording)]
    # Windows of a robot file say themselves what counts.
    if robot is None or not robot.windows.train:
        training = [_moving(part, notes) for part in training]
    if robot is None or not (robot.windows.validate or robot.windows.files):
        unseen = [_moving(part, notes) for part in unseen]
    gauged = has_gauges(setup.arm)
    model = (identify_gauged if gauged else identify)(
        training, setup.arm, setup.options, lambda share, step: say(0.3 + 0.5 * share, step))
    if gauged:
        training, unseen = ([referred(r, setup.arm, model.model) for r in group]
                            for group in (training, unseen))
    return model, training, unseen, None


def _load_words(model: IdentifiedModel, unseen: Recording, training: Recording) -> list[str]:
    """Whether a recording that the model misses was made with a load."""
    error, usual = (model.validate(recording).percent for recording in (unseen, training))
    if error < LOADED * usual:
        return []
    load = identify_payload(model, unseen, training)
    if not load.told or load.explained < CLEARLY:
        return []
    low, high = load.interval
    return [f'{unseen.name}: with a payload of {load.mass:.2g} kg (95 % in {low:.2g} to '
            f'{high:.2g} kg) the model would miss far less; was something else in the hand?']


def _moving(recording: Recording, notes: list[str]) -> Recording:
    """Without rest at both ends; what was cut is added to the notes."""
    recording, remarks = without_rest(recording)
    notes += remarks
    return recording


def _elastic(setup: Setup, data: Sequence[Path], validate: Sequence[Path], say: Progress,
             notes: list[str]) -> Found:
    """Springs first; what their twist tells moves the links."""
    def read(paths: Sequence[Path]) -> list[ElasticRecording]:
        recordings = []
        for path in paths:
            say(0.1, f'reading {path.name}')
            parts, remarks = read_elastic(path, setup.origin, _window(path, setup))
            recordings += parts
            notes.extend(remarks)
        return recordings

    recordings, others = read(data), read(validate)
    say(0.3, 'identifying')
    found = identify_elastic(recordings, setup.arm, setup.options)
    springs = found.actuators.springs()
    training, unseen = ([r.link_side(spring_torque(r, springs)) for r in group]
                        for group in (recordings, others))
    return found.links, training, unseen, found


def recorded_motion(path: Path, setup: Setup) -> tuple[Recording, tuple[str, ...]]:
    """A recording, and remarks; a bag that tells about its motion is cut to that."""
    window = _window(path, setup)
    if has_gauges(setup.arm):
        recording, remarks = read_strain(path, setup.origin)
    else:
        recording, remarks = read_recording(path, setup.origin)
    if window is not None:
        recording = recording.between(*(np.array(window) - recording.t[0]))
    return recording, remarks


def _window(path: Path, setup: Setup) -> tuple[float, float] | None:
    """Stamps between which a bag says its motion lies [s]; one of another arm is an error."""
    facts = BagFacts.read(path) or BagFacts()
    if facts.arm and facts.arm != setup.arm.name:
        raise ArmsenseError(f'{path.name} was recorded with arm {facts.arm!r}; it cannot identify '
                            f'{setup.arm.name!r}')
    return facts.window()


def summary(model: IdentifiedModel, unseen: Sequence[Recording], notes: Sequence[str],
            seconds: float) -> dict[str, Any]:
    """What programs read."""
    joints = model.model.joint_names
    result: dict[str, Any] = {
        'train_percent': _round(model.train.percent),
        'validation_percent': None,
        'cross_validated_percent': _round(model.cross_validated_percent),
        'unconstrained_train_percent': _round(model.unconstrained_percent),
        'gravity': [_round(g) for g in model.gravity],
        'masses_kg': dict(zip(model.model.link_names, map(_round, model.masses), strict=True)),
        'mass_factors': [_round(f) for f in model.mass_factors],
        'feasible': model.feasible,
        'estimator': model.estimator,
        'seconds': _round(seconds),
        'cutoff_hz': _round(model.cutoff),
        'motion_cutoff_hz': _round(model.motion_cutoff),
        'velocity': model.velocity,
        'delays_ms': {'velocity': _round(1e3 * model.velocity_delay),
                      'torque': _round(1e3 * (model.torque_delay + model.clock_shift))},
        'drive': {term: [_round(c) for c in values]
                  for term, values in model.drive_coefficients().items()},
        'smoothing': model.drive.smoothing,
        'kept_nominal': list(model.kept),
        'lost_seconds': _round(model.lost),
        'silent_joints': list(model.silent),
        'notes': [*notes, *model.notes],
        'step_seconds': model.seconds}
    train = JointErrors(joints, model.train.joint_percent, model.train.rms, model.silent,
                        model.train.change_percent,
                        () if model.sensor_noise is None else model.sensor_noise)
    errors = train
    if unseen:
        result |= pooled(model, unseen)
        errors = train._replace(percent=result['validation_joint_percent'],
                                rms=result['validation_joint_rms'],
                                change=result['validation_joint_change_percent'])
    said = verdict(result, errors, model.wiring)
    return result | {'grade': said['grade'], 'verdict': said['sentence']}


def pooled(model: IdentifiedModel, recordings: Sequence[Recording]) -> dict[str, Any]:
    """Errors over several recordings together."""
    predictions = [model.predict(recording) for recording in recordings]
    bands = [p.band(model.cutoff) for p in predictions]
    error, power = _squares(bands)
    measured, predicted = (np.concatenate(part) for part in zip(*bands, strict=True))
    count = sum(len(p.band_times(model.cutoff)) for p in predictions)
    error_raw, power_raw = _squares([(p.measured, p.predicted) for p in predictions])
    return {'validation_percent': _round(100.0 * np.sqrt(error.sum() / power.sum())),
            'validation_joint_percent': [_round(x) for x in 100.0 * np.sqrt(error / power)],
            'validation_joint_change_percent': [
                _round(x) for x in change_percent(measured, measured - predicted)],
            'validation_joint_rms': [_round(x) for x in np.sqrt(error / count)],
            'validation_raw_percent': _round(100.0 * np.sqrt(error_raw.sum() / power_raw.sum())),
            'validation_lost_seconds': _round(sum(p.lost for p in predictions))}


def _squares(pairs: list[tuple[Any, Any]]) -> tuple[Any, Any]:
    """Sums of squares of error and torque by joint, (n,) each."""
    return (sum(np.sum(np.square(m - p), axis=0) for m, p in pairs),
            sum(np.sum(np.square(m), axis=0) for m, _ in pairs))


def spring_values(found: ElasticArm) -> list[dict[str, Any]]:
    """Stiffness and damping of every joint with 95 % intervals."""
    rows = []
    for k, joint in enumerate(found.links.model.joint_names):
        row: dict[str, Any] = {'joint': joint}
        for term in ('stiffness', 'damping'):
            row[term] = _round(getattr(found.actuators, term)[k])
            interval = found.actuators.interval(f'{term}{k + 1}')
            row[f'{term}_interval'] = [_round(x) for x in interval]
        rows.append(row)
    return rows


def _round(value: float) -> float:
    return float(f'{float(value):.6g}')
