"""`robot.yaml`: what identification must know of a robot that is not in the repository.

In full:

    robot: my_arm
    urdf: my_arm.urdf                 # beside this file, absolute, beside the data, or
                                      # example-robot-data:panda_description/urdf/panda.urdf
    joints: [joint1, joint2]          # moving joints, in the order of the columns and of `drive`
    source:                           # where the signals stand; a bag needs nothing but its topic
      topic: /joint_states            # auto: the only one of motor states, else of joint states
      names: [fr3_joint1, fr3_joint2] # in the messages, where they differ from the URDF
      columns: {time: 0, position: q1-q2, velocity: dq, effort: [i1, i2]}   # of tables: numbers,
                                      # headings, ranges, what a series of headings begins with
      files: {position: q.csv, effort: tau.csv}      # a folder with one file per quantity
      units: {time: ms, position: deg, velocity: deg/s, effort: mA}   # where they are not SI
      rate: 5000.0                    # [Hz] where no time is recorded
    drive:
      gains: [11.1, 10.6]             # joint torque per unit of effort, such as Nm/A
      motor_matrix: [[32, 0], [0, 45]]    # motor angles per joint angle
      offsets: [0.0, -1.5708]         # added to the joint angles
      couplings: [[1, 1]]             # motors that turn with several joints
    windows:                          # whole recordings where nothing is given
      unit: seconds                   # or rows, or share (0 to 1)
      train: [[0.0, 12.6]]
      validate: [[12.6, 21.0]]
      files: {'*40sec*': [[5.0, 44.6]]}   # windows of validation files, by name
    gravity: auto                     # or [0, 0, -9.81] in the base frame
    mass_factors: [0.25, 4.0]         # bounds of each link's mass over the URDF's
    total_mass: [20.0, 40.0]          # [kg] of the moving links
    cutoff: 5.0                       # [Hz] of the torque band, from the motion where not given
    preprocess: auto                  # or filter, spectral, fourier, spline, average
    estimator: consistent             # or ols, wls, huber, ridge, iv, ml, recursive
    terms: [viscous, coulomb]         # of the drives, by cross-validation where not given
"""

from __future__ import annotations

from dataclasses import dataclass, field
import fnmatch
from pathlib import Path
import re
from typing import Any

import numpy as np

from armsense import schema
from armsense.errors import BadValue
from armsense.identify.estimation.feasible import MASS_FACTORS
from armsense.identify.estimation.training import ESTIMATORS, Options, PREPROCESSING
from armsense.identify.signals.recording import Recording
from armsense.model.arm import Arm
from armsense.model.description_places import find_description
from armsense.model.pinocchio_arm import joint_order
from armsense.model.robot_description import load_description
from armsense.schema import check_known, quantity
from armsense.types import Array

# By quantity: factor to SI. A current stays one; `drive.gains` tell the torque of an ampere.
UNITS: dict[str, dict[str, float]] = {
    'time': {'s': 1.0, 'ms': 1e-3, 'us': 1e-6, 'ns': 1e-9},
    'position': {'rad': 1.0, 'deg': np.pi / 180.0, 'm': 1.0, 'mm': 1e-3},
    'velocity': {'rad/s': 1.0, 'deg/s': np.pi / 180.0, 'm/s': 1.0, 'mm/s': 1e-3,
                 'rpm': np.pi / 30.0},
    'effort': {'Nm': 1.0, 'mNm': 1e-3, 'N': 1.0, 'A': 1.0, 'mA': 1e-3}}
QUANTITIES = tuple(UNITS)


@dataclass(frozen=True, kw_only=True)
class SourceConfig:
    """Where the signals stand in the data."""

    topic: str | None = '/joint_states'   # None: of the only motor or joint states in a bag
    names: tuple[str, ...] = ()
    columns: dict[str, tuple[str, ...]] = quantity({}, text='csv: headings or numbers')
    files: dict[str, str] = quantity({}, text='one file per quantity')
    rate: float | None = quantity(None, unit='Hz', above=0)
    units: dict[str, str] = quantity({}, text='of quantities that are not in SI units')


@dataclass(frozen=True, kw_only=True)
class DriveConfig:
    """From the recorded signals to joint angles and joint torques."""

    gains: tuple[float, ...] = quantity((), unit='Nm per unit of effort')
    motor_matrix: tuple[tuple[float, ...], ...] = ()
    offsets: tuple[float, ...] = quantity((), unit='rad')
    couplings: tuple[tuple[float, ...], ...] = ()


@dataclass(frozen=True, kw_only=True)
class WindowConfig:
    """Which parts of the recordings count."""

    unit: str = quantity('seconds', choices=('seconds', 'rows', 'share'))
    train: tuple[tuple[float, float], ...] = ()
    validate: tuple[tuple[float, float], ...] = ()
    files: dict[str, tuple[tuple[float, float], ...]] = quantity({})


@dataclass(frozen=True, kw_only=True)
class RobotFile:
    """Content of a robot file."""

    robot: str
    urdf: str
    joints: tuple[str, ...]
    source: SourceConfig = field(default_factory=SourceConfig)
    drive: DriveConfig = field(default_factory=DriveConfig)
    windows: WindowConfig = field(default_factory=WindowConfig)
    gravity: tuple[float, float, float] | None = None
    mass_factors: tuple[float, float] = MASS_FACTORS
    total_mass: tuple[float, float] | None = None
    cutoff: float | None = quantity(None, unit='Hz', above=0)
    preprocess: str = quantity('auto', choices=PREPROCESSING)
    estimator: str = quantity('consistent', choices=ESTIMATORS)
    terms: tuple[str, ...] = ()
    folder: str = ''

    @classmethod
    def read(cls, path: str | Path) -> RobotFile:
        """Read and check a robot file."""
        path = Path(path)
        data = schema.read_yaml(path)
        if data.get('gravity') == 'auto':
            del data['gravity']
        if isinstance(data.get('source'), dict):
            data['source'] = _source(data['source'])
        robot = schema.load(cls, {**data, 'folder': str(path.resolve().parent)}, path.name)
        robot._check(path.name)
        return robot

    def _check(self, where: str) -> None:
        n = len(self.joints)
        sizes: tuple[tuple[str, tuple[Any, ...]], ...] = (
            ('drive.gains', self.drive.gains), ('drive.offsets', self.drive.offsets),
            ('drive.motor_matrix', self.drive.motor_matrix), ('source.names', self.source.names))
        for what, values in sizes:
            if values and len(values) != n:
                raise BadValue(f'{where}: length of {what}', len(values), f'{n}, one per joint')
        for row in (*self.drive.motor_matrix, *self.drive.couplings):
            if len(row) != n:
                raise BadValue(f'{where}: length of a row of drive', len(row), f'{n}')
        for key in (*self.source.columns, *self.source.files, *self.source.units):
            if key not in QUANTITIES:
                raise BadValue(f'{where}: quantity of source', key, f'one of {QUANTITIES}')
        for key, unit in self.source.units.items():
            if unit not in UNITS[key]:
                raise BadValue(f'{where}: source.units.{key}', unit,
                               f'one of {", ".join(UNITS[key])}')

    # -- the robot ----------------------------------------------------------------------------

    def model(self, data: Path | None = None) -> Arm:
        """Nominal model; `data` is a second place to look for the URDF."""
        path = self._description(data)
        gravity = (0.0, 0.0, -9.81) if self.gravity is None else self.gravity
        # Massless fixed links are common in foreign URDFs; only the moving links must have mass.
        text = load_description(path) if path.suffix == '.xacro' else path.read_text()
        order = joint_order(text)
        for name in self.joints:
            check_known('joint', name, order, path.name)
        model = Arm(text, tuple(name for name in order if name in self.joints), gravity=gravity,
                    name=self.robot)
        for name, mass in zip(model.link_names, model.masses, strict=True):
            if mass <= 0.0:
                raise BadValue(f'{path.name}: mass of {name}', float(mass), '> 0 kg')
        return model

    def options(self, arm: Arm) -> Options:
        """What the file decides instead of the data, for the arm of `model`."""
        axes = None
        if self.drive.couplings:
            couplings = np.array(self.drive.couplings)[:, self._places(arm)]
            axes = np.vstack([np.eye(arm.n), couplings])
        return Options(gravity=None if self.gravity is None else np.array(self.gravity), axes=axes,
                       cutoff=self.cutoff, mass_factors=self.mass_factors,
                       total_mass=self.total_mass, preprocess=self.preprocess,
                       estimator=self.estimator, terms=self.terms or None)

    def _places(self, arm: Arm) -> list[int]:
        """Where each joint of the arm stands in this file."""
        return [self.joints.index(name) for name in arm.joint_names]

    def in_order(self, arm: Arm, values: Array) -> Array:
        """Numbers of this file in the order of the arm's joints, (n,)."""
        return np.asarray(values[self._places(arm)])

    def recording(self, arm: Arm, t: Array, position: Array, effort: Array,
                  velocity: Array | None, name: str) -> Recording:
        """Joint angles and torques of the arm from the recorded signals, which are in SI units.

        Columns of signals and numbers of `drive` are in the order of this file.
        """
        q, dq, tau = position, velocity, effort
        if self.drive.gains:
            tau = tau * np.array(self.drive.gains)
        if self.drive.motor_matrix:
            R = np.array(self.drive.motor_matrix)          # motor = R joint, so torque = R^T motor
            inverse = np.linalg.inv(R).T
            q, tau = q @ inverse, tau @ R
            dq = None if dq is None else dq @ inverse
        if self.drive.offsets:
            q = q + np.array(self.drive.offsets)
        places = self._places(arm)
        return Recording(t, q[:, places], tau[:, places], None if dq is None else dq[:, places],
                         name)

    # -- windows ------------------------------------------------------------------------------

    def training(self, recording: Recording) -> list[Recording]:
        """Parts of a recording to train with."""
        return self._cut(recording, self.windows.train)

    def validation(self, recording: Recording, same_file: bool) -> list[Recording]:
        """Parts to validate with; `same_file`: of the training recording."""
        for pattern, windows in self.windows.files.items():
            if fnmatch.fnmatch(recording.name, pattern):
                return self._cut(recording, windows)
        return self._cut(recording, self.windows.validate) if same_file else [recording]

    def _cut(self, recording: Recording,
             windows: tuple[tuple[float, float], ...]) -> list[Recording]:
        if not windows:
            return [recording]
        N = len(recording.t)
        if self.windows.unit == 'seconds':
            return [recording.between(a, b) for a, b in windows]
        scale = N if self.windows.unit == 'share' else 1
        return [recording.rows(int(scale * a), min(int(scale * b), N)) for a, b in windows]

    def _description(self, data: Path | None) -> Path:
        if data is not None:
            near = (data if data.is_dir() else data.parent) / self.urdf
            if near.is_file():
                return near
        return find_description(self.urdf, Path(self.folder))


def _source(data: dict[str, Any]) -> dict[str, Any]:
    """As written, with ranges of columns written out and `degrees` as units."""
    data = dict(data)
    if data.get('topic') == 'auto':
        data['topic'] = None
    if isinstance(data.get('columns'), dict):
        data['columns'] = {key: [name for item in (value if isinstance(value, list) else [value])
                                 for name in columns_of(str(item))]
                           for key, value in data['columns'].items()}
    if data.pop('degrees', False):     # the older way to say it
        data['units'] = {'position': 'deg', 'velocity': 'deg/s', **data.get('units', {})}
    return data


def columns_of(text: str) -> list[str]:
    """A range such as 1-6, q0-q6 or tau_1_Nm-tau_6_Nm written out; else the text itself."""
    found = re.fullmatch(r'(.*?)(\d+)(\D*)-(?:\1)?(\d+)(?:\3)', text)
    if found is None:
        return [text]
    stem, first, end, last = found.groups()
    if int(last) < int(first):
        raise BadValue('range of columns', text, 'rising')
    return [f'{stem}{k:0{len(first)}d}{end}' for k in range(int(first), int(last) + 1)]
