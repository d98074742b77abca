"""What identification hands back: a model that predicts torques, and how good it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from armsense.identify.feasible import is_consistent
from armsense.identify.friction_columns import DriveColumns
from armsense.identify.gaps import split_at_gaps
from armsense.identify.identifiability import Finding
from armsense.identify.preprocess import (
    decimate,
    low_pass,
    Motion,
    motion,
    regular,
    settled,
    without_delay,
)
from armsense.identify.recording import Recording
from armsense.identify.ripple import Line, ripple_columns
from armsense.identify.training import RATE_FACTOR
from armsense.identify.uncertainty import BaseEstimate
from armsense.identify.validation import torque_error, TorqueError
from armsense.model.arm_model import ArmModel
from armsense.types import Array


@dataclass(frozen=True)
class Ripple:
    """A line with its coefficients."""

    line: Line
    coefficients: Array    # [Nm], [Nm s/rad], ...


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
    """A rigid body with drives, gravity and ripple, and what is known about it."""

    model: ArmModel                # with identified links and gravity, without armature
    drive: DriveColumns
    coefficients: Array            # of the drive columns
    cutoff: float                  # of the torque band [Hz]
    motion_cutoff: float           # of positions and velocities [Hz]
    velocity: str                  # 'measured' or 'position'
    velocity_delay: float          # of the measured velocities behind the positions [s]
    torque_delay: float            # of the torques behind the motion [s]
    train: TorqueError
    unconstrained_percent: float   # training error without physical consistency
    cross_validated_percent: float   # on blocks of time that were left out of the fit in turn
    intervals: Array               # 95 % of links and drive coefficients, (10 n + drives, 2)
    nominal: Array                 # parameters of the URDF, (10 n,)
    base: BaseEstimate | None = None    # base parameters from the data alone
    estimator: str = 'consistent'
    residual_mean: Array | None = None    # of the training errors in the torque band [Nm], (n,)
    residual_sigma: Array | None = None   # (n,)
    findings: tuple[Finding, ...] = ()    # what is known of each inertial parameter
    kept: tuple[str, ...] = ()     # parameters that the motion does not tell: nominal value kept
    ripples: tuple[Ripple, ...] = ()
    notes: tuple[str, ...] = ()
    lost: float = 0.0              # of the training recordings, in gaps [s]
    wiring: tuple[str, ...] = ()   # torques and joints that seem to be connected wrongly
    silent: tuple[str, ...] = ()   # joints whose torque drowns in the noise of its sensor
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
        """Whether every link can exist."""
        return is_consistent(self.parameters)

    def drive_coefficients(self) -> dict[str, Array]:
        """Coefficients by term, (drive axes,) each."""
        return {term: self.coefficients[self.drive.index(term)] for term in self.drive.terms}

    def torque(self, moving: Motion) -> Array:
        """Torque of a smooth motion [Nm], (N, n)."""
        link = self.model.inverse_dynamics_batch(moving.q, moving.dq, moving.ddq)
        load = link + self.drive.rotor_torque(moving.ddq, self.coefficients)
        columns = self.drive.columns(moving.dq, moving.ddq, load)
        return np.asarray(link + columns @ self.coefficients)

    def smooth(self, recording: Recording) -> Smooth:
        """A recorded motion without gaps as the model sees it."""
        even, notes = regular(recording)
        working = without_delay(decimate(even, RATE_FACTOR * self.cutoff), self.velocity_delay)
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
        late = even.t - self.torque_delay
        predicted = np.stack([np.interp(late, working.t, column)
                              for column in self.torque(moving).T], axis=1)
        speed = np.stack([np.interp(even.t, working.t, column) for column in moving.dq.T], axis=1)
        for ripple in self.ripples:
            predicted[:, ripple.line.torque] += (
                ripple_columns(even.q, speed, ripple.line) @ ripple.coefficients)
        return Prediction(even.t, even.tau, predicted, speed, even.rate, notes)

    def validate(self, recording: Recording) -> TorqueError:
        """Error on a recording within the torque band."""
        return self.predict(recording).filtered(self.cutoff)
