"""Recordings in, a model and everything known about it out: what command and action share.

The load of an arm, too, from a recording with it and the recordings without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
import time
from typing import Any, NamedTuple

import numpy as np

from armsense.errors import ArmsenseError
from armsense.identify.elastic.actuators import ElasticRecording
from armsense.identify.elastic.arm import ElasticArm, identify_elastic, spring_torque
from armsense.identify.identify import identify
from armsense.identify.model import IdentifiedModel, model_file
from armsense.identify.payload import identify_payload, Payload
from armsense.identify.robot_file import RobotFile, SourceConfig
from armsense.identify.signals.recording import Recording
from armsense.jobs.result import spring_values, summary
from armsense.model.arm import Arm
from armsense.model.arm_config import ArmConfig
from armsense.model.model_file import ModelFile
from armsense.recordings.bag_files import BagFacts
from armsense.recordings.reader import read_elastic, read_recording, read_strain
from armsense.types import Progress


class Subject(NamedTuple):
    """What is identified."""

    robot: RobotFile
    gears: dict[str, float] | None = None   # of rigid drives; None: inertias are joint-side
    config: ArmConfig | None = None         # of an arm with a yaml file of its own

    @classmethod
    def of_arm(cls, arm: str) -> Subject:
        """An arm of this repository, or of its own yaml file."""
        config = ArmConfig.load(arm)
        robot = RobotFile(robot=config.arm, urdf=config.urdf, joints=tuple(config.joints),
                          source=SourceConfig(topic=None), gravity=config.gravity,
                          folder=str(config.folder or ''))
        return cls(robot, {name: joint.gear_ratio for name, joint in config.joints.items()
                           if joint.drive == 'rigid'}, config)

    @property
    def elastic(self) -> bool:
        """Whether every joint has a spring."""
        return self.config is not None and all(
            joint.elastic is not None for joint in self.config.joints.values())

    @property
    def gauges(self) -> bool:
        """Whether strain gauges tell the torques."""
        return self.config is not None and any(
            joint.strain is not None for joint in self.config.joints.values())


@dataclass(frozen=True)
class Identification:
    """A finished identification."""

    subject: Subject
    model: IdentifiedModel
    training: tuple[Recording, ...]
    unseen: tuple[Recording, ...]        # not used for the fit; empty: none were given
    files: tuple[Path, ...]              # of the training
    validation_files: tuple[Path, ...]
    result: dict[str, Any]               # what programs read
    springs: ElasticArm | None = None    # of an arm with elastic joints; `model` is its load side

    def model_file(self) -> ModelFile:
        """For the nodes."""
        file = model_file(self.model, self.files, self.result, self.subject.gears)
        if self.springs is None:
            return file
        return replace(self.springs.model_file(), provenance=file.provenance)


def run(subject: Subject, data: Sequence[Path], validate: Sequence[Path] = (),
        tell: Progress = lambda share, step: None) -> Identification:
    """Identify and validate.

    Args:
        subject: What must be known beforehand.
        data: Recordings to train with.
        validate: Other recordings.
        tell: Called at every step.
    """
    start = time.perf_counter()
    notes: list[str] = []
    work = _elastic if subject.elastic else _rigid
    model, training, unseen, springs = work(subject, data, validate, tell, notes)
    result = summary(model, unseen, notes, time.perf_counter() - start)
    if springs is not None:
        result['springs'] = spring_values(springs.actuators, model.model.joint_names)
    return Identification(subject, model, tuple(training), tuple(unseen), tuple(data),
                          tuple(validate), result, springs)


Found = tuple[IdentifiedModel, list[Recording], list[Recording], ElasticArm | None]


def _rigid(subject: Subject, data: Sequence[Path], validate: Sequence[Path], say: Progress,
           notes: list[str]) -> Found:
    """Torques on the links are recorded."""
    robot = subject.robot

    def read(path: Path) -> Recording:
        say(0.1, f'reading {path.name}')
        recording, remarks = recorded_motion(path, subject)
        notes.extend(remarks)
        return recording

    recordings = [read(path) for path in data]
    unseen = [part for path in validate for part in robot.validation(read(path), False)]
    if not validate and robot.windows.validate:
        unseen = [part for recording in recordings for part in robot.validation(recording, True)]
    training = [part for recording in recordings for part in robot.training(recording)]
    model = identify(training, robot.model(data[0]), robot.options(),
                     lambda share, step: say(0.3 + 0.5 * share, step))
    return model, training, unseen, None


def _elastic(subject: Subject, data: Sequence[Path], validate: Sequence[Path], say: Progress,
             notes: list[str]) -> Found:
    """Springs first; what their twist tells moves the links."""
    config = subject.config
    assert config is not None

    def read(paths: Sequence[Path]) -> list[ElasticRecording]:
        recordings = []
        for path in paths:
            say(0.1, f'reading {path.name}')
            parts, remarks = read_elastic(path, config, subject.robot.source.topic,
                                          _facts(path, subject).window())
            recordings += parts
            notes.extend(remarks)
        return recordings

    recordings, others = read(data), read(validate)
    say(0.3, 'identifying')
    model = Arm.load(config)
    found = identify_elastic(recordings, model, subject.robot.options())
    drives = found.actuators.springs()
    training, unseen = ([r.link_side(spring_torque(r, drives)) for r in group]
                        for group in (recordings, others))
    return found.links, training, unseen, found


def recorded_motion(path: Path, subject: Subject) -> tuple[Recording, tuple[str, ...]]:
    """A recording, and remarks; a bag that tells about its motion is cut to that."""
    window = _facts(path, subject).window()
    if subject.gauges and subject.config is not None:
        recording, remarks = read_strain(path, Arm.load(subject.config),
                                         subject.robot.source.topic)
    else:
        recording, remarks = read_recording(path, subject.robot)
    if window is not None:
        recording = recording.between(*(np.array(window) - recording.t[0]))
    return recording, remarks


def _facts(path: Path, subject: Subject) -> BagFacts:
    """What a bag tells about itself; one of another arm is an error."""
    facts = BagFacts.read(path) or BagFacts()
    if facts.arm and facts.arm != subject.robot.robot:
        raise ArmsenseError(f'{path.name} was recorded with arm {facts.arm!r}; it cannot identify '
                            f'{subject.robot.robot!r}')
    return facts


def find_payload(job: Identification, loaded: Path) -> dict[str, Any]:
    """Mass and centre, from all of the motion and, where the arm rests, from the poses alone."""
    recording, _ = recorded_motion(loaded, job.subject)
    found = {'dynamic': _plain(identify_payload(job.model, recording, job.training[0]))}
    try:
        found['static'] = _plain(identify_payload(job.model, recording, job.training[0],
                                                  static=True))
    except ArmsenseError as error:
        found['static'] = {'error': str(error)}
    return found


def payload_words(found: dict[str, Any]) -> str:
    """For the terminal."""
    return '\n'.join(_sentence(kind, found[kind]) for kind in ('dynamic', 'static'))


def _plain(payload: Payload) -> dict[str, Any]:
    return {'mass_kg': round(payload.mass, 4),
            'interval_kg': [round(x, 4) for x in payload.interval],
            'center_m': [round(float(x), 4) for x in payload.center]}


def _sentence(kind: str, data: dict[str, Any]) -> str:
    what = 'payload from the motion' if kind == 'dynamic' else 'payload from poses at rest'
    if 'error' in data:
        return f'{what}: not found, {data["error"]}'
    low, high = data['interval_kg']
    x, y, z = data['center_m']
    return (f'{what}: {data["mass_kg"]:.3f} kg (95 % in {low:.3f} to {high:.3f} kg), centre '
            f'({x:.3f}, {y:.3f}, {z:.3f}) m in the frame of the last link')
