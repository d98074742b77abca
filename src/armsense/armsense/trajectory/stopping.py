"""Coming to rest smoothly: on the checked path, or joint by joint in the shortest time."""

import math

import numpy as np

from armsense.trajectory.combined import TimeScaled
from armsense.trajectory.limits import Limits
from armsense.trajectory.reference import Trajectory
from armsense.types import Array, Reference

SAMPLES = 12          # along a stop on the path, to check its acceleration and jerk
LONGEST_STOP = 2.0    # [s]
GROWTH = 1.1          # the stop found is at most this much longer than the shortest


def stop_on_path(trajectory: Trajectory, t: float, limits: Limits) -> TimeScaled:
    """Shortest smooth-step deceleration along the trajectory that keeps acceleration and jerk.

    The arm stays on the path that was checked. Where the trajectory itself is beyond a limit, its
    own value takes the limit's place.
    """
    speed = np.abs(trajectory.sample(t).dq)
    # On a straight path the smooth step peaks at 1.5 / T and 6 / T^2.
    ramp = max(0.004, float((1.5 * speed / limits.acceleration).max()),
               float(np.sqrt(6.0 * speed / limits.jerk).max()))
    while not _kept(trajectory, t, ramp, limits) and ramp < LONGEST_STOP:
        ramp *= GROWTH
    return _stop(trajectory, t, ramp)


def _stop(trajectory: Trajectory, t: float, ramp: float) -> TimeScaled:
    return TimeScaled(trajectory, start=t, speed_from=1.0, speed_to=0.0, ramp=ramp)


def _kept(trajectory: Trajectory, t: float, ramp: float, limits: Limits) -> bool:
    stop = _stop(trajectory, t, ramp)
    for u in np.linspace(0.0, 0.9999 * ramp, SAMPLES):   # at its end the jerk is gone
        s, v, a, j, _ = stop.scale(float(u))
        _, d1, d2, d3, _, _ = trajectory.sample(s)
        if (np.abs(d2 * v**2 + d1 * a) > np.maximum(limits.acceleration, np.abs(d2))).any():
            return False
        d3 = np.zeros_like(d1) if d3 is None else d3
        jerk = np.abs(d3 * v**3 + 3.0 * d2 * v * a + d1 * j)
        if (jerk > np.maximum(limits.jerk, np.abs(d3))).any():
            return False
    return True


class Brake:
    """Every joint to rest from any motion, in its shortest time within its limits (`Trajectory`).

    Per joint the acceleration runs to its opposing peak, stays there, and returns to zero, each
    with the jerk limit.
    """

    def __init__(self, start: Reference, limits: Limits) -> None:
        self._phases = [
            _brake_phases(float(v), float(a), float(amax), float(jmax))
            for v, a, amax, jmax in zip(start.dq, start.ddq, limits.acceleration, limits.jerk,
                                        strict=True)]
        self._start = start
        self.n = len(self._phases)
        self.duration = max(sum(T for T, _ in phases) for phases in self._phases)

    def sample(self, t: float) -> Reference:
        """The motion at time t [s]; afterwards it rests where it ended."""
        rows = np.array([_advance(phases, q, v, a, max(t, 0.0)) for phases, q, v, a in
                         zip(self._phases, self._start.q, self._start.dq, self._start.ddq,
                             strict=True)]).T   # (4, n)
        return Reference(rows[0], rows[1], rows[2], rows[3])


def _brake_phases(v: float, a: float, amax: float, jmax: float) -> list[tuple[float, float]]:
    """(duration, jerk) of the phases that bring v and a to zero in the shortest time."""
    # Letting the acceleration go at once ends at this velocity; its sign says which way to brake.
    v_free = v + a * abs(a) / (2.0 * jmax)
    sign = -1.0 if v_free > 0.0 else 1.0
    v, a = sign * v, sign * a                          # now brake with positive acceleration
    if abs(v_free) < 1e-12:
        return [(abs(a) / jmax, -math.copysign(jmax, sign * a))]
    peak = math.sqrt(max(0.5 * a * a - v * jmax, 0.0))  # v + (2 peak^2 - a^2) / (2 j) = 0
    if peak <= amax:
        return [((peak - a) / jmax, sign * jmax), (peak / jmax, -sign * jmax)]
    to_limit = (amax - a) / jmax                       # negative: a is beyond the limit
    v_held = v + 0.5 * (a + amax) * abs(to_limit)
    hold = -v_held / amax - amax / (2.0 * jmax)
    return [(abs(to_limit), math.copysign(jmax, to_limit) * sign), (hold, 0.0),
            (amax / jmax, -sign * jmax)]


def _advance(phases: list[tuple[float, float]], q: float, v: float, a: float,
             t: float) -> tuple[float, float, float, float]:
    for T, j in phases:
        s = min(t, T)
        q += v * s + a * s * s / 2 + j * s**3 / 6
        v += a * s + j * s * s / 2
        a += j * s
        if t < T:
            return q, v, a, j
        t -= T
    return q, 0.0, 0.0, 0.0


def approach_speed(distance: Array, acceleration: Array, rate: float) -> Array:
    """Speed at which a joint may come nearer to where it shall stop [rad/s], (n,).

    From there it brakes at its acceleration [rad/s^2], and for the last bit exponentially at a
    rate [1/s], without a jump.
    """
    far = np.maximum(distance - 0.5 * acceleration / rate**2, 0.0)
    fast: Array = np.sqrt(2.0 * np.where(far > 0.0, acceleration, 0.0) * far)
    return np.where(distance * rate**2 > acceleration, fast, rate * distance)


class Pursuit:
    """Leads from one motion to another, which may move, within velocity and acceleration."""

    RATE = 50.0     # [1/s] of the last bit
    SHARE = 0.9     # of the acceleration, in the approach: cycles are not infinitely short

    def __init__(self, start: Reference, limits: Limits) -> None:
        self._q, self._dq = limits.inside(start.q), start.dq
        self._limits = limits
        self._rest = np.zeros(len(start.q))

    def step(self, goal: Reference, dt: float) -> Reference:
        """The motion after dt [s] towards where the other one is."""
        limits, away = self._limits, goal.q - self._q
        rate = min(self.RATE, 1.0 / dt) if dt > 0.0 else self.RATE
        dq = goal.dq + np.sign(away) * approach_speed(
            np.abs(away), self.SHARE * limits.acceleration, rate)
        dq = np.minimum(np.maximum(dq, -limits.velocity), limits.velocity)
        change = limits.acceleration * dt
        dq = np.minimum(np.maximum(dq, self._dq - change), self._dq + change)
        wanted = self._q + 0.5 * (self._dq + dq) * dt
        self._q = limits.inside(wanted)
        self._dq = np.where(self._q == wanted, dq, 0.0)
        return Reference(self._q, self._dq, self._rest)

    @property
    def rests(self) -> bool:
        return not self._dq.any()
