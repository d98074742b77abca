"""How closely a trajectory must be followed, and whether it is."""

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from armsense.errors import BadValue
from armsense.types import Array


class ErrorCode(IntEnum):
    """Results of a trajectory goal; the numbers are those of control_msgs."""

    SUCCESSFUL = 0
    INVALID_GOAL = -1
    INVALID_JOINTS = -2
    OLD_HEADER_TIMESTAMP = -3
    PATH_TOLERANCE_VIOLATED = -4
    GOAL_TOLERANCE_VIOLATED = -5


@dataclass(frozen=True, kw_only=True)
class Tolerances:
    """Largest errors; arrays (n,), zero or infinite: not watched."""

    path: Array               # [rad] during the motion
    goal: Array               # [rad] at its end
    goal_time: float = 1.0    # [s] after the end until the goal must be met; 0: at once

    def __post_init__(self) -> None:
        for name, value in (('path', self.path), ('goal', self.goal),
                            ('goal_time', self.goal_time)):
            if np.isnan(value).any():      # nothing is beyond it: it would watch nothing
                raise BadValue(f'tolerance {name}', np.asarray(value).tolist(), 'a number')


class Verdict(NamedTuple):
    """Result of one check."""

    done: bool
    code: ErrorCode = ErrorCode.SUCCESSFUL
    text: str = ''


RUNNING = Verdict(False)


class ToleranceMonitor:
    """Watches the error of one trajectory."""

    def __init__(self, tolerances: Tolerances, joints: tuple[str, ...], duration: float) -> None:
        self._joints, self._duration = joints, duration
        self._path = np.where(tolerances.path > 0.0, tolerances.path, np.inf)
        self._goal = np.where(tolerances.goal > 0.0, tolerances.goal, np.inf)
        self._goal_time = tolerances.goal_time

    def check(self, t: float, error: Array) -> Verdict:
        """What the tracking error [rad], (n,) at time t [s] of the trajectory means."""
        size = np.abs(error)
        if t < self._duration:
            if (size > self._path).any():
                return self._broken(ErrorCode.PATH_TOLERANCE_VIOLATED, 'path', size, self._path, t)
            return RUNNING
        if (size <= self._goal).all():
            return Verdict(True)
        if t - self._duration > self._goal_time:
            return self._broken(ErrorCode.GOAL_TOLERANCE_VIOLATED, 'goal', size, self._goal, t)
        return RUNNING

    def _broken(self, code: ErrorCode, kind: str, size: Array, limit: Array, t: float) -> Verdict:
        j = int(np.argmax(size / limit))
        return Verdict(True, code, f'{self._joints[j]}: {kind} error {size[j]:.4g} rad at '
                                   f'{t:.3f} s exceeds {limit[j]:.4g} rad')
