"""Goals: checked before they are driven, trajectories of waypoints, progress and result."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from armsense.errors import ArmsenseError, BadValue
from armsense.model import Arm
from armsense.task import TaskGoal
from armsense.trajectory import (
    check_motion,
    Clearance,
    Limits,
    QuinticSpline,
    Trajectory,
    Violation,
)
from armsense.trajectory.combined import entered
from armsense.trajectory.tolerances import ErrorCode, ToleranceMonitor, Tolerances
from armsense.types import Array, Press, Reference

START_TOLERANCE = 0.05   # [rad] between a trajectory's first point and where the arm is led
ENTRY_TIME = 0.3         # [s] from the present motion onto a new trajectory
MOST_WAYPOINTS = 20_000  # of a goal


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
        return (not self.active and self.code is ErrorCode.SUCCESSFUL
                and not self.cancelled and not self.preempted)

    def finish(self, code: ErrorCode, text: str, *, cancelled: bool = False,
               preempted: bool = False) -> None:
        self.code, self.text = code, text
        self.cancelled, self.preempted = cancelled, preempted
        self.active = self.suspended = False


class Terms(NamedTuple):
    """What a goal asks for beside its path."""

    tolerances: Tolerances | None = None   # None: those of the configuration
    reaction: str | None = None            # to collisions during it; None: as chosen before
    allow_lasting: bool = False            # drive also while a contact lasts
    press: Press | None = None             # touch something on purpose; the law `force` does it


class Goal:
    """A trajectory with its tolerances."""

    def __init__(self, trajectory: Trajectory, tolerances: Tolerances, joints: tuple[str, ...],
                 status: GoalStatus | None = None, origin: Any = None) -> None:
        """Prepare; whoever drives it begins it. The rest of an interrupted goal has its status.

        `origin` is then (interrupted trajectory, time reached, time of the way back, speed).
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

    def watch(self, t: float, reference: Reference, q: Array) -> None:
        """Progress and tolerances at time t [s] of the trajectory, with the arm at q [rad]."""
        status = self.status
        status.time, status.desired, status.error = t, reference, reference.q - q
        verdict = self._monitor.check(t, status.error)
        if verdict.done:
            status.finish(verdict.code, verdict.text)

    def interrupt(self, t: float) -> tuple[Trajectory, float]:
        """Suspend it at time t [s] after a collision; what was driven, and until when [s]."""
        self.status.suspended = True
        t = min(max(t, 0.0), self.trajectory.duration)
        if self._origin is None:
            return self.trajectory, t
        original, reached, way_back, speed = self._origin
        return original, min(reached + max(t - way_back, 0.0) * speed, original.duration)


class Planner:
    """Serves one thread at a time, which need not be that of the control loop."""

    def __init__(self, model: Arm, limits: Limits, clearance: Clearance,
                 longest: float) -> None:
        """Prepare; `model` may be replaced when the payload changes; longest goal [s]."""
        self.model, self._limits, self._clearance = model, limits, clearance
        self._longest = longest

    def check_length(self, duration: float, waypoints: int = 0) -> None:
        """Refuse what would take too long to plan, before anything is computed."""
        if not duration <= self._longest:
            raise GoalRefused(ErrorCode.INVALID_GOAL, f'the trajectory lasts {duration:g} s; '
                              f'at most {self._longest:g} s (longest_goal)')
        if waypoints > MOST_WAYPOINTS:
            raise GoalRefused(ErrorCode.INVALID_GOAL, f'the trajectory has {waypoints} '
                              f'waypoints; at most {MOST_WAYPOINTS}')

    def check(self, trajectory: Trajectory, now: Reference) -> Trajectory:
        """What will be driven: the trajectory, entered from the present motion; or GoalRefused."""
        model = self.model
        if trajectory.n != model.n:
            raise GoalRefused(ErrorCode.INVALID_JOINTS, f'the trajectory moves {trajectory.n} '
                              f'joints; the arm has {model.n}')
        away = np.abs(trajectory.sample(0.0).q - now.q)
        if away.max() > START_TOLERANCE:
            j = int(away.argmax())
            raise GoalRefused(ErrorCode.INVALID_GOAL, f'the trajectory starts {away[j]:.3f} rad '
                              f'away from where {self._limits.joints[j]} is led '
                              f'(at most {START_TOLERANCE})')
        driven = entered(trajectory, now, ENTRY_TIME)
        found = check_motion(driven, self._limits, model)
        if not found and driven is not trajectory:   # a long entry could hide its end
            found = check_motion(trajectory, self._limits)
        if not found:
            found = self._clearance.check(driven)
        if found:
            raise GoalRefused(ErrorCode.INVALID_GOAL, '; '.join(map(str, found)), found)
        return driven

    def lead_tool(self, goal: TaskGoal, now: Reference) -> Trajectory:
        """Joint motion of a goal for the tool from the present motion on."""
        try:
            trajectory = goal.plan(self.model, self._limits, self._clearance, now)
        except ArmsenseError as error:
            raise GoalRefused(ErrorCode.INVALID_GOAL, str(error)) from error
        self.check_length(trajectory.duration)
        return trajectory

    def join(self, now: Reference, times: ArrayLike, positions: ArrayLike,
             velocities: ArrayLike | None, accelerations: ArrayLike | None) -> QuinticSpline:
        """Spline from the present motion through the waypoints."""
        width = np.shape(positions)[-1] if np.ndim(positions) == 2 else 0
        if width != self.model.n:
            raise GoalRefused(ErrorCode.INVALID_JOINTS, f'the waypoints have {width} joints; '
                              f'the arm has {self.model.n}')
        try:
            return _spline(now, times, positions, velocities, accelerations)
        except ArmsenseError as error:
            raise GoalRefused(ErrorCode.INVALID_GOAL, str(error)) from error


def _spline(now: Reference, times: ArrayLike, positions: ArrayLike, velocities: ArrayLike | None,
            accelerations: ArrayLike | None) -> QuinticSpline:
    t, q = np.asarray(times, float).reshape(-1), np.asarray(positions, float)
    rows = [None if x is None else np.asarray(x, float) for x in (velocities, accelerations)]
    for x in rows:
        if x is not None and x.shape != q.shape:
            raise BadValue('shape of velocities or accelerations', x.shape, str(q.shape))
    if len(t) and t[0] > 0.0:
        t, q = np.concatenate([[0.0], t]), np.vstack([now.q, q])
        rows = [None if x is None else np.vstack([first, x])
                for x, first in zip(rows, (now.dq, now.ddq), strict=True)]
        if rows[0] is None and now.dq.any():   # the present velocity must be met
            free = QuinticSpline(t, q).waypoints[2]
            rows[0] = np.vstack([now.dq, free[1:]])
    return QuinticSpline(t, q, rows[0], rows[1])
