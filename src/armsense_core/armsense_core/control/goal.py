"""One trajectory on its way: progress, tolerances, result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from armsense_core.control.types import Array, Reference
from armsense_core.errors import ArmsenseError
from armsense_core.trajectory import (
    entered,
    ErrorCode,
    ToleranceMonitor,
    Tolerances,
    Trajectory,
    Violation,
)

ENTRY_TIME = 0.3   # [s] from the present motion onto a new trajectory


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


class Goal:
    """A trajectory with its clock and tolerances."""

    def __init__(self, trajectory: Trajectory, tolerances: Tolerances, joints: tuple[str, ...],
                 start: float, status: GoalStatus | None = None, origin: Any = None) -> None:
        """Begin.

        Args:
            trajectory: To drive.
            tolerances: To keep.
            joints: Names, for messages.
            start: Time of the controller at which the trajectory begins [s].
            status: Status to go on with, for the rest of an interrupted trajectory.
            origin: (interrupted trajectory, time reached, time of the way back, speed).
        """
        self.tolerances, self._joints = tolerances, joints
        self.status = status or GoalStatus()
        self.status.active, self.status.suspended = True, False
        self._drive(trajectory, start)
        self._origin = origin
        self._watched = True
        self._running = True

    @property
    def active(self) -> bool:
        """There is something to follow (also while stopping)."""
        return self._running

    @property
    def unfinished(self) -> bool:
        """Its result is open: driven or suspended."""
        return self.status.active

    @property
    def suspended(self) -> bool:
        return self.status.suspended

    def begin(self, now: float, present: Reference) -> None:
        """Start the clock; planning took time, so the arm may already be a little further on."""
        self._drive(entered(self.trajectory, present, ENTRY_TIME), now)

    def advance(self, now: float, q: Array) -> Reference:
        """Reference at the controller's time; q: actual positions [rad], (n,)."""
        t = now - self.start
        reference = self.trajectory.sample(t)
        if self._watched:
            self._watch(t, reference, q)
        elif t >= self.trajectory.duration:
            self._running = False
        return reference

    def interrupt(self, now: float) -> tuple[Trajectory, float] | None:
        """Stop driving after a collision; what was driven, and until when [s].

        None: its result is known, it was only coming to rest.
        """
        self._running = False
        if not self.unfinished:
            return None
        self.status.suspended = True
        t = min(max(now - self.start, 0.0), self.trajectory.duration)
        if self._origin is None:
            return self.trajectory, t
        original, reached, way_back, speed = self._origin
        return original, min(reached + max(t - way_back, 0.0) * speed, original.duration)

    def replace(self, trajectory: Trajectory, now: float) -> None:
        """Come to rest along another trajectory; the result does not change any more."""
        self.trajectory, self.start = trajectory, now
        self._watched, self._running = False, True

    def finish(self, code: ErrorCode, text: str, *, cancelled: bool = False,
               preempted: bool = False) -> None:
        """Set the result."""
        status = self.status
        status.code, status.text = code, text
        status.cancelled, status.preempted = cancelled, preempted
        status.active = status.suspended = False
        self._running = False

    def _drive(self, trajectory: Trajectory, start: float) -> None:
        self.trajectory, self.start = trajectory, start
        self.status.duration = trajectory.duration
        self._monitor = ToleranceMonitor(self.tolerances, self._joints, trajectory.duration)

    def _watch(self, t: float, reference: Reference, q: Array) -> None:
        status = self.status
        status.time, status.desired, status.error = t, reference, reference.q - q
        verdict = self._monitor.check(t, status.error)
        if verdict.done:
            self.finish(verdict.code, verdict.text)
