"""One way in for recordings of anybody: `identify`, `replay` and `calibrate` read the same files.

A recording is a bag (ROS 2: sqlite3, MCAP; ROS 1) with motor states or joint states, or a table
(text, npz, Parquet, MATLAB). `read_signals` gives what it holds in SI units, `read_recording`
joint angles and torques, `read_run` what an observer sees.
"""

from pathlib import Path
import re
from typing import NamedTuple

import numpy as np

from armsense.drive import StrainLink
from armsense.errors import ArmsenseError
from armsense.identify.elastic.recording import ElasticRecording
from armsense.identify.robot_file import RobotFile, SourceConfig
from armsense.identify.signals.recording import Recording, regular, split_at_gaps
from armsense.model.arm import Arm
from armsense.recordings.bag_files import is_bag
from armsense.recordings.bag_reader import read_bag
from armsense.recordings.bag_tape import ALIGNED, BagTape, Mounting, read_tape
from armsense.recordings.plausible import check_units
from armsense.recordings.signals import in_si, Signals
from armsense.recordings.table_files import SUFFIXES
from armsense.recordings.table_reader import read_table
from armsense.types import ArmState, Array
from armsense.watch import Tape


class Origin(NamedTuple):
    """Whose recording it is, and where its signals stand."""

    arm: Arm
    source: SourceConfig = SourceConfig(topic=None)
    robot: RobotFile | None = None    # None: an arm with a yaml file or a URDF of its own

    @property
    def joints(self) -> tuple[str, ...]:
        """In the order of the columns."""
        return self.arm.joint_names if self.robot is None else self.robot.joints


def read_signals(path: Path, origin: Origin) -> Signals:
    """What a bag or a table holds of the joints, in SI units."""
    source = origin.source
    if not path.exists():
        raise ArmsenseError(f'cannot read {path}: no such file or folder')
    if is_bag(path):
        signals, units = read_bag(path, source, origin.joints), source.units
        _check_strangers(signals, origin)
    elif path.suffix in SUFFIXES or source.files:
        signals, units = read_table(path, source, origin.joints)
    else:
        raise ArmsenseError(f'{path}: no recording; known are bags (.db3, .mcap, .bag) and tables '
                            f'({", ".join(SUFFIXES)})')
    return in_si(signals, units)


def _check_strangers(signals: Signals, origin: Origin) -> None:
    """Raise where joints that the arm does not have go on counting those that it has.

    A gripper on the same topic has names of its own; a robot of seven joints begins with the names
    of one of four.
    """
    def series(name: str) -> str:
        return re.sub(r'\d+$', '#', name)

    own = {series(name) for name in origin.source.names or origin.joints if series(name) != name}
    more = [name for name in signals.strangers
            if series(name) in own and f'"{name}"' not in origin.arm.urdf]
    if more and not origin.source.names:
        raise ArmsenseError(f'{signals.name}: the messages carry {", ".join(more)} too, which '
                            f'{origin.arm.name} does not have: a bag of another robot? Where it '
                            'is not, name its joints in source.names of a robot file')


def read_recording(path: Path, origin: Origin) -> tuple[Recording, tuple[str, ...]]:
    """Joint angles and torques, and remarks on what was read."""
    signals = read_signals(path, origin)
    effort = (signals.effort if signals.torques or origin.robot is not None
              else origin.arm.effort_torque(signals.effort))
    columns = signals.t, signals.position, effort, signals.velocity, signals.name
    recording = (Recording(*columns) if origin.robot is None
                 else origin.robot.recording(origin.arm, *columns))
    return recording, (*signals.notes, *check_units(recording, origin.arm))


def read_run(path: Path, origin: Origin, imu: Mounting | None = ALIGNED) -> BagTape:
    """What an observer sees of any recording.

    Motor states of a bag come as they were, with the motion of the base. Of joint states and
    tables motors are taken to be enabled; samples that were read twice are left out.
    """
    if is_bag(path):
        bag = read_tape(path, origin.arm.n, origin.source.topic, imu)
        if bag is not None:
            return bag
    recording, notes = read_recording(path, origin)
    fresh = np.concatenate([[True], np.diff(recording.t) > 0.0])
    t = recording.t[fresh]
    none = np.empty((len(t), 0))
    tape = Tape(np.round(1e9 * t).astype(np.int64), recording.q[fresh], recording.tau[fresh], none,
                none, np.ones(len(t), bool))
    return BagTape(tape, np.arange(len(t), dtype=np.uint64), None, tuple(notes),
                   rate=1.0 / float(np.median(np.diff(t))))


def read_elastic(path: Path, origin: Origin, window: tuple[float, float] | None,
                 ) -> tuple[list[ElasticRecording], list[str]]:
    """Motor and joint angles and motor torques of each part between gaps, and remarks.

    Of an arm with a spring in every joint, between two stamps [s]; None: all is used.
    """
    arm, signals = origin.arm, read_signals(path, origin)
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
                                           even.tau[:, :arm.n], signals.name
                                           ).with_signs(arm.config))
    return recordings, notes


def read_strain(path: Path, origin: Origin) -> tuple[Recording, tuple[str, ...]]:
    """Joint torques of an arm with elastic links: gauges where there are some, else motors."""
    signals = read_signals(path, origin)
    if signals.strain is None:
        raise ArmsenseError(f'{signals.name}: no strains; an arm with elastic links needs them')
    link = StrainLink.from_config(origin.arm.config, origin.arm)
    tau: Array = np.array(signals.effort)
    for k, (q, strain) in enumerate(zip(signals.position, signals.strain, strict=True)):
        torque = link.link_torque(ArmState.rigid(q, q, strain=strain))
        tau[k] = np.where(link.gain > 0.0, torque, tau[k])
    return (Recording(signals.t, signals.position, tau, signals.velocity, signals.name),
            signals.notes)
