"""One recorded motion: time, positions, velocities and torques of all joints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from armsense.errors import ArmsenseError, BadValue
from armsense.types import Array

LEAST_SAMPLES = 50
EQUATIONS = 5            # per parameter at least
LEAST_MOTION = 0.02      # [rad] or [m]: a joint that moves less tells nothing about its drive


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
