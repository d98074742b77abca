"""One recorded motion: time, positions, velocities and torques of all joints; its holes.

A filter, a derivative or a mean period over a hole would take the straight line between its edges
for motion and fit it. So a recording is taken apart there, before anything else is done to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from armsense.errors import ArmsenseError, BadValue
from armsense.types import Array

LEAST_SAMPLES = 50
EQUATIONS = 5            # per parameter at least
LEAST_MOTION = 0.02      # [rad] or [m]: a joint that moves less tells nothing about its drive
GAP = 0.04               # [s] without a sample: longer than jitter, and
GAP_PERIODS = 4.0        # median periods at least
LEAST_PART = 1.2         # [s] between two gaps: filters settle at both ends of a part


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
        return self._cut(np.arange(first, last))

    def between(self, start: float, end: float) -> Recording:
        """Samples of a time window that counts from the first sample [s]."""
        since = self.t - self.t[0]
        keep = np.flatnonzero((since >= start) & (since < end))
        if not len(keep):
            raise BadValue(f'{self.name}: window', (start, end), f'within 0 and {since[-1]:.2f} s')
        return self._cut(keep)

    def _cut(self, keep: NDArray[np.intp]) -> Recording:
        return replace(self, t=self.t[keep], q=self.q[keep], tau=self.tau[keep],
                       dq=None if self.dq is None else self.dq[keep])


def check_excited(recordings: Sequence[Recording], joint_names: Sequence[str]) -> None:
    """Raise where a joint never moves: its friction and rotor cannot be identified."""
    travel = np.max([np.ptp(r.q, axis=0) for r in recordings], axis=0)
    still = [name for name, way in zip(joint_names, travel, strict=True) if way < LEAST_MOTION]
    if still:
        raise ArmsenseError(
            f'{recordings[0].name}: {", ".join(still)} moves less than {LEAST_MOTION} rad; '
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
    """The stretches of a recording that were sampled without a gap.

    Raises:
        ArmsenseError: None of them is long enough.
    """
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
