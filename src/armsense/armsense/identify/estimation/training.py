"""Training recordings: on one clock, in windows.

Torques of another clock: for every shift they are fitted by the columns of links and drives; the
shift that leaves least is the one. With an orthonormal basis Q of the columns the fit is a
product, |tau|^2 - |Q^T tau|^2, and all shifts at once are a correlation. Only coarse shifts are
found here; what is left of them (milliseconds) is decided by cross-validation later.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import signal

from armsense.errors import ArmsenseError
from armsense.identify.estimation.feasible import MASS_FACTORS
from armsense.identify.friction.columns import DriveColumns, TERMS
from armsense.identify.signals.filters import (
    decimate,
    low_pass,
    motion,
    torque_band,
    velocity_delay,
)
from armsense.identify.signals.methods import average_periods, METHODS
from armsense.identify.signals.recording import (
    find_period,
    Parts,
    Recording,
    regular,
    shift,
    split_at_gaps,
    without_delay,
    without_glitches,
)
from armsense.model.arm import Arm
from armsense.schema import check_known
from armsense.types import Array

# How positions become smooth velocities and accelerations; `average` averages periods first.
PREPROCESSING = ('auto', 'filter', 'spectral', 'fourier', 'spline', 'average')
ESTIMATORS = ('consistent', 'ols', 'wls', 'huber', 'ridge', 'iv', 'ml', 'recursive')
RATE_FACTOR = 20.0     # working rate over torque band
LONGEST = 100.0        # [s] of motion that is used as a whole: 7 joints then take a gigabyte
WINDOW = 20.0          # [s] of the excerpts of more
PERIODS = 3.0          # in a window at least, where a period is looked for in each
AUDIBLE = 2.0        # torque over noise of its sensor: below, nothing can be explained
LEAST_SHIFT = 0.03        # [s] smaller shifts are left to the fine search
LONGEST_SHIFT = 2.0       # [s]
SHIFT_SHARE = 0.125       # of the recording that a shift may cost at most
SHIFT_GAIN = 0.5          # of the squared error that must be left at most, against no shift
SHIFT_RATE = 50.0         # [Hz]
SHIFT_TERMS = ('viscous', 'coulomb', 'inertia', 'offset')


@dataclass(frozen=True)
class Options:
    """Choices of an identification; None and `auto` leave them to the data."""

    gravity: Array | None = None           # [m/s^2] in the base frame
    axes: Array | None = None              # drive axes, (k, n); None: one drive per joint
    cutoff: float | None = None            # of the torque band [Hz]; None: from the motion
    mass_factors: tuple[float, float] = MASS_FACTORS
    total_mass: tuple[float, float] | None = None   # [kg]
    preprocess: str = 'auto'
    estimator: str = 'consistent'
    terms: tuple[str, ...] | None = None   # of the drives; None: by cross-validation

    def __post_init__(self) -> None:
        check_known('preprocess', self.preprocess, PREPROCESSING)
        check_known('estimator', self.estimator, ESTIMATORS)
        for term in self.terms or ():
            check_known('drive term', term, TERMS)


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
             options: Options) -> Training:
        """Regular clocks, glitches bridged, torques moved to the motion, rates reduced."""
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


def without_shift(recordings: Sequence[Recording],
                  model: Arm) -> tuple[list[Recording], float, list[str]]:
    """Torques moved to the motion where the shift is clear; the shift [s]; words."""
    delay = find_shift(max(recordings, key=lambda r: len(r.t)), model)
    if abs(delay) < LEAST_SHIFT:
        return list(recordings), 0.0, []
    moved = [replace(r, tau=shift(r.tau, r.t, delay)) for r in recordings]
    return moved, delay, [f'the torques are {1e3 * delay:.0f} ms later than the motion: moved']


def find_shift(recording: Recording, model: Arm) -> float:
    """Delay of the torques behind the motion [s]; 0 where none is clear."""
    small = decimate(recording, SHIFT_RATE)
    band = torque_band(small)
    reach = int(min(LONGEST_SHIFT * small.rate, SHIFT_SHARE * len(small.t)))
    moving = motion(small, band)
    N, n = small.q.shape
    Y = model.torque_regressor_batch(moving.q, moving.dq, moving.ddq).reshape(N, n, -1)
    drive = DriveColumns(np.eye(n), SHIFT_TERMS)
    columns = np.concatenate([Y, drive.columns(moving.dq, moving.ddq)], axis=2)
    tau = low_pass(small.tau, band, small.rate)
    left = np.zeros(2 * reach + 1)
    for joint in range(n):
        left += _left_over(columns[reach:N - reach, joint], tau[:, joint])
    best = int(np.argmin(left))
    if left[best] > SHIFT_GAIN * left[reach]:
        return 0.0
    return float((best - reach) / small.rate)


def _left_over(X: Array, tau: Array) -> Array:
    """Share of the torque that a fit leaves at each shift, (len(tau) - len(X) + 1,)."""
    busy = np.flatnonzero(np.any(X, axis=0))
    scaled = X[:, busy] / np.linalg.norm(X[:, busy], axis=0)
    U, s, _ = np.linalg.svd(scaled, full_matrices=False)
    Q = U[:, s > 1e-6 * s[0]]
    products = signal.fftconvolve(tau[:, None], Q[::-1], mode='valid', axes=0)    # (shifts, r)
    energy = np.convolve(np.square(tau), np.ones(len(X)), mode='valid')
    return np.asarray(1.0 - np.sum(np.square(products), axis=1) / np.maximum(energy, 1e-300))


def sensor_noise(recordings: Sequence[Recording], cutoff: float) -> Array:
    """RMS noise of the torques within the band [Hz], as dense as above it [Nm], (n,)."""
    noise = np.zeros(recordings[0].n)
    for r in recordings:
        above = max(0.5 * r.rate - cutoff, 1e-9)
        rough = r.tau - low_pass(r.tau, cutoff, r.rate)
        noise += np.sum(np.square(rough), axis=0) * min(cutoff / above, 1.0)
    return np.asarray(np.sqrt(noise / sum(len(r.t) for r in recordings)))


def silent_joints(recordings: Sequence[Recording], expected: Array, cutoff: float) -> Array:
    """Joints whose torque, measured and expected, drowns in the noise of its sensor, bool (n,).

    Expected is the RMS of what the nominal masses need [Nm], (n,), in a band [Hz].
    """
    smooth = np.concatenate([low_pass(r.tau, cutoff, r.rate) for r in recordings])
    loudest = np.maximum(np.sqrt(np.mean(np.square(smooth), axis=0)), expected)
    return np.asarray(loudest < AUDIBLE * sensor_noise(recordings, cutoff))
