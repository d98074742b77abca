"""What identification hands back: a model, how good it is, what is known, and its `model.yaml`.

A parameter alone is known in one of four ways: by itself; in a combination with others; not at
all, because it moves no torque; or not here, because this motion lets it move the torque by less
than the noise. Where the data are silent, the value of the CAD model stays, and the sentence says
so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from armsense.identify.estimation.base_parameters import BaseEstimate
from armsense.identify.estimation.feasible import is_consistent, parameter_scale
from armsense.identify.estimation.training import RATE_FACTOR
from armsense.identify.friction.columns import DriveColumns
from armsense.identify.signals.filters import (
    decimate,
    low_pass,
    Motion,
    motion,
    settled,
    torque_error,
    TorqueError,
)
from armsense.identify.signals.recording import Recording, regular, split_at_gaps
from armsense.model.arm import Arm, PARAMETER_NAMES
from armsense.model.model_file import (
    Covariance,
    DriveParameters,
    IdentifiedCoupling,
    IdentifiedFriction,
    ModelFile,
    Provenance,
    Timing,
)
from armsense.types import Array

FIELDS = {'offset': 'asymmetry'}    # of the friction block, where they differ from the term
NORMAL_95 = float(stats.norm.ppf(0.975))
BLIND = 0.9       # of the prior's width: the data say nothing
WORDS = {'m': 'mass', 'mx': 'moment m c_x', 'my': 'moment m c_y', 'mz': 'moment m c_z',
         'Ixx': 'I_xx', 'Ixy': 'I_xy', 'Iyy': 'I_yy', 'Ixz': 'I_xz', 'Iyz': 'I_yz',
         'Izz': 'I_zz'}
KINDS = ('alone', 'combined', 'weak', 'silent')


class Finding(NamedTuple):
    """What is known of one inertial parameter."""

    name: str         # such as Ixy2
    kind: str         # out of KINDS
    sentence: str


class Smooth(NamedTuple):
    """A recording, filtered."""

    even: Recording         # on a regular clock
    working: Recording      # the same at the working rate, velocities without their delay
    motion: Motion          # smooth, on the clock of `working`
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Prediction:
    """Torques on the regular clock of a recording."""

    t: Array             # [s], (N,)
    measured: Array      # [Nm], (N, n)
    predicted: Array     # [Nm], (N, n)
    speed: Array         # smooth joint velocities [rad/s], (N, n)
    rate: float          # [Hz]
    notes: tuple[str, ...] = ()
    ends: tuple[int, ...] = ()   # of the parts between gaps, in samples; empty: one part
    lost: float = 0.0            # in gaps [s]

    def raw(self) -> TorqueError:
        """Error without any filter on the torque."""
        return torque_error(self.measured, self.predicted)

    def filtered(self, cutoff: float) -> TorqueError:
        """Error behind the same zero-phase low-pass on both sides, without its settling."""
        return torque_error(*self.band(cutoff))

    def band(self, cutoff: float) -> tuple[Array, Array]:
        """Measured and predicted torques behind the low-pass, without its settling, (M, n)."""
        def inside(x: Array) -> Array:
            return np.concatenate([low_pass(x[part], cutoff, self.rate)[keep]
                                   for part, keep in self._parts(cutoff)])

        return inside(self.measured), inside(self.predicted)

    def band_times(self, cutoff: float) -> Array:
        """Times of `band` [s], (M,)."""
        return np.concatenate([self.t[part][keep] for part, keep in self._parts(cutoff)])

    def _parts(self, cutoff: float) -> list[tuple[slice, slice]]:
        """Samples of each part, and those of it that lie where filters have settled."""
        ends = self.ends or (len(self.t),)
        return [(slice(first, last), settled(last - first, cutoff, self.rate))
                for first, last in zip((0, *ends[:-1]), ends, strict=True)]


@dataclass(frozen=True)
class IdentifiedModel:
    """A rigid body with drives and gravity, and what is known about it.

    Errors are of the model that the nodes run: nobody takes delays of signals out for them, and
    they know no inertia of shafts that turn with several joints.
    """

    model: Arm                # with identified links and gravity, without armature
    drive: DriveColumns
    coefficients: Array            # of the drive columns
    cutoff: float                  # of the torque band [Hz]
    motion_cutoff: float           # of positions and velocities [Hz]
    velocity: str                  # 'measured' or 'position'
    velocity_delay: float          # of the measured velocities behind the positions [s]
    torque_delay: float            # of the torques behind the motion [s]
    clock_shift: float             # of the clock of the recorded torques, taken out [s]
    train: TorqueError
    unconstrained_percent: float   # training error without physical consistency
    cross_validated_percent: float   # on blocks of time that were left out of the fit in turn
    intervals: Array               # 95 % of links and drive coefficients, (10 n + drives, 2)
    nominal: Array                 # parameters of the URDF, (10 n,)
    base: BaseEstimate | None = None    # base parameters from the data alone
    estimator: str = 'consistent'
    findings: tuple[Finding, ...] = ()    # what is known of each inertial parameter
    kept: tuple[str, ...] = ()     # parameters that the motion does not tell: nominal value kept
    notes: tuple[str, ...] = ()
    lost: float = 0.0              # of the training recordings, in gaps [s]
    wiring: tuple[str, ...] = ()   # torques and joints that seem to be connected wrongly
    silent: tuple[str, ...] = ()   # joints whose torque drowns in the noise of its sensor
    sensor_noise: Array | None = None   # of the torques within the band [Nm], (n,)
    seconds: dict[str, float] = field(default_factory=dict)   # spent per step

    @property
    def parameters(self) -> Array:
        """Inertial parameters pi, (10 n,)."""
        return self.model.parameters

    @property
    def gravity(self) -> Array:
        """[m/s^2] in the base frame, (3,)."""
        return self.model.gravity

    @property
    def masses(self) -> Array:
        """[kg], (n,)."""
        return self.model.masses

    @property
    def mass_factors(self) -> Array:
        """Masses over those of the URDF, (n,)."""
        return np.asarray(self.masses / self.nominal[::10])

    @property
    def feasible(self) -> bool:
        """Whether every link can exist and friction only brakes."""
        return is_consistent(self.parameters) and self.drive.brakes(
            self.coefficients, self.model.velocity_limits)

    def drive_coefficients(self) -> dict[str, Array]:
        """Coefficients by term, (drive axes,) each."""
        return {term: self.coefficients[self.drive.index(term)] for term in self.drive.terms}

    def torque(self, moving: Motion) -> Array:
        """Torque of a smooth motion as the nodes compute it [Nm], (N, n)."""
        coefficients = self.coefficients.copy()
        if 'inertia' in self.drive.terms:
            coefficients[self.drive.index('inertia')][self.model.n:] = 0.0   # of coupled shafts
        link = self.model.inverse_dynamics_batch(moving.q, moving.dq, moving.ddq)
        load = link + self.drive.rotor_torque(moving.ddq, coefficients)
        columns = self.drive.columns(moving.dq, moving.ddq, load)
        return np.asarray(link + columns @ coefficients)

    def smooth(self, recording: Recording) -> Smooth:
        """A recorded motion without gaps as the model sees it."""
        even, notes = regular(recording)
        working = decimate(even, RATE_FACTOR * self.cutoff)
        velocity = self.velocity if working.dq is not None else 'position'
        return Smooth(even, working, motion(working, self.motion_cutoff, velocity), tuple(notes))

    def predict(self, recording: Recording) -> Prediction:
        """Torques of a recorded motion, from positions and velocities alone."""
        whole = split_at_gaps(recording)
        parts = [self._predict(part) for part in whole.recordings]
        t, measured, predicted, speed = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ('t', 'measured', 'predicted', 'speed'))
        return Prediction(t, measured, predicted, speed, parts[0].rate,
                          (*whole.notes, *(note for part in parts for note in part.notes)),
                          tuple(np.cumsum([len(part.t) for part in parts]).tolist()), whole.lost)

    def _predict(self, recording: Recording) -> Prediction:
        """The same of a recording without gaps."""
        even, working, moving, notes = self.smooth(recording)
        late = even.t - self.clock_shift
        predicted = np.stack([np.interp(late, working.t, column)
                              for column in self.torque(moving).T], axis=1)
        speed = np.stack([np.interp(even.t, working.t, column) for column in moving.dq.T], axis=1)
        return Prediction(even.t, even.tau, predicted, speed, even.rate, notes)

    def validate(self, recording: Recording) -> TorqueError:
        """Error on a recording within the torque band."""
        return self.predict(recording).filtered(self.cutoff)


def in_words(model: Arm, columns: list[Array], noise: Array,
             found: BaseEstimate) -> list[Finding]:
    """One finding per inertial parameter.

    Args:
        model: The arm.
        columns: Of links and drives per recording, (N, n, p) each.
        noise: Of the torques [Nm], (n,).
        found: Base parameters with covariance.
    """
    scale = parameter_scale(model.parameters)
    moved = _torque_moved(columns, scale) / noise                           # (p, n)
    wide = found.deviations * NORMAL_95
    out = []
    for k, name in enumerate(model.parameter_names):
        link = model.link_names[k // len(PARAMETER_NAMES)]
        what = f'{WORDS[PARAMETER_NAMES[k % len(PARAMETER_NAMES)]]} of {link}'
        rows = np.flatnonzero(np.abs(found.base.combination[:, k]) > 1e-9).tolist()
        out.append(_finding(name, what, rows, k, scale[k], float(moved[k].max()), found, wide))
    return out


def _finding(name: str, what: str, rows: list[int], k: int, scale: float, moved: float,
             found: BaseEstimate, wide: Array) -> Finding:
    if not rows:
        return Finding(name, 'silent', f'{what} moves no joint torque whatever the motion: '
                                       'not identifiable, CAD value kept')
    if moved < 1.0:
        return Finding(name, 'weak', f'{what} moves the torque by less than the noise '
                                     f'({100.0 * moved:.0f} % of it): not identified, CAD value '
                                     'kept')
    row = min(rows, key=lambda i: float(wide[i]))
    if wide[row] > BLIND * scale * np.abs(found.base.combination[row, k]):
        return Finding(name, 'weak', f'{what}: the interval is as wide as the value; this motion '
                                     'does not tell it, CAD value kept')
    if len(rows) == 1 and np.count_nonzero(found.base.combination[row]) == 1:
        return Finding(name, 'alone', f'{what} is identified: {found.values[row]:.4g} +- '
                                      f'{wide[row]:.2g}')
    return Finding(name, 'combined', f'{what} is identified only in {found.names[row]} = '
                                     f'{found.values[row]:.4g} +- {wide[row]:.2g}')


def _torque_moved(columns: list[Array], scale: Array) -> Array:
    """Rms torque of each parameter at its typical size [Nm], (p, n)."""
    squares = sum(np.square(part[:, :, :len(scale)]).sum(axis=0) for part in columns)
    rows = sum(map(len, columns))
    return np.asarray(np.sqrt(squares / rows).T * scale[:, None])


def model_file(model: IdentifiedModel, files: Sequence[Path], errors: dict[str, Any],
               gears: Mapping[str, float] | None = None) -> ModelFile:
    """The model file of what was identified.

    Nodes use links, drives, friction (that of coupled shafts too) and gravity. Timing, covariance
    and the inertia of coupled shafts are for people alone: no observer or law knows them, and the
    errors are of a model without them.

    Args:
        model: What was identified.
        files: What it rests on.
        errors: Torque errors [%] as the command reports them.
        gears: Gear ratio of each joint; None: rotor inertias are those of the joint side.
    """
    shown = {name: float(errors[key]) for name, key in
             (('train', 'train_percent'), ('validation', 'validation_percent'))
             if errors.get(key) is not None}
    joints = model.model.joint_names
    # Where no rotor was identified, its inertia is part of the links: the file must say zero.
    inertia = model.drive_coefficients().get('inertia', np.zeros(len(model.drive.axes)))
    drives = {joint: DriveParameters(rotor_inertia=max(float(J), 0.0)
                                     / (1.0 if gears is None else gears[joint])**2)
              for joint, J in zip(joints, inertia, strict=False)
              if gears is None or joint in gears}
    blocks = _friction_blocks(model)
    couplings = tuple(
        IdentifiedCoupling(ratios=tuple(map(float, ratios)), inertia=max(float(J), 0.0),
                           friction=block)
        for ratios, J, block in zip(model.drive.axes[model.model.n:], inertia[model.model.n:],
                                    blocks[model.model.n:], strict=True))
    return ModelFile.create(
        model.model, model.parameters,
        Provenance.now(method(model), files, shown),
        drives=drives, friction=dict(zip(joints, blocks, strict=False)), couplings=couplings,
        gravity=tuple(map(float, model.gravity)),
        timing=Timing(torque_delay=model.torque_delay + model.clock_shift,
                      velocity_delay=model.velocity_delay),
        covariance=None if model.base is None else Covariance(
            names=model.base.names,
            matrix=tuple(tuple(map(float, row)) for row in model.base.covariance)))


def method(model: IdentifiedModel) -> str:
    """How the parameters were estimated, in words."""
    if model.estimator == 'consistent':
        return 'physically consistent least squares'
    return f'{model.estimator}, then the nearest links that can exist'


def _friction_blocks(model: IdentifiedModel) -> list[IdentifiedFriction]:
    """One per drive axis."""
    terms = {FIELDS.get(term, term): values
             for term, values in model.drive_coefficients().items() if term != 'inertia'}
    return [IdentifiedFriction(stribeck_velocity=model.drive.stribeck_velocity,
                               smoothing=model.drive.smoothing,
                               **{name: float(values[k]) for name, values in terms.items()})
            for k in range(len(model.drive.axes))]
