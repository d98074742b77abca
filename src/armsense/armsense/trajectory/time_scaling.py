"""The same path at another speed: resume slowly, stop on the path, drive it backwards."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from armsense.errors import BadValue
from armsense.trajectory.reference import Trajectory
from armsense.types import Reference


class TimeScaled:
    """A trajectory whose own time s(t) changes its speed smoothly from one value to another.

    The speed ds/dt runs from `speed_from` to `speed_to` within `ramp` along 3 u^2 - 2 u^3 and
    then stays, so velocity and acceleration of the joints are continuous. Negative speeds drive
    the path backwards.
    """

    def __init__(self, trajectory: Trajectory, *, start: float, speed_from: float, speed_to: float,
                 ramp: float, duration: float | None = None) -> None:
        """Scale a trajectory.

        Args:
            trajectory: The path and its nominal speed.
            start: Time of the trajectory where this motion begins [s].
            speed_from: ds/dt at the beginning.
            speed_to: ds/dt after the ramp.
            ramp: [s] > 0.
            duration: [s]; None: until the end of the trajectory (or its beginning, backwards).
        """
        if ramp <= 0.0:
            raise BadValue('ramp of a time scaling', ramp, '> 0 s')
        self._inner = trajectory
        self._start, self._v0, self._v1, self._ramp = start, speed_from, speed_to, ramp
        self._end_of_ramp = start + 0.5 * ramp * (speed_from + speed_to)
        self._duration = self._time_to_end() if duration is None else duration

    @property
    def duration(self) -> float:
        return self._duration

    @property
    def n(self) -> int:
        return self._inner.n

    def path_time(self, t: float) -> float:
        """Time s of the inner trajectory at time t [s]."""
        return self.scale(min(max(t, 0.0), self._duration))[0]

    def sample(self, t: float) -> Reference:
        """The motion at time t [s]; before and after it rests at its ends."""
        if not 0.0 <= t <= self._duration:
            return Reference.at_rest(self._inner.sample(self.path_time(t)).q)
        s, v, a, j, p = self.scale(t)
        if v == 1.0 and a == 0.0:
            return self._inner.sample(s)
        q, d1, d2, d3, d4, _ = self._inner.sample(s)
        d3 = np.zeros_like(q) if d3 is None else d3
        d4 = np.zeros_like(q) if d4 is None else d4
        return Reference(
            q, d1 * v, d2 * v**2 + d1 * a, d3 * v**3 + 3 * d2 * v * a + d1 * j,
            d4 * v**4 + 6 * d3 * v**2 * a + d2 * (3 * a**2 + 4 * v * j) + d1 * p)

    def scale(self, t: float) -> tuple[float, float, float, float, float]:
        """Path time s and its four derivatives at time t."""
        T, change = self._ramp, self._v1 - self._v0
        if t >= T:
            return self._end_of_ramp + self._v1 * (t - T), self._v1, 0.0, 0.0, 0.0
        u = t / T
        return (self._start + self._v0 * t + change * T * (u**3 - 0.5 * u**4),
                self._v0 + change * (3 * u**2 - 2 * u**3),
                change * 6 * (u - u**2) / T,
                change * 6 * (1 - 2 * u) / T**2,
                -12 * change / T**3)

    def _time_to_end(self) -> float:
        if self._v1 == 0.0:
            return self._ramp
        goal = self._inner.duration if self._v1 > 0.0 else 0.0
        beyond = (goal - self._end_of_ramp) / self._v1
        if beyond < 0.0:   # the ramp alone passes the end: shorten nothing, stop where it passes
            times = np.linspace(0.0, self._ramp, 1001)
            passed = [t for t in times if (self.scale(t)[0] - goal) * self._v1 >= 0.0]
            return float(passed[0])
        return self._ramp + beyond


class Chain:
    """Trajectories one after the other (`Trajectory`)."""

    def __init__(self, parts: Sequence[Trajectory]) -> None:
        if not parts:
            raise BadValue('number of parts of a chain', 0, 'at least 1')
        self._parts = list(parts)
        self._starts = np.concatenate([[0.0], np.cumsum([p.duration for p in parts])]).tolist()

    @property
    def duration(self) -> float:
        return float(self._starts[-1])

    @property
    def n(self) -> int:
        return self._parts[0].n

    def sample(self, t: float) -> Reference:
        """The motion at time t [s]."""
        for part, start, end in zip(self._parts, self._starts, self._starts[1:], strict=False):
            if t < end:
                return part.sample(t - start)
        return self._parts[-1].sample(t - self._starts[-2])


def ramped(trajectory: Trajectory, *, ramp: float, speed: float = 1.0,
           start: float = 0.0) -> Chain:
    """From `start` to the end at `speed`, at rest at both ends whatever the trajectory does there.

    The ramps are shortened where the way is too short for two of them.
    """
    way = trajectory.duration - start
    if way <= 0.0 or speed <= 0.0:
        raise BadValue('way and speed of a ramped motion', (way, speed), '> 0')
    ramp = min(ramp, 0.99 * way / speed)             # both ramps together use ramp * speed of it
    cruise = way / speed - ramp
    up = TimeScaled(trajectory, start=start, speed_from=0.0, speed_to=speed, ramp=ramp,
                    duration=ramp + cruise)
    down = TimeScaled(trajectory, start=trajectory.duration - 0.5 * ramp * speed,
                      speed_from=speed, speed_to=0.0, ramp=ramp)
    return Chain([up, down])
