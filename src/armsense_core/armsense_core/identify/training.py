"""Training recordings as columns, under a choice of motion filter and drive terms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
import functools

import numpy as np

from armsense_core.identify.design import (
    Columns,
    filtered_columns,
    normal_equations,
    NormalEquations,
    rigid_columns,
    RigidColumns,
    selection,
    with_drive,
    with_torque,
)
from armsense_core.identify.friction_columns import DriveColumns, TERMS
from armsense_core.identify.model_selection import Problem
from armsense_core.identify.preprocess import (
    decimate,
    Motion,
    motion,
    regular,
    shift,
    torque_band,
    velocity_delay,
    without_delay,
)
from armsense_core.identify.recording import Array, Recording
from armsense_core.model.arm_model import ArmModel

RATE_FACTOR = 20.0     # working rate over torque band
BLOCKS = 8             # of time for cross-validation, over all recordings
SMOOTHING = 0.01       # [rad/s] to begin with
LONGEST = 300.0        # [s] of motion that is used as a whole
WINDOW = 20.0          # [s] of the excerpts of more
STRIBECK = 8.0         # Stribeck velocity over smoothing


@dataclass(frozen=True)
class Training:
    """Recordings on a regular clock."""

    model: ArmModel
    axes: Array                # drive axes, (k, n)
    even: list[Recording]      # at their own rates
    working: list[Recording]   # thinned
    cutoff: float              # of the torque band [Hz]
    velocity_delay: float      # taken out of the velocities [s]
    notes: tuple[str, ...]

    @classmethod
    def load(cls, recordings: Sequence[Recording], model: ArmModel, axes: Array | None = None,
             cutoff: float | None = None) -> Training:
        pairs = [regular(recording) for recording in recordings]
        even, remark = excerpts([recording for recording, _ in pairs])
        band = cutoff or max(torque_band(recording) for recording in even)
        working = [decimate(recording, RATE_FACTOR * band) for recording in even]
        delay = velocity_delay(working, band)
        return cls(model, np.eye(model.n) if axes is None else axes, even,
                   [without_delay(recording, delay) for recording in working], band, delay,
                   (*(note for _, notes in pairs for note in notes), *remark))

    @property
    def measured_velocity(self) -> bool:
        return all(recording.dq is not None for recording in self.working)

    @functools.cached_property
    def top_speed(self) -> Array:
        """Of the drive axes [rad/s], (k,)."""
        speeds = [np.abs(motion(recording, self.cutoff).dq @ self.axes.T).max(axis=0)
                  for recording in self.working]
        return np.asarray(np.max(speeds, axis=0))

    def drive(self, smoothing: float = SMOOTHING) -> DriveColumns:
        """Drive columns of all terms."""
        return DriveColumns(self.axes, TERMS, smoothing, STRIBECK * smoothing)

    def prepare(self, velocity: str, band: float) -> Prepared:
        """Columns under a motion filter of `band` times the torque band, without load terms."""
        motions = [motion(r, band * self.cutoff, velocity) for r in self.working]
        rigid = [rigid_columns(self.model, m) for m in motions]
        drive = self.drive()
        columns = [filtered_columns(y, drive.columns(m.dq, m.ddq), r.tau, self.cutoff, m.rate)
                   for y, m, r in zip(rigid, motions, self.working, strict=True)]
        return Prepared(self, motions, rigid, columns, drive, velocity, band * self.cutoff)


def excerpts(recordings: list[Recording]) -> tuple[list[Recording], list[str]]:
    """Evenly spread windows of long recordings, so that time and memory stay bounded."""
    total = sum(float(r.t[-1] - r.t[0]) for r in recordings)
    if total <= LONGEST:
        return recordings, []
    parts = []
    for recording in recordings:
        length = float(recording.t[-1] - recording.t[0])
        count = max(1, round(LONGEST * length / total / WINDOW))
        window = min(WINDOW, length)
        parts += [recording.between(start, start + window)
                  for start in np.linspace(0.0, length - window, count)]
    return parts, [f'of {total:.0f} s, {len(parts)} windows of {WINDOW:.0f} s are used']


@dataclass(frozen=True)
class Prepared:
    """Columns of all terms under one motion filter."""

    training: Training
    motions: list[Motion]
    rigid: list[RigidColumns]
    columns: list[Columns]
    drive: DriveColumns
    velocity: str
    motion_cutoff: float                # [Hz]
    weights: list[Array] | None = None  # of the samples against outliers, (N, n) each
    torque_delay: float = 0.0           # taken out of the torques [s]

    def with_delay(self, delay: float) -> Prepared:
        """Torques moved back by a delay behind the motion [s]."""
        columns = [with_torque(c, shift(r.tau, r.t, delay), self.training.cutoff, r.rate)
                   for c, r in zip(self.columns, self.training.working, strict=True)]
        return replace(self, columns=columns, torque_delay=delay)

    def with_load(self, parameters: Array, gravity: Array, smoothing: float) -> Prepared:
        """Other smoothing, and load terms from the link torques of a first model."""
        drive = self.training.drive(smoothing)
        columns = [
            with_drive(c, drive.columns(m.dq, m.ddq, y.torque(parameters, gravity)),
                       self.training.cutoff, m.rate)
            for c, m, y in zip(self.columns, self.motions, self.rigid, strict=True)]
        return replace(self, columns=columns, drive=drive)

    def equations(self, blocks: int | None = None) -> NormalEquations:
        """Normal equations in blocks of time; None: for cross-validation."""
        count = blocks or max(2, round(BLOCKS / len(self.columns)))
        return normal_equations(self.columns, count, self.weights)

    def problem(self, gravity: Array, noise: Array) -> Problem:
        """Model selection under a gravity."""
        equations = self.equations().select(gravity, np.arange(self.drive.count))
        return Problem(equations, self.training.model.parameters, self.drive, noise)

    def errors(self, theta: Array, gravity: Array, terms: tuple[str, ...]) -> list[Array]:
        """Torque errors in the band, (N, n) per recording [Nm]."""
        T = selection(self.training.model.n, self.columns[0].A.shape[2], gravity,
                      self.drive.places(terms))
        return [c.y - c.A @ (T @ theta) for c in self.columns]
