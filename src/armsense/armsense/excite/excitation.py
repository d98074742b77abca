"""`excite.yaml`: a designed motion, what it is good for and which limits it keeps.

One module reads and writes it. `Excitation` is also the motion: `sample(t)` over as many periods
as wanted, at rest before and after. A motion that does not end where it starts comes back the same
way, every second period backwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from armsense import schema
from armsense.errors import BadValue
from armsense.excite.constraints import Constraints
from armsense.excite.criteria import CRITERIA
from armsense.excite.families import FourierSeries, KINDS, rebuild_shape
from armsense.excite.parametrisation import Parametrisation
from armsense.model.arm_source import ArmSource
from armsense.schema import quantity
from armsense.trajectory.reference import Fourier
from armsense.types import Array, Reference

FORMAT = 1


@dataclass(frozen=True, kw_only=True)
class UsedLimits:
    """Limits that the motion keeps; lists in the order of the joints."""

    lower: tuple[float, ...] = quantity(unit='rad')
    upper: tuple[float, ...] = quantity(unit='rad')
    velocity: tuple[float, ...] = quantity(unit='rad/s', above=0)
    acceleration: tuple[float, ...] = quantity(unit='rad/s^2', above=0)
    jerk: tuple[float, ...] = quantity(unit='rad/s^3', above=0)
    torque: tuple[float, ...] = quantity(unit='Nm', above=0)
    floor: float | None = quantity(None, unit='m')
    self_distance: float = quantity(0.0, unit='m')
    base_radius: float | None = quantity(None, unit='m', above=0)
    base_height: float | None = quantity(None, unit='m')
    band_limit: float | None = quantity(None, unit='Hz', above=0)

    @classmethod
    def of(cls, constraints: Constraints) -> UsedLimits:
        """From the constraints of a design."""
        limits, base = constraints.limits, constraints.base_cylinder
        lists = {name: tuple(getattr(limits, name).tolist())
                 for name in ('lower', 'upper', 'velocity', 'acceleration', 'jerk', 'torque')}
        return cls(**lists, floor=constraints.floor, self_distance=constraints.self_distance,
                   base_radius=base.radius if base else None,
                   base_height=base.height if base else None,
                   band_limit=constraints.band_limit)


@dataclass(frozen=True, kw_only=True)
class Quality:
    """How well one period at `rate` excites the base parameters."""

    criterion: str = quantity(choices=tuple(CRITERIA))
    value: float = quantity(text='of the criterion; the load side of elastic joints')
    actuator_value: float | None = quantity(None, text='actuator side of elastic joints')
    condition_number: float = quantity(low=1, text='of the regressor in units of the torque noise')
    scaled_condition_number: float = quantity(low=1, text='the same with columns of unit length')
    log_det: float = quantity(text='of the information matrix')
    parameters: int = quantity(low=1, text='base parameters')
    rate: float = quantity(unit='Hz', above=0)
    torque_noise: tuple[float, ...] = quantity(unit='Nm', above=0)
    singular_values: tuple[float, ...] = quantity((), low=0)


@dataclass(frozen=True, kw_only=True)
class Excitation:
    """Content of an `excite.yaml`."""

    format: int
    arm: str
    kind: str = quantity(choices=KINDS)
    joints: tuple[str, ...]
    period: float = quantity(unit='s', above=0)
    start: tuple[float, ...] = quantity(unit='rad')
    end: tuple[float, ...] = quantity(unit='rad')
    coefficient_names: tuple[str, ...]
    coefficients: dict[str, tuple[float, ...]]      # of each joint
    options: dict[str, float] = quantity({})
    quality: Quality
    limits: UsedLimits
    seed: int
    date: str
    seconds: float = quantity(0.0, unit='s', low=0, text='that the design took')
    arm_file: ArmSource | None = None   # of an arm that no name stands for

    def __repr__(self) -> str:
        return (f'<Excitation of {self.arm}: {self.kind}, {self.period:g} s, {len(self.joints)} '
                f'joints, condition number {self.quality.condition_number:.3g}>')

    def __post_init__(self) -> None:
        if tuple(self.coefficients) != self.joints:
            raise BadValue('joints of the coefficients', list(self.coefficients),
                           f'those of the file, in order: {", ".join(self.joints)}')
        for what, values in (('start', self.start), ('end', self.end)):
            if len(values) != len(self.joints):
                raise BadValue(what, values, f'a list of {len(self.joints)}')
        for joint, values in self.coefficients.items():
            if len(values) != len(self.coefficient_names):
                raise BadValue(f'coefficients.{joint}', values,
                               f'a list of {len(self.coefficient_names)}')

    @classmethod
    def create(cls, shape: Parametrisation, coefficients: Array, *, arm: str,
               joints: tuple[str, ...], quality: Quality, limits: UsedLimits, seed: int,
               seconds: float, arm_file: ArmSource | None = None) -> Excitation:
        """From a designed motion; the date is now."""
        c = shape.check(coefficients)
        return cls(
            format=FORMAT, arm=arm, kind=shape.kind, joints=joints, period=shape.period,
            start=tuple(shape.start.tolist()), end=tuple(shape.end.tolist()),
            coefficient_names=shape.coefficient_names,
            coefficients={name: tuple(row.tolist()) for name, row in zip(joints, c, strict=True)},
            options=shape.options, quality=quality, limits=limits, seed=seed, seconds=seconds,
            arm_file=arm_file,
            date=datetime.now(timezone.utc).isoformat(timespec='seconds'))

    @classmethod
    def read(cls, path: str | Path, arm: str | None = None) -> Excitation:
        """Read and check; with `arm`, a file of another arm is an error."""
        excitation = schema.read_arm_file(cls, path, 'an excitation', FORMAT, arm)
        if excitation.shape.coefficient_names != excitation.coefficient_names:
            raise BadValue(f'{Path(path).name}: coefficient_names', excitation.coefficient_names,
                           f'those of {excitation.kind}: {excitation.shape.coefficient_names}')
        return excitation

    def write(self, path: str | Path) -> None:
        schema.write_yaml(self, Path(path))

    # -- the motion --------------------------------------------------------------------------

    @property
    def n(self) -> int:
        return len(self.joints)

    @cached_property
    def shape(self) -> Parametrisation:
        """The family of motions."""
        return rebuild_shape(self.kind, np.array(self.start), np.array(self.end), self.period,
                             len(self.coefficient_names), self.options)

    @cached_property
    def coefficient_matrix(self) -> Array:
        """(n, m)."""
        return np.array(list(self.coefficients.values()))

    def duration(self, periods: int = 1) -> float:
        if periods < 1:
            raise BadValue('periods', periods, '>= 1')
        return periods * self.period

    def sample(self, t: float, periods: int | None = None) -> Reference:
        """The motion at time t [s]; after `periods` (None: never) and before 0 it rests."""
        end = np.inf if periods is None else self.duration(periods)
        if t <= 0.0 or t >= end:
            back = t > 0.0 and not self.shape.closed and (periods or 0) % 2 == 1
            return Reference.at_rest(np.array(self.end if back else self.start))
        k, u = divmod(t, self.period)
        if self.shape.closed or k % 2 == 0:
            return self._within(u)
        q, dq, ddq, jerk, snap, _ = self._within(self.period - u)
        return Reference(q, -dq, ddq, None if jerk is None else -jerk, snap)

    def trajectory(self, periods: int = 1) -> Repeated:
        """The motion as a `Trajectory` of so many periods."""
        return Repeated(self, periods, self.n, self.duration(periods))

    def _within(self, u: float) -> Reference:
        if self._series is not None:
            return self._series.sample(u)
        t = np.array([u])
        return Reference(*(self.shape.derivative(self.coefficient_matrix, t, order)[0]
                           for order in range(5)))

    @cached_property
    def _series(self) -> Fourier | None:
        """Fourier motions have a faster sampler, for control loops."""
        if not isinstance(self.shape, FourierSeries):
            return None
        H = self.shape.harmonics
        c = self.coefficient_matrix
        w = 2.0 * np.pi / self.period * np.arange(1, H + 1)
        return Fourier(c[:, 0], (c[:, 1:H + 1] / w).T, (-c[:, H + 1:] / w).T, 1.0 / self.period,
                       self.period)


class Repeated(NamedTuple):
    """Some periods of an excitation (`Trajectory`)."""

    excitation: Excitation
    periods: int
    n: int            # of its joints
    duration: float   # [s]

    def sample(self, t: float) -> Reference:
        return self.excitation.sample(t, self.periods)
