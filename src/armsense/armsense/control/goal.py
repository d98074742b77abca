"""One trajectory on its way: progress, tolerances, result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from armsense.errors import ArmsenseError
from armsense.trajectory import (
    ErrorCode,
    ToleranceMonitor,
    Tolerances,
    Trajectory,
    Violation,
)
from armsense.types import Array, Reference


class GoalRefused(ArmsenseError):
    """A goal that will not be driven, and why."""

    def __init__(self, code: ErrorCode, text: str,
                 violations: list[Violation] | None = None) -> None:
        super().__init__(text)
        self.code = code
        self.violations = violations or []


@dataclass
class GoalStatus:
    """What an action server tells its client; written by the loop, read by anyone."""

    active: bool = True
    suspended: bool = False                   # a collision interrupted it; it will go on
    cancelled: bool = False
    preempted: bool = False
    code: ErrorCode = ErrorCode.SUCCESSFUL
    text: str = ''
    time: float = 0.0                         # [s] driven
    duration: float = 0.0                     # [s]
    desired: Reference | None = None
    error: Array | None = None                # [rad] desired - actual, (n,)

    @property
    def progress(self) -> float:
        """0 to 1."""
        return min(1.0, self.time / self.duration) if self.duration > 0.0 else 1.0

    @property
    def succeeded(self) -> bool:
        """Ended at the goal."""
        return (not self.active and self.code is ErrorCode.SUCCESSFUL
                and not self.cancelled and not self.preempted)

    def finish(self, code: ErrorCode, text: str, *, cancelled: bool = False,
               preempted: bool = False) -> None:
        """Set the result."""
        self.code, self.text = code, text
        self.cancelled, self.preempted = cancelled, preempted
        self.active = self.suspended = False


class Terms(NamedTuple):
    """What a goal asks for beside its path."""

    tolerances: Tolerances | None = None   # None: those of the configuration
    reaction: str | None = None            # to collisions during it; None: as chosen before
    allow_lasting: bool = False            # drive also while a contact lasts


class Goal:
    """A trajectory with its tolerances."""

    def __init__(self, trajectory: Trajectory, tolerances: Tolerances, joints: tuple[str, ...],
                 status: GoalStatus | None = None, origin: Any = None) -> None:
        """Prepare; whoever drives it begins it.

        Args:
            trajectory: To drive.
            tolerances: To keep.
            joints: Names, for messages.
            status: To write; that of an interrupted trajectory for the rest of it.
            origin: (interrupted trajectory, time reached, time of the way back, speed).
        """
        self.trajectory, self.tolerances = trajectory, tolerances
        self.status = status or GoalStatus()
        self.status.duration = trajectory.duration
        self._monitor = ToleranceMonitor(tolerances, joints, trajectory.duration)
        self._origin = origin

    @property
    def unfinished(self) -> bool:
        """Its result is open: driven or suspended."""
        return self.status.active

    @property
    def suspended(self) -> bool:
        return self.status.suspended

    def watch(self, t: float, reference: Reference, q: Array) -> None:
        """Progress and tolerances at time t [s] of the trajectory, with the arm at q [rad]."""
        status = self.status
        status.time, status.desired, status.error = t, reference, reference.q - q
        verdict = self._monitor.check(t, status.error)
        if verdict.done:
            self.finish(verdict.code, verdict.text)

    def interrupt(self, t: float) -> tuple[Trajectory, float]:
        """Suspend it at time t [s] after a collision; what was driven, and until when [s]."""
        self.status.suspended = True
        t = min(max(t, 0.0), self.trajectory.duration)
        if self._origin is None:
            return self.trajectory, t
        original, reached, way_back, speed = self._origin
        return original, min(reached + max(t - way_back, 0.0) * speed, original.duration)

    def finish(self, code: ErrorCode, text: str, *, cancelled: bool = False,
               preempted: bool = False) -> None:
        """Set the result."""
        self.status.finish(code, text, cancelled=cancelled, preempted=preempted)
