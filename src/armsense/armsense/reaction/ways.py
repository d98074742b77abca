"""Ways that a reaction plans: back along what was just driven, and off a contact."""

from collections import deque

import numpy as np

from armsense.reaction.options import ReactionOptions
from armsense.trajectory import Chain, Limits, QuinticSpline, ramped
from armsense.trajectory.quintic_spline import PEAK_VELOCITY, shortest_duration, SHORTEST_SEGMENT
from armsense.types import Array, Reference

SPACING = 0.02   # [s] between remembered samples
RAMP = 0.1       # [s] shortest, in which the way back becomes as fast as it is
ROOM = 0.25      # of the acceleration, at least left to start and stop
SMALLEST_WAY = 1e-4   # [rad] worth moving for, off a contact


class PathMemory:
    """Remembers (time, q, dq, ddq) of the reference at even spacing; at rest time stands still."""

    def __init__(self, seconds: float) -> None:
        self._samples: deque[tuple[float, Reference]] = deque(
            maxlen=max(2, round(seconds / SPACING)))
        self._time = 0.0
        self._newest: Reference | None = None   # of the last cycle

    def clear(self) -> None:
        self._samples.clear()
        self._newest = None

    def record(self, reference: Reference, dt: float) -> None:
        """Remember the reference of this cycle, if it moves."""
        if self._newest is not None:
            if not reference.dq.any() and not self._newest.dq.any():   # rest is no path
                return
            self._time += dt
        self._newest = reference
        if not self._samples or self._time - self._samples[-1][0] >= SPACING:
            self._samples.append((self._time, reference))

    def backwards(self, speed: float, limits: Limits) -> Chain | None:
        """The remembered path from its end to its beginning, at rest at both; None: no path.

        At a fraction of the speed that was driven, less where the path is so short that the arm
        could not start and stop on it.
        """
        rows = list(reversed(self._samples))
        # From the very end: back to the last sample would be a jump.
        if rows and self._newest is not None and self._time - rows[0][0] > SHORTEST_SEGMENT:
            rows.insert(0, (self._time, self._newest))
        if len(rows) < 2:
            return None
        dq, ddq = (np.abs([getattr(r, name) for _, r in rows]).max(axis=0)
                   for name in ('dq', 'ddq'))
        way = rows[0][0] - rows[-1][0]                                   # [s]
        # The smooth step of `ramped` peaks at 1.5 speed / ramp; the path's own acceleration stays.
        room = np.maximum(limits.acceleration - speed**2 * ddq, ROOM * limits.acceleration)
        fast = np.maximum(dq, 1e-9)
        speed = min(speed, float(np.sqrt(0.6 * room * way / fast).min()))
        ramp = max(RAMP, float((1.5 * speed * dq / room).max()))
        spline = QuinticSpline([rows[0][0] - t for t, _ in rows],
                               np.array([r.q for _, r in rows]),
                               np.array([-r.dq for _, r in rows]),
                               np.array([r.ddq for _, r in rows]))
        return ramped(spline, ramp=ramp, speed=speed)


def way_to_clearance(here: Array, contact: Array, impulse: Array, options: ReactionOptions,
                     limits: Limits) -> QuinticSpline | None:
    """Off in the direction in which the contact pushed, gently; None: far enough already.

    From where the arm holds [rad], away from where it was hit [rad], along the impulse [Nm s],
    (n,).
    """
    size = float(np.linalg.norm(impulse))
    if size == 0.0:
        return None
    push = impulse / size
    missing = options.clearance - float(push @ (here - contact))
    goal = limits.inside(here + max(missing, 0.0) * push)
    way = float(np.abs(goal - here).max())
    if way < SMALLEST_WAY:
        return None
    rest = np.zeros((2, len(goal)))
    duration = max(PEAK_VELOCITY * way / options.clearance_speed,
                   shortest_duration(goal - here, limits))
    return QuinticSpline([0.0, duration], [here, goal], rest, rest)
