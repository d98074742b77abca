"""Training recordings as columns, under a choice of motion filter and drive terms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
import functools

import numpy as np
from numpy.typing import NDArray

from armsense.errors import ArmsenseError
from armsense.identify.estimation.choices import Options, Problem
from armsense.identify.estimation.equations import (
    Columns,
    filtered_columns,
    normal_equations,
    NormalEquations,
    rigid_columns,
    RigidColumns,
    selection,
    thinned,
    with_drive,
    with_torque,
)
from armsense.identify.estimation.wiring import without_shift
from armsense.identify.friction.columns import DriveColumns, TERMS
from armsense.identify.signals.filters import (
    decimate,
    Motion,
    motion,
    resting,
    torque_band,
    velocity_delay,
)
from armsense.identify.signals.methods import average_periods, find_period, METHODS
from armsense.identify.signals.recording import (
    Parts,
    Recording,
    regular,
    shift,
    split_at_gaps,
    without_delay,
    without_glitches,
)
from armsense.model.arm import Arm
from armsense.types import Array

RATE_FACTOR = 20.0     # working rate over torque band
BLOCKS = 8             # of time for cross-validation, over all recordings
SMOOTHING = 0.01       # [rad/s] to begin with
LONGEST = 100.0        # [s] of motion that is used as a whole: 7 joints then take a gigabyte
WINDOW = 20.0          # [s] of the excerpts of more
PERIODS = 3.0          # in a window at least, where a period is looked for in each
STRIBECK = 8.0         # Stribeck velocity over smoothing


@dataclass(frozen=True)
class Training:
    """Recordings on a regular clock."""

    model: Arm
    axes: Array                # drive axes, (k, n)
    even: list[Recording]      # at their own rates
    working: list[Recording]   # thinned
    cutoff: float              # of the torque band [Hz]
    velocity_delay: float      # taken out of the velocities [s]
    notes: tuple[str, ...]
    method: str = 'filter'     # of smoothing the motion
    shift: float = 0.0         # of the torques, taken out [s]
    unused: tuple[Recording, ...] = ()   # windows of long recordings, for the last fit only
    lost: float = 0.0          # in gaps of the recordings [s]

    @classmethod
    def load(cls, recordings: Sequence[Recording], model: Arm,
             options: Options | None = None) -> Training:
        """Regular clocks, glitches bridged, torques moved to the motion, rates reduced."""
        options = options or Options()
        whole = [split_at_gaps(recording) for recording in recordings]
        notes = [note for parts in whole for note in parts.notes]
        if options.preprocess == 'average':    # first: a window may hold less than two periods
            recordings = [mean for parts in whole for mean in _mean_periods(parts, notes)]
        else:
            recordings = [part for parts in whole for part in parts.recordings]
        used, unused, remarks = excerpts(recordings, options.preprocess)
        notes += remarks
        even = used if options.preprocess == 'average' else [_even(r, notes) for r in used]
        even, shift, remarks = without_shift(even, model)
        notes += remarks
        band = options.cutoff or max(torque_band(recording) for recording in even)
        working = [decimate(recording, RATE_FACTOR * band) for recording in even]
        delay = velocity_delay(working, band)
        method = options.preprocess if options.preprocess in METHODS else 'filter'
        return cls(model, np.eye(model.n) if options.axes is None else options.axes, even,
                   [without_delay(recording, delay) for recording in working], band, delay,
                   tuple(notes), method, shift, tuple(unused), sum(p.lost for p in whole))

    def window(self, recording: Recording) -> Training:
        """A further recording under the same choices."""
        even = without_glitches(regular(recording)[0])[0]
        even = replace(even, tau=shift(even.tau, even.t, self.shift))
        working = without_delay(decimate(even, RATE_FACTOR * self.cutoff), self.velocity_delay)
        return replace(self, even=[even], working=[working], unused=(), notes=())

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
        motions = [METHODS[self.method](r, band * self.cutoff, velocity) for r in self.working]
        rigid = [rigid_columns(self.model, m) for m in motions]
        drive = self.drive()
        columns = [filtered_columns(y, drive.columns(m.dq, m.ddq), r.tau, self.cutoff, m.rate)
                   for y, m, r in zip(rigid, motions, self.working, strict=True)]
        return Prepared(self, motions, rigid, columns, drive, velocity, band * self.cutoff)


def _even(recording: Recording, notes: list[str]) -> Recording:
    """On a regular clock, glitches bridged; what was done is added to the notes."""
    for step in (regular, without_glitches):
        recording, remarks = step(recording)
        notes += remarks
    return recording


def _mean_periods(parts: Parts, notes: list[str]) -> list[Recording]:
    """The mean period of every part that holds two of them; there must be one."""
    means: list[Recording] = []
    failed: list[ArmsenseError] = []
    for part in parts.recordings:
        try:
            means.append(average_periods(_even(part, notes)).recording)
        except ArmsenseError as error:
            failed.append(error)
    if not means:
        raise failed[0]
    if failed:
        notes.append(f'{parts.recordings[0].name}: {len(failed)} of {len(parts.recordings)} parts '
                     'between gaps do not hold two periods and are not used')
    return means


def excerpts(recordings: Sequence[Recording], preprocess: str = 'auto',
             ) -> tuple[list[Recording], list[Recording], list[str]]:
    """Evenly spread windows of long recordings for all choices, the other windows, and words.

    The recordings have no gaps. Time and memory of the choices stay bounded; the last fit takes
    the other windows one by one.
    """
    total = sum(float(r.t[-1] - r.t[0]) for r in recordings)
    if total <= LONGEST:
        return list(recordings), [], []
    length = WINDOW
    if preprocess == 'fourier':    # finds its period in every window
        found = [find_period(regular(recording)[0]) or 0.0 for recording in recordings]
        length = max(WINDOW, PERIODS * max(found))
    windows = [window for recording in recordings for window in _windows(recording, length)]
    count = min(len(windows), max(1, int(len(windows) * LONGEST / total)))
    chosen = {int((k + 0.5) * len(windows) / count) for k in range(count)}
    used = [w for k, w in enumerate(windows) if k in chosen]
    unused = [w for k, w in enumerate(windows) if k not in chosen]
    return used, unused, [f'{total:.0f} s: choices rest on {len(used)} windows of {length:.0f} s, '
                          f'the last fit on all {len(windows)}']


def _windows(recording: Recording, length: float) -> list[Recording]:
    """A recording in windows of about `length` [s]."""
    since = recording.t - recording.t[0]
    count = max(1, round(float(since[-1]) / length))
    edges = np.linspace(0.0, float(since[-1]), count + 1)
    rows = np.searchsorted(since, edges)
    return [recording.rows(int(first), int(last))
            for first, last in zip(rows[:-1], rows[1:], strict=True)]


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

    @functools.cached_property
    def rest(self) -> list[NDArray[np.bool_]]:
        """Where joints have stopped, sample by sample of the columns, (N, n) each."""
        return [resting(m)[thinned(len(m.t), self.training.cutoff, m.rate)] for m in self.motions]

    def delayed_recordings(self) -> list[Recording]:
        """Working recordings with the torques moved back to the motion."""
        return [replace(r, tau=shift(r.tau, r.t, self.torque_delay))
                for r in self.training.working]

    def with_delay(self, delay: float) -> Prepared:
        """Torques moved back by a delay behind the motion [s]."""
        columns = [with_torque(c, shift(r.tau, r.t, delay), self.training.cutoff, r.rate)
                   for c, r in zip(self.columns, self.training.working, strict=True)]
        return replace(self, columns=columns, torque_delay=delay)

    def with_load(self, theta: Array, terms: tuple[str, ...], gravity: Array,
                  smoothing: float) -> Prepared:
        """Other smoothing, and load terms from the torques of a first model theta with `terms`."""
        drive = self.training.drive(smoothing)
        pi, coefficients = np.split(theta, [10 * self.training.model.n])
        first = drive.only(terms)
        columns = []
        for c, m, y in zip(self.columns, self.motions, self.rigid, strict=True):
            load = y.torque(pi, gravity) + first.rotor_torque(m.ddq, coefficients)
            columns.append(with_drive(c, drive.columns(m.dq, m.ddq, load), self.training.cutoff,
                                      m.rate))
        return replace(self, columns=columns, drive=drive)

    def with_weights(self, weights: list[Array]) -> Prepared:
        """With other weights of the samples."""
        return replace(self, weights=weights)

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
