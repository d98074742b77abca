"""One recorded motion: time, positions, velocities and torques of all joints; its holes and clock.

A filter, a derivative or a mean period over a hole would take the straight line between its edges
for motion and fit it. So a recording is taken apart there, before anything else is done to it.
A glitch is a sample that leaves and rejoins the motion at once; it is replaced by what lies
between its neighbours, because filters and derivatives would spread it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from armsense.errors import ArmsenseError, BadValue
from armsense.types import Array

LEAST_SAMPLES = 50
EQUATIONS = 5            # per parameter at least
LEAST_MOTION = 0.02      # [rad] or [m]: a joint that moves less tells nothing about its drive
GAP = 0.04               # [s] without a sample: longer than jitter, and
GAP_PERIODS = 4.0        # median periods at least
LEAST_PART = 1.2         # [s] between two gaps: filters settle at both ends of a part
RESTS_WITHIN = 0.005     # [rad] an arm that goes no further stands
LEAST_REST = 0.5         # [s] at an end of a recording that is worth cutting off
MARGIN = 0.2             # [s] of it that stays
JITTER = 0.02            # share of the period from which stamps count as jittery
WHOLE = 0.1              # share of a period within which a step counts as whole periods
LEAST_SIMILAR = 0.98     # correlation of the motion with itself one period later
GLITCH = 40.0        # typical second differences from which a sample is a glitch
LEAST_GLITCH = 1e-4  # [rad]


@dataclass(frozen=True)
class Recording:
    """Samples in the order of the joints; checked when made."""

    t: Array                 # [s], (N,), never falling
    q: Array                 # [rad], (N, n)
    tau: Array               # link-side torque of the drives [Nm], (N, n)
    dq: Array | None = None  # measured velocity [rad/s], (N, n)
    name: str = 'recording'

    def __post_init__(self) -> None:
        if self.q.ndim != 2 or self.q.shape[0] != len(self.t):
            raise BadValue(f'{self.name}: shape of the positions', self.q.shape,
                           f'({len(self.t)}, joints)')
        for what, values in (('torques', self.tau), ('velocities', self.dq)):
            if values is not None and values.shape != self.q.shape:
                raise BadValue(f'{self.name}: shape of the {what}', values.shape,
                               f'{self.q.shape}, as the positions')
        for what, values in (('time', self.t), ('positions', self.q), ('torques', self.tau),
                             ('velocities', self.dq)):
            if values is not None and not np.isfinite(values).all():
                row = int(np.argwhere(~np.isfinite(values))[0][0])
                raise BadValue(f'{self.name}: {what} in sample {row}', 'nan or inf', 'finite')
        if len(self.t) < LEAST_SAMPLES:
            raise BadValue(f'{self.name}: number of samples', len(self.t), f'>= {LEAST_SAMPLES}')
        back = np.flatnonzero(np.diff(self.t) < 0.0)
        if len(back):
            row = int(back[0]) + 1
            raise BadValue(f'{self.name}: time of sample {row}', round(float(self.t[row]), 6),
                           f'>= {self.t[row - 1]:.6g} s, that of the sample before; are two '
                           'recordings in one file?')
        if self.t[-1] <= self.t[0]:
            raise BadValue(f'{self.name}: duration', float(self.t[-1] - self.t[0]), '> 0 s')

    @property
    def n(self) -> int:
        return int(self.q.shape[1])

    @property
    def rate(self) -> float:
        """Median sampling rate [Hz]."""
        steps = np.diff(self.t)
        return float(1.0 / np.median(steps[steps > 0.0]))

    def rows(self, first: int, last: int) -> Recording:
        """Samples first to last - 1."""
        if not 0 <= first < last <= len(self.t):
            raise BadValue(f'{self.name}: rows', (first, last),
                           f'within 0 and {len(self.t)}, increasing')
        return self.mapped(self.t[first:last], lambda x: x[first:last])

    def between(self, start: float, end: float) -> Recording:
        """Samples of a time window that counts from the first sample [s]."""
        since = self.t - self.t[0]
        keep = np.flatnonzero((since >= start) & (since < end))
        if not len(keep):
            raise BadValue(f'{self.name}: window', (start, end), f'within 0 and {since[-1]:.2f} s')
        return self.mapped(self.t[keep], lambda x: x[keep])

    def mapped(self, t: Array, change: Callable[[Array], Array]) -> Recording:
        """At other times, all columns changed alike."""
        return replace(self, t=t, q=change(self.q), tau=change(self.tau),
                       dq=None if self.dq is None else change(self.dq))


def check_excited(recordings: Sequence[Recording], joint_names: Sequence[str]) -> None:
    """Raise where a joint never moves: its friction and rotor cannot be identified."""
    travel = np.max([np.ptp(r.q, axis=0) for r in recordings], axis=0)
    still = [name for name, way in zip(joint_names, travel, strict=True) if way < LEAST_MOTION]
    if still:
        raise ArmsenseError(
            f'{recordings[0].name}: {", ".join(still)} {"move" if still[1:] else "moves"} less '
            f'than {LEAST_MOTION} rad; '
            'record a motion of every joint or leave the joint out of the robot file')
    force = np.max([np.ptp(r.tau, axis=0) for r in recordings], axis=0)
    silent = [name for name, change in zip(joint_names, force, strict=True) if change <= 0.0]
    if silent:
        raise ArmsenseError(f'{recordings[0].name}: the torque of {", ".join(silent)} never '
                            'changes; is the right column or topic given?')


def check_enough(recordings: Sequence[Recording], parameters: int) -> None:
    """Raise where there are fewer samples than parameters could ever be told from."""
    samples = sum(len(r.t) for r in recordings)
    equations = samples * recordings[0].n
    if equations < EQUATIONS * parameters:
        raise BadValue(f'{recordings[0].name}: number of samples', samples,
                       f'>= {-(-EQUATIONS * parameters // recordings[0].n)} for {parameters} '
                       'parameters; record longer')


class Parts(NamedTuple):
    """A recording without its gaps."""

    recordings: list[Recording]
    lost: float               # [s] of the recording that none of them holds
    notes: tuple[str, ...]    # what was done in words; empty: the recording is whole


def split_at_gaps(recording: Recording) -> Parts:
    """The stretches without a gap that are long enough to be of use; there must be one."""
    steps = np.diff(recording.t)
    period = float(np.median(steps[steps > 0.0]))
    gaps = np.flatnonzero(steps > max(GAP, GAP_PERIODS * period)) + 1
    if not len(gaps):
        return Parts([recording], 0.0, ())
    edges = [0, *gaps.tolist(), len(recording.t)]
    least = LEAST_PART / period
    parts = [recording.rows(first, last)
             for first, last in zip(edges[:-1], edges[1:], strict=True)
             if last - first > max(least, 1.2 * LEAST_SAMPLES)]
    if not parts:
        raise ArmsenseError(
            f'{recording.name}: {len(gaps)} gaps of up to {steps.max():.2g} s leave no stretch of '
            f'{max(LEAST_PART, 1.2 * LEAST_SAMPLES * period):.2g} s; record without pauses')
    whole = float(recording.t[-1] - recording.t[0])
    lost = whole - sum(float(part.t[-1] - part.t[0]) for part in parts)
    return Parts(parts, lost, (
        f'{recording.name}: {lost:.2f} s of {whole:.2f} s are lost in {len(gaps)} '
        f'gap{"s" if len(gaps) > 1 else ""} of up to {steps.max():.2g} s and in stretches that '
        f'are too short; {len(parts)} parts are used',))


def without_rest(recording: Recording) -> tuple[Recording, list[str]]:
    """Cut where the arm stands before and after the motion, and what was done in words.

    Friction may hold a resting joint with any torque: no model predicts it.
    """
    moved = np.abs(recording.q - recording.q[0]).max(axis=1) > RESTS_WITHIN
    left = np.abs(recording.q - recording.q[-1]).max(axis=1) > RESTS_WITHIN
    if not moved.any():
        return recording, []
    t = recording.t
    begin, end = t[int(np.argmax(moved))] - t[0], t[len(t) - 1 - int(np.argmax(left[::-1]))] - t[0]
    rest = [begin if begin > LEAST_REST else 0.0,
            float(t[-1] - t[0]) - end if t[-1] - t[0] - end > LEAST_REST else 0.0]
    if not any(rest):
        return recording, []
    whole = float(t[-1] - t[0])
    cut = recording.between(max(rest[0] - MARGIN, 0.0), whole - max(rest[1] - MARGIN, 0.0) + 1e-9)
    return cut, [f'{recording.name}: {rest[0]:.1f} s of rest before and {rest[1]:.1f} s after the '
                 'motion are cut off']


def repair_stamps(recording: Recording) -> tuple[Recording, str]:
    """A clock that agrees with the motion, where stamps came too late to tell; what was done.

    Between two samples the positions advance by velocity times the true period. Where that period
    is always a whole number of controller periods (0: a sample was read twice), the samples were
    taken regularly and only stamped irregularly: the whole numbers are the better clock.
    """
    if recording.dq is None:
        return recording, ''
    steps = np.diff(recording.t)
    if np.std(steps) < JITTER * np.median(steps):
        return recording, ''
    mean = 0.5 * (recording.dq[1:] + recording.dq[:-1])
    energy = np.sum(mean * mean, axis=1)
    moving = energy > 0.02 * np.median(energy)
    if moving.mean() < 0.5:
        return recording, ''
    true = np.sum(np.diff(recording.q, axis=0) * mean, axis=1) / np.maximum(energy, 1e-12)
    period = float(np.median(true[moving]))
    count = np.maximum(np.rint(np.where(moving, true, steps) / max(period, 1e-9)), 0.0)
    period = float((recording.t[-1] - recording.t[0]) / max(count.sum(), 1.0))
    off = np.abs(true / period - count)[moving]
    if np.quantile(off, 0.9) > WHOLE:
        return recording, ''
    t = recording.t[0] + period * np.concatenate([[0.0], np.cumsum(count)])
    keep = np.concatenate([[True], count > 0.0])
    note = (f'{recording.name}: stamps jitter by {1e3 * np.std(steps):.2f} ms; the motion shows a '
            f'period of {1e3 * period:.3f} ms with {int((count == 0.0).sum())} samples read twice '
            f'and {int((count > 1.0).sum())} gaps')
    return recording.mapped(t[keep], lambda x: x[keep]), note


def regular(recording: Recording) -> tuple[Recording, list[str]]:
    """The recording on a regular clock of its own median rate, and what was done in words."""
    recording, note = repair_stamps(recording)
    notes = [note] if note else []
    steps = np.diff(recording.t)
    period = float(np.median(steps[steps > 0.0]))
    if np.abs(steps - period).max() < 1e-3 * period:
        return recording, notes
    if not note and np.std(steps) > JITTER * period:
        notes.append(f'{recording.name}: steps of {1e3 * steps.min():.1f} to '
                     f'{1e3 * steps.max():.1f} ms resampled to {1e3 * period:.3f} ms')
    rising = np.concatenate([[True], steps > 0.0])
    t = np.arange(recording.t[0], recording.t[-1], period)
    return recording.mapped(
        t, lambda x: _interpolate(t, recording.t[rising], x[rising])), notes


def without_glitches(recording: Recording) -> tuple[Recording, list[str]]:
    """The recording with glitches of positions and torques bridged, and what was done in words."""
    q, bad_q = _bridged(recording.q, LEAST_GLITCH)
    tau, bad_tau = _bridged(recording.tau, 1e-3 * float(np.ptp(recording.tau)))
    notes = [f'{recording.name}: {count} glitches of the {what} are bridged'
             for what, count in (('positions', bad_q), ('torques', bad_tau)) if count]
    return (replace(recording, q=q, tau=tau) if notes else recording), notes


def _bridged(x: Array, least: float) -> tuple[Array, int]:
    out, count = x, 0
    for k, column in enumerate(x.T):
        bend = np.zeros(len(column))
        bend[1:-1] = column[1:-1] - 0.5 * (column[2:] + column[:-2])
        typical = np.quantile(np.abs(bend), 0.9)
        bad = np.abs(bend) > max(GLITCH * typical, least)
        # Neighbours of a glitch bend half as much to the other side: only the peak is bad.
        bad[1:-1] &= (np.abs(bend[1:-1]) >= np.abs(bend[2:])) & (
            np.abs(bend[1:-1]) >= np.abs(bend[:-2]))
        bad[1:-1] &= (bend[1:-1] * bend[2:] < 0.0) & (bend[1:-1] * bend[:-2] < 0.0)
        if bad.any():
            out = out.copy() if out is x else out
            good = np.flatnonzero(~bad)
            out[bad, k] = np.interp(np.flatnonzero(bad), good, column[good])
            count += int(bad.sum())
    return out, count


def without_delay(recording: Recording, delay: float) -> Recording:
    """The recording with its velocities moved back by a delay [s]."""
    if recording.dq is None or delay == 0.0:
        return recording
    return replace(recording, dq=shift(recording.dq, recording.t, delay))


def shift(x: Array, t: Array, delay: float) -> Array:
    """x(t + delay): takes a delay out of the columns, (N, n)."""
    return x if delay == 0.0 else _interpolate(t + delay, t, x)


def _interpolate(t: Array, at: Array, x: Array) -> Array:
    return np.stack([np.interp(t, at, column) for column in x.T], axis=1)


def find_period(recording: Recording) -> float | None:
    """Period of a regular recording [s]; None: the motion does not repeat."""
    q = recording.q - recording.q.mean(axis=0)
    q = q / np.maximum(q.std(axis=0), 1e-9)
    N = len(q)
    spectrum = np.abs(np.fft.rfft(q, 2 * N, axis=0)) ** 2
    product = np.fft.irfft(spectrum, axis=0)[:N].sum(axis=1)
    energy = np.concatenate([[0.0], np.cumsum(np.square(q).sum(axis=1))])
    lags = np.arange(1, N // 2 + 1)
    both = np.sqrt(energy[N - lags] * (energy[N] - energy[lags]))
    score = product[lags] / np.maximum(both, 1e-300)
    below = np.flatnonzero(score < 0.5)
    if not len(below):
        return None
    late = score[below[0]:]
    if not len(late) or late.max() < LEAST_SIMILAR:
        return None
    # The first peak as high as the highest: multiples of the period fit as well.
    peaks = np.flatnonzero(late >= late.max() - 0.5 * (1.0 - LEAST_SIMILAR))
    start = below[0] + peaks[0]
    end = start + 1
    while end < len(score) and score[end] > score[end - 1]:
        end += 1
    return float((lags[end - 1] + _vertex(score, end - 1)) / recording.rate)


def _vertex(score: Array, k: int) -> float:
    """Peak between the samples."""
    if not 0 < k < len(score) - 1:
        return 0.0
    left, top, right = score[k - 1:k + 2]
    bend = left - 2.0 * top + right
    return float(0.5 * (left - right) / bend) if bend < 0.0 else 0.0
