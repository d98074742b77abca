"""Any recording of a robot: rosbag2, text tables or MATLAB files."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from armsense.drive import StrainLink
from armsense.errors import ArmsenseError
from armsense.identify.elastic.actuators import ElasticRecording
from armsense.identify.robot_file import RobotFile, SourceConfig
from armsense.identify.signals.filters import regular
from armsense.identify.signals.recording import Recording, split_at_gaps
from armsense.model.arm import Arm
from armsense.model.arm_config import ArmConfig
from armsense.recordings.bag_files import is_bag
from armsense.recordings.bag_reader import read_bag
from armsense.recordings.csv_reader import read_csv, TEXT
from armsense.types import ArmState


def read_recording(path: str | Path, robot: RobotFile) -> tuple[Recording, tuple[str, ...]]:
    """Joint angles and torques of a recording, and remarks on what was read."""
    path = Path(path)
    if not path.exists():
        raise ArmsenseError(f'cannot read {path}: no such file or folder')
    if is_bag(path):
        signals = read_bag(path, robot.source, robot.joints)
    elif path.suffix in TEXT or robot.source.files:
        signals = read_csv(path, robot.source, len(robot.joints))
    else:
        raise ArmsenseError(f'{path}: no recording; known are rosbag2 (.db3, .mcap) and text '
                            f'tables ({", ".join(TEXT)})')
    recording = robot.recording(signals.t, signals.position, signals.effort, signals.velocity,
                                signals.name)
    return recording, signals.notes


def read_elastic(path: str | Path, config: ArmConfig, topic: str | None = None,
                 window: tuple[float, float] | None = None,
                 ) -> tuple[list[ElasticRecording], tuple[str, ...]]:
    """Motor and joint angles and motor torques of an arm with springs, and remarks.

    Args:
        path: File or folder.
        config: Of the arm.
        topic: Of the states; see `read_bag`.
        window: Stamps between which the motion lies [s]; None: all is used.

    Returns:
        One recording for each part between gaps.
    """
    signals = read_bag(Path(path), SourceConfig(topic=topic), config.joint_names)
    if signals.joint_position is None:
        raise ArmsenseError(f'{signals.name}: no joint encoders; an arm with springs needs them')
    both = Recording(signals.t, np.hstack([signals.position, signals.joint_position]),
                     np.hstack([signals.effort, signals.effort]), None, signals.name)
    if window is not None:
        both = both.between(*(np.array(window) - both.t[0]))
    whole = split_at_gaps(both)
    recordings, notes = [], [*signals.notes, *whole.notes]
    n = len(config.joint_names)
    for part in whole.recordings:
        even, remarks = regular(part)
        notes += remarks
        recordings.append(ElasticRecording(even.t, even.q[:, :n], even.q[:, n:], even.tau[:, :n],
                                           signals.name))
    return recordings, tuple(notes)


def read_strain(path: str | Path, model: Arm,
                topic: str | None = None) -> tuple[Recording, tuple[str, ...]]:
    """Joint torques of an arm with elastic links: gauges where there are some, else motors."""
    config = model.config
    signals = read_bag(Path(path), SourceConfig(topic=topic), config.joint_names)
    if signals.strain is None:
        raise ArmsenseError(f'{signals.name}: no strains; an arm with elastic links needs them')
    link = StrainLink.from_config(config, model)
    tau = np.array(signals.effort)
    for k, (q, strain) in enumerate(zip(signals.position, signals.strain, strict=True)):
        torque = link.link_torque(ArmState.rigid(q, q, strain=strain))
        tau[k] = np.where(link.gain > 0.0, torque, tau[k])
    return (Recording(signals.t, signals.position, tau, signals.velocity, signals.name),
            signals.notes)
