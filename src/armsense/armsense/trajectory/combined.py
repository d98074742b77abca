"""Trajectories made of others: at another speed, one after the other, entered from a motion."""

from collections.abc import Sequence

import numpy as np

from armsense.errors import BadValue
from armsense.trajectory.quintic_spline import QuinticSpline
from armsense.trajectory.reference import sample_at, Samples, Trajectory
from armsense.types import Array, Reference


class TimeScaled:
    """A trajectory whose own time s(t) changes its speed smoothly from one value to another.

    The speed ds/dt runs from `speed_from` to `speed_to` within `ramp` along 3 u^2 - 2 u^3 and
    then stays, so velocity and acceleration of the joints are continuous. Negative speeds drive
    the path backwards.
    """

    def __init__(self, trajectory: Trajectory, *, start: float, speed_from: float, speed_to: float,
                 ramp: float, duration: float | None = None) -> None:
        """Begin at a time of the trajectory [s], for a duration; None: to its end (or begin).

        The speed ds/dt changes within the ramp [s], > 0.
        """
        if ramp <= 0.0:
            raise BadValue('ramp of a time scaling', ramp, '> 0 s')
        self._inner, self.n = trajectory, trajectory.n
        self._start, self._v0, self._v1, self._ramp = start, speed_from, speed_to, ramp
        self._end_of_ramp = start + 0.5 * ramp * (speed_from + speed_to)
        self.duration = self._time_to_end() if duration is None else duration

    def path_time(self, t: float) -> float:
        """Time s of the inner trajectory at time t [s]."""
        return self.scale(min(max(t, 0.0), self.duration))[0]

    def sample(self, t: float) -> Reference:
        """The motion at time t [s]; before and after it rests at its ends."""
        if not 0.0 <= t <= self.duration:
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
        self.duration, self.n = float(self._starts[-1]), parts[0].n

    def sample(self, t: float) -> Reference:
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


class Blended:
    """A trajectory plus the present distance from it, which fades away smoothly (`Trajectory`).

    Position, velocity and acceleration are continuous at the beginning.
    """

    def __init__(self, trajectory: Trajectory, present: Reference, duration: float) -> None:
        """Begin at the present motion and be on the trajectory `duration` seconds later.

        Also of a shorter trajectory: a faster fade would be a jump.
        """
        self._inner, self._fade = trajectory, duration
        self.duration, self.n = max(trajectory.duration, duration), trajectory.n
        first = trajectory.sample(0.0)
        rows = [np.array([now - there, np.zeros_like(there)])
                for now, there in zip(present[:3], first[:3], strict=True)]
        self._offset = QuinticSpline([0.0, self._fade], *rows)

    def sample(self, t: float) -> Reference:
        now = self._inner.sample(t)
        if t >= self._fade:
            return now
        offset = self._offset.sample(t)
        return Reference(now.q + offset.q, now.dq + offset.dq, now.ddq + offset.ddq,
                         _sum(now.jerk, offset.jerk), _sum(now.snap, offset.snap))

    def sample_many(self, times: Array) -> Samples:
        """The motion at times within it [s], (N,)."""
        inner = sample_at(self._inner, np.minimum(times, self._inner.duration))
        still = np.flatnonzero(times > self._inner.duration)             # it rests there
        for values in inner[2:]:
            values[still] = 0.0
        fading = np.flatnonzero(times < self._fade)
        for values, offset in zip(inner[1:], self._offset.sample_many(times[fading])[1:],
                                  strict=True):
            values[fading] += offset
        return inner._replace(t=times)


def entered(trajectory: Trajectory, present: Reference, duration: float) -> Trajectory:
    """The trajectory from the present motion on; as it is where it begins with just that."""
    first = trajectory.sample(0.0)
    if all(np.array_equal(a, b) for a, b in zip(present[:3], first[:3], strict=True)):
        return trajectory
    return Blended(trajectory, present, duration)


def _sum(a: Array | None, b: Array | None) -> Array | None:
    return a if b is None else b if a is None else a + b
