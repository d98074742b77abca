"""Bags of arms whose springs or strain gauges tell the torques on the links."""

from pathlib import Path

import numpy as np

from armsense.drive import StrainLink
from armsense.errors import ArmsenseError
from armsense.identify.elastic.arm import ElasticRecording
from armsense.identify.robot_file import SourceConfig
from armsense.identify.signals.recording import Recording, regular, split_at_gaps
from armsense.model.arm import Arm
from armsense.recordings.bag_reader import read_bag
from armsense.types import ArmState


def read_elastic(path: Path, arm: Arm, source: SourceConfig, window: tuple[float, float] | None,
                 ) -> tuple[list[ElasticRecording], list[str]]:
    """Motor and joint angles and motor torques of each part between gaps, and remarks.

    Of an arm with a spring in every joint, between two stamps [s]; None: all is used.
    """
    signals = read_bag(path, source, arm.joint_names)
    if signals.joint_position is None:
        raise ArmsenseError(f'{signals.name}: no joint encoders; an arm with springs needs them')
    both = Recording(signals.t, np.hstack([signals.position, signals.joint_position]),
                     np.hstack([signals.effort, signals.effort]), None, signals.name)
    if window is not None:
        both = both.between(*(np.array(window) - both.t[0]))
    whole = split_at_gaps(both)
    recordings, notes = [], [*signals.notes, *whole.notes]
    for part in whole.recordings:
        even, remarks = regular(part)
        notes += remarks
        recordings.append(ElasticRecording(even.t, even.q[:, :arm.n], even.q[:, arm.n:],
                                           even.tau[:, :arm.n], signals.name))
    return recordings, notes


def read_strain(path: Path, arm: Arm,
                source: SourceConfig) -> tuple[Recording, tuple[str, ...]]:
    """Joint torques of an arm with elastic links: gauges where there are some, else motors."""
    signals = read_bag(path, source, arm.joint_names)
    if signals.strain is None:
        raise ArmsenseError(f'{signals.name}: no strains; an arm with elastic links needs them')
    link = StrainLink.from_config(arm.config, arm)
    tau = np.array(signals.effort)
    for k, (q, strain) in enumerate(zip(signals.position, signals.strain, strict=True)):
        torque = link.link_torque(ArmState.rigid(q, q, strain=strain))
        tau[k] = np.where(link.gain > 0.0, torque, tau[k])
    return (Recording(signals.t, signals.position, tau, signals.velocity, signals.name),
            signals.notes)
