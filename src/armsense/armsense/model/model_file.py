"""`model.yaml`: what identification and calibration found out about one arm.

Every node reads it on top of the arm's yaml and URDF. A part that is absent leaves the value of
the arm's own files. The file is written whole or not at all.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import cached_property
import hashlib
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from armsense import schema
from armsense.errors import ArmsenseError, BadValue
from armsense.model.arm import Arm, PARAMETER_NAMES
from armsense.model.arm_config import ArmConfig, CouplingConfig, FrictionConfig
from armsense.model.arm_source import ArmSource
from armsense.schema import check_known, quantity
from armsense.types import Array

FORMAT = 1
KINDS = ('fixed', 'sigma', 'motion', 'false_alarm_rate')   # of thresholds
SPRING = ('stiffness', 'damping', 'link_damping', 'coupling_ratio')   # of elastic joints


@dataclass(frozen=True, kw_only=True)
class Thresholds:
    """One threshold of the residual per joint, with what it rests on."""

    kind: str = quantity(choices=KINDS)
    constant: tuple[float, ...] = quantity(unit='Nm', low=0)
    velocity: tuple[float, ...] = quantity((), unit='Nm s/rad', low=0)
    acceleration: tuple[float, ...] = quantity((), unit='Nm s^2/rad', low=0)
    onset: tuple[float, ...] = quantity(
        (), low=0, text='levels of the statistic of sudden torques by age, the newest first')
    rate_per_hour: float | None = quantity(None, unit='1/h', above=0,
                                           text='of all joints together')
    confidence: float | None = quantity(None, low=0, high=1,
                                        text='that the rate is not exceeded')
    minutes: float | None = quantity(None, unit='min', low=0, text='of recording they rest on')
    clusters: tuple[int, ...] = quantity((), text='peaks of each joint the fit rests on')
    warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        n = len(self.constant)
        for name in ('velocity', 'acceleration'):
            if len(getattr(self, name)) not in (0, n):
                raise BadValue(f'length of {name}', len(getattr(self, name)), f'0 or {n}')

    @cached_property
    def _parts(self) -> tuple[Array, Array, Array]:
        return np.array(self.constant), np.array(self.velocity), np.array(self.acceleration)

    @property
    def n(self) -> int:
        return len(self.constant)

    def at(self, dq: Array, ddq: Array | None = None) -> Array:
        """Thresholds [Nm], (n,) or (N, n), at a velocity and acceleration of that shape."""
        out, velocity, acceleration = self._parts
        if self.velocity:
            out = out + velocity * np.abs(dq)
        if self.acceleration:
            if ddq is None:
                raise ArmsenseError('these thresholds depend on the acceleration; ddq is missing')
            out = out + acceleration * np.abs(ddq)
        return out

    def scaled(self, factors: ArrayLike) -> Thresholds:
        """All three parts times a factor, scalar or (n,); a scalar is that of onsets, too."""
        factor = np.broadcast_to(np.asarray(factors, float), self.n)
        onset = self.onset
        if np.ndim(factors) == 0:
            onset = tuple(float(factor[0]) * level for level in onset)
        parts = zip(('constant', 'velocity', 'acceleration'), self._parts, strict=True)
        changed: Any = {name: tuple((factor * part).tolist()) for name, part in parts if len(part)}
        return replace(self, onset=onset, **changed)


@dataclass(frozen=True, kw_only=True)
class LinkInertia:
    """Ten inertial parameters about the link frame."""

    m: float = quantity(unit='kg', above=0)
    mx: float = quantity(unit='kg m')
    my: float = quantity(unit='kg m')
    mz: float = quantity(unit='kg m')
    Ixx: float = quantity(unit='kg m^2')
    Ixy: float = quantity(unit='kg m^2')
    Iyy: float = quantity(unit='kg m^2')
    Ixz: float = quantity(unit='kg m^2')
    Iyz: float = quantity(unit='kg m^2')
    Izz: float = quantity(unit='kg m^2')


@dataclass(frozen=True, kw_only=True)
class DriveParameters:
    """Identified drive of one joint; None keeps the arm's value."""

    torque_constant: float | None = quantity(None, unit='Nm/A', above=0)
    rotor_inertia: float | None = quantity(None, unit='kg m^2', low=0)
    stiffness: float | None = quantity(None, unit='Nm/rad', above=0)
    damping: float | None = quantity(None, unit='Nm s/rad', low=0)
    link_damping: float | None = quantity(None, unit='Nm s/rad', low=0)
    coupling_ratio: float | None = quantity(None, text='of the cable over another joint')


@dataclass(frozen=True, kw_only=True)
class IdentifiedFriction(FrictionConfig):
    """Friction as a sum of terms: single ones may be negative where the sum opposes the motion."""

    viscous: float = quantity(0.0, unit='Nm s/rad')
    coulomb: float = quantity(0.0, unit='Nm')
    stribeck: float = quantity(0.0, unit='Nm')


@dataclass(frozen=True, kw_only=True)
class IdentifiedCoupling(CouplingConfig):
    """A shaft that turns with several joints."""

    friction: IdentifiedFriction = IdentifiedFriction()


@dataclass(frozen=True, kw_only=True)
class Timing:
    """How late the signals of the recording were; nodes do not make up for it."""

    torque_delay: float = quantity(0.0, unit='s', text='of torques behind positions')
    velocity_delay: float = quantity(0.0, unit='s', text='of velocities behind positions')


@dataclass(frozen=True, kw_only=True)
class Covariance:
    """Of the estimated parameters; `names` gives rows and columns."""

    names: tuple[str, ...]
    matrix: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        if any(len(row) != len(self.names) for row in (self.matrix, *self.matrix)):
            raise BadValue('covariance.matrix', f'{len(self.matrix)} rows',
                           f'{len(self.names)} x {len(self.names)}')


@dataclass(frozen=True, kw_only=True)
class ResidualStatistics:
    """Of the observer's residual in collision-free motion, joint by joint."""

    mean: tuple[float, ...] = quantity(unit='Nm')
    sigma: tuple[float, ...] = quantity(unit='Nm', low=0)
    minutes: float = quantity(unit='min', low=0)


@dataclass(frozen=True, kw_only=True)
class Source:
    file: str
    sha256: str


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """Where the numbers come from."""

    method: str
    date: str
    sources: tuple[Source, ...] = ()
    errors: dict[str, float] = quantity({}, unit='%', text='such as train, validation, joint1')
    versions: dict[str, str] = quantity({})

    @classmethod
    def now(cls, method: str, files: Iterable[Path] = (),
            errors: dict[str, float] | None = None) -> Provenance:
        """Provenance of an identification that ends now."""
        packages = ('armsense', 'numpy', 'scipy', 'pin')
        return cls(
            method=method,
            date=datetime.now(timezone.utc).isoformat(timespec='seconds'),
            sources=tuple(Source(file=p.name, sha256=file_hash(p)) for p in files),
            errors=errors or {},
            versions={name: _version(name) for name in packages})


@dataclass(frozen=True, kw_only=True)
class ModelFile:
    """Content of a `model.yaml`."""

    format: int
    arm: str
    provenance: Provenance
    arm_file: ArmSource | None = None   # of an arm that no name stands for
    links: dict[str, LinkInertia] = quantity({})
    drives: dict[str, DriveParameters] = quantity({})
    friction: dict[str, IdentifiedFriction] = quantity({})
    couplings: tuple[IdentifiedCoupling, ...] = ()
    gravity: tuple[float, float, float] | None = quantity(None, unit='m/s^2', text='base frame')
    timing: Timing | None = None
    covariance: Covariance | None = None
    residual: ResidualStatistics | None = None
    thresholds: Thresholds | None = None

    @classmethod
    def create(cls, model: Arm, parameters: Array, provenance: Provenance,
               **parts: object) -> ModelFile:
        """A model file of an arm with inertial parameters pi, (10 n,)."""
        rows = np.asarray(parameters, float).reshape(model.n, len(PARAMETER_NAMES))
        links = {link: LinkInertia(**dict(zip(PARAMETER_NAMES, map(float, row), strict=True)))
                 for link, row in zip(model.link_names, rows, strict=True)}
        return cls(format=FORMAT, arm=model.name, provenance=provenance, links=links,
                   arm_file=ArmSource.of(model.config), **parts)  # type: ignore[arg-type]

    @classmethod
    def read(cls, path: str | Path, arm: str | None = None) -> ModelFile:
        """Read and check; with `arm`, a file of another arm is an error."""
        return schema.read_arm_file(cls, path, 'a model', FORMAT, arm, former=('ripples',))

    def arm_name(self, path: str | Path) -> str:
        """What loads the arm of this file, which was read from `path`: its name, or its file."""
        return self.arm if self.arm_file is None else self.arm_file.find(self.arm, Path(path))

    def write(self, path: str | Path) -> None:
        schema.write_yaml(self, Path(path))

    def apply(self, model: Arm) -> Arm:
        """The arm with these parameters; the inertia of coupled shafts is left out of it."""
        if model.name != self.arm:
            raise ArmsenseError(
                f'the model file is of arm {self.arm!r}; this arm is {model.name!r}')
        rows = model.parameters.reshape(model.n, len(PARAMETER_NAMES))
        for link, inertia in self.links.items():
            check_known('link', link, model.link_names, 'model file')
            rows[model.link_names.index(link)] = [getattr(inertia, p) for p in PARAMETER_NAMES]
        config = self.apply_config(model.config)
        armature = np.array([joint.armature for joint in config.joints.values()])
        changed = model.replace(parameters=rows.ravel(), armature=armature, gravity=self.gravity)
        changed.config = config
        return changed

    def apply_config(self, config: ArmConfig) -> ArmConfig:
        """The arm's configuration with identified drives, friction and gravity."""
        joints = dict(config.joints)
        for name in (*self.drives, *self.friction):
            check_known('joint', name, joints, 'model file')
        for name, friction in self.friction.items():
            joints[name] = replace(joints[name], friction=friction)
        for name, drive in self.drives.items():
            joint = joints[name]
            values = {key: getattr(drive, key) for key in ('torque_constant', 'rotor_inertia')
                      if getattr(drive, key) is not None}
            spring = {key: getattr(drive, key) for key in SPRING
                      if getattr(drive, key) is not None}
            if spring and joint.elastic is None:
                raise ArmsenseError(f'model file: {name} has a stiffness but no elastic joint')
            if spring and joint.elastic is not None:
                values['elastic'] = replace(joint.elastic, **spring)
            joints[name] = replace(joint, **values)
        return replace(config, joints=joints, couplings=self.couplings or config.couplings,
                       gravity=self.gravity or config.gravity)


def file_hash(path: Path) -> str:
    """SHA-256 of a file, or of all files of a folder (a bag)."""
    digest = hashlib.sha256()
    files = sorted(p for p in path.rglob('*') if p.is_file()) if path.is_dir() else [path]
    for file in files:
        with file.open('rb') as handle:
            while chunk := handle.read(1 << 20):
                digest.update(chunk)
    return digest.hexdigest()


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return 'unknown'
