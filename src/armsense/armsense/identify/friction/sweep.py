"""Friction bench test: each joint alone, at constant velocities, both ways (thesis 004, 4.3).

At constant velocity nothing is accelerated, and on the same stretch of angles gravity pulls as
much on the way there as on the way back, so that half the difference of the mean torques is
friction. Straight lines through these points give what table 4.3 of the thesis lists:

    tau_motor = b_eq omega_motor + f k_g sgn(omega_motor),     k_g = 1 / gear ratio.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import stats

from armsense import schema
from armsense.errors import ArmsenseError, BadValue
from armsense.identify.signals.filters import correlation_factor
from armsense.identify.signals.recording import Recording
from armsense.model import Arm
from armsense.model.arm_source import ArmSource
from armsense.schema import quantity
from armsense.trajectory import check_motion, Clearance, Limits, QuinticSpline
from armsense.types import Array

KIND = 'friction_sweep'
FORMAT = 1
RAMP = 0.4              # [s] from rest to the cruising speed, at least
PAUSE = 0.2             # [s] at every end
SETTLE = 0.15           # [s] left out at both ends of a cruise
LEAST_CRUISE = 0.3      # [s] of a cruise that counts
LONGEST_CRUISE = 1.2    # [s]
RAMP_PEAK = 1.5         # acceleration of the ramp's quintic times its duration over the speed
NORMAL_95 = float(stats.norm.ppf(0.975))


class Cruise(NamedTuple):
    """A stretch at constant velocity."""

    joint: int
    speed: float     # [rad/s], with sign
    begin: float     # [s] after the start of the motion
    end: float       # [s]


@dataclass(frozen=True, kw_only=True)
class FrictionSweep:
    """Content of a `friction.yaml`: what to drive, which `excite run` understands."""

    format: int
    kind: str = quantity(choices=(KIND,))
    arm: str
    joints: tuple[str, ...]
    pose: tuple[float, ...] = quantity(unit='rad', text='of the joints that rest')
    lower: tuple[float, ...] = quantity(unit='rad', text='ends of the strokes')
    upper: tuple[float, ...] = quantity(unit='rad')
    speeds: dict[str, tuple[float, ...]] = quantity(unit='rad/s')
    arm_file: ArmSource | None = None   # of an arm that no name stands for

    @classmethod
    def plan(cls, model: Arm, count: int = 4, stroke: float = 2.0,
             use: float = 0.5) -> FrictionSweep:
        """Strokes about the home pose, shortened until nothing is touched.

        So many speeds per joint, evenly spaced in their logarithm, the fastest a share (`use`) of
        the limit or less where the stroke [rad] is too short.
        """
        if count < 2:
            raise BadValue('number of speeds', count, '>= 2: two unknowns per joint')
        limits = Limits.of(model)
        home = (np.array(model.config.home) if model.config and model.config.home
                else 0.5 * (limits.lower + limits.upper))
        clearance = Clearance(model, floor=0.0, self_distance=0.01)
        ends = [_free_stroke(clearance, limits, home, k, stroke) for k in range(model.n)]
        speeds = {}
        for k, name in enumerate(model.joint_names):
            way = ends[k][1] - ends[k][0]
            top = min(use * float(limits.velocity[k]), way / (RAMP + 2 * SETTLE + LEAST_CRUISE),
                      0.95 * RAMP * float(limits.acceleration[k]) / RAMP_PEAK)
            values = np.geomspace(0.1 * top, top, count)
            speeds[name] = tuple(float(f'{v:.3g}') for v in values)
        sweep = cls(format=FORMAT, kind=KIND, arm=model.name,
                    arm_file=ArmSource.of(model.config), joints=model.joint_names,
                    pose=tuple(home.tolist()), lower=tuple(a for a, _ in ends),
                    upper=tuple(b for _, b in ends), speeds=speeds)
        broken = check_motion(sweep.trajectory(), limits, model, step=0.02)
        if broken:
            raise ArmsenseError(f'no friction sweep keeps the limits: {broken[0]}')
        return sweep

    @classmethod
    def read(cls, path: str | Path, arm: str | None = None) -> FrictionSweep:
        """Read and check; with `arm`, a file of another arm is an error."""
        return schema.read_arm_file(cls, path, 'a motion', FORMAT, arm)

    def write(self, path: str | Path) -> None:
        schema.write_yaml(self, Path(path))

    @property
    def start(self) -> tuple[float, ...]:
        """Where the motion begins and ends [rad]."""
        return self.pose

    def trajectory(self, periods: int = 1) -> QuinticSpline:
        """The motion, so many times."""
        if periods != 1:
            raise BadValue('periods of a friction sweep', periods, '1')
        return self._motion[0]

    @property
    def cruises(self) -> list[Cruise]:
        """In order of time, forth and back in turn."""
        return self._motion[1]

    @cached_property
    def _motion(self) -> tuple[QuinticSpline, list[Cruise]]:
        builder = _Builder(np.array(self.pose))
        for k, name in enumerate(self.joints):
            builder.move(k, self.lower[k])
            for speed in self.speeds[name]:
                builder.stroke(k, self.upper[k], speed)
            builder.move(k, self.pose[k])
        return builder.spline(), builder.cruises


class _Builder:
    """Collects waypoints of the strokes."""

    def __init__(self, pose: Array) -> None:
        self._rows: list[tuple[float, Array, Array]] = [(0.0, pose, np.zeros(len(pose)))]
        self.cruises: list[Cruise] = []

    def move(self, joint: int, goal: float) -> None:
        """To the beginning of the strokes, and home."""
        way = abs(goal - self._rows[-1][1][joint])
        if way > 1e-6:
            self._add(max(1.0, 3.0 * way), _with(self._rows[-1][1], joint, goal))
        self._add(PAUSE, self._rows[-1][1])

    def stroke(self, joint: int, upper: float, speed: float) -> None:
        """At constant speed towards the upper end and back; slow ones cover a part of the way."""
        lower = self._rows[-1][1][joint]
        ramp = 0.5 * speed * RAMP
        end = min(upper, lower + 2 * ramp + speed * LONGEST_CRUISE)
        self._cruise(joint, end, speed, ramp)
        self._cruise(joint, lower, -speed, -ramp)

    def _cruise(self, joint: int, goal: float, speed: float, ramp: float) -> None:
        t, q, _ = self._rows[-1]
        moving = _with(np.zeros(len(q)), joint, speed)
        seconds = (goal - q[joint] - 2 * ramp) / speed
        self._add(RAMP, _with(q, joint, q[joint] + ramp), moving)
        self._add(seconds, _with(q, joint, goal - ramp), moving)
        begin = float(t + RAMP)
        self.cruises.append(Cruise(joint, speed, begin, begin + float(seconds)))
        self._add(RAMP, _with(q, joint, goal))
        self._add(PAUSE, self._rows[-1][1])

    def _add(self, seconds: float, q: Array, dq: Array | None = None) -> None:
        self._rows.append((self._rows[-1][0] + seconds, q, np.zeros(len(q)) if dq is None else dq))

    def spline(self) -> QuinticSpline:
        times, q, dq = zip(*self._rows, strict=True)
        return QuinticSpline(times, np.array(q), np.array(dq), np.zeros((len(q), len(q[0]))))


def _with(values: Array, place: int, value: float) -> Array:
    out = np.array(values, float)
    out[place] = value
    return out


def _free_stroke(clearance: Clearance, limits: Limits, home: Array, joint: int,
                 stroke: float) -> tuple[float, float]:
    """The longest stroke about home that touches neither limits, floor nor the arm itself."""
    for share in np.linspace(1.0, 0.1, 10):
        middle, half = home[joint], 0.5 * share * stroke
        low = max(middle - half, 0.95 * float(limits.lower[joint]))
        high = min(middle + half, 0.95 * float(limits.upper[joint]))
        if all(_free(clearance, _with(home, joint, x)) for x in np.linspace(low, high, 15)):
            return round(float(low), 4), round(float(high), 4)
    raise ArmsenseError(f'{limits.joints[joint]}: no room for a stroke about the home pose')


def _free(clearance: Clearance, q: Array) -> bool:
    above = clearance.floor is None or clearance.lowest_point(q)[0] >= clearance.floor
    return above and clearance.smallest_distance(q)[0] >= clearance.self_distance


@dataclass(frozen=True)
class JointFriction:
    """Friction of one joint on the joint side, and the points that it rests on."""

    joint: str
    speeds: Array                        # [rad/s], (m,)
    torques: Array                       # at these speeds [Nm], (m,)
    viscous: float                       # [Nm s/rad]
    coulomb: float                       # [Nm]
    viscous_interval: tuple[float, float]   # 95 %
    coulomb_interval: tuple[float, float]   # 95 %
    rms: float                           # of the points about the line [Nm]

    def motor_viscous(self, gear_ratio: float) -> float:
        """b_eq of the thesis, on the motor side [Nm s/rad]."""
        return self.viscous / gear_ratio**2


def evaluate_sweep(sweep: FrictionSweep, recording: Recording,
                   start: float) -> list[JointFriction]:
    """Friction of every joint, from a recording in which the sweep began at a stamp [s]."""
    if recording.n != len(sweep.joints):
        raise BadValue(f'{recording.name}: number of joints', recording.n, f'{len(sweep.joints)}')
    pairs = list(zip(sweep.cruises[::2], sweep.cruises[1::2], strict=True))
    out = []
    for k, name in enumerate(sweep.joints):
        points = [_point(recording, start, forth, back) for forth, back in pairs
                  if forth.joint == k]
        out.append(_line(name, np.array([forth.speed for forth, _ in pairs if forth.joint == k]),
                         points))
    return out


def _point(recording: Recording, start: float, forth: Cruise,
           back: Cruise) -> tuple[float, float]:
    """Friction at one speed and its standard deviation [Nm]."""
    there, here = (_samples(recording, start, cruise) for cruise in (forth, back))
    low = max(there[0].min(), here[0].min())
    high = min(there[0].max(), here[0].max())
    means, variances = [], []
    for q, tau in (there, here):
        part = tau[(q >= low) & (q <= high)]
        if len(part) < 10:
            raise ArmsenseError(f'{recording.name}: the way back at {forth.speed:.3g} rad/s does '
                                'not cover the way there; did the arm follow?')
        means.append(part.mean())
        # Gravity changes along the stroke; noise is what differs from sample to sample.
        noise = part - np.polyval(np.polyfit(np.arange(len(part)), part, 3), np.arange(len(part)))
        variances.append(noise.var() * correlation_factor(noise) / len(part))
    return 0.5 * (means[0] - means[1]), 0.5 * float(np.sqrt(sum(variances)))


def _samples(recording: Recording, start: float, cruise: Cruise) -> tuple[Array, Array]:
    """Angles and torques of the joint in a cruise, without its ends."""
    since = recording.t - start
    keep = (since > cruise.begin + SETTLE) & (since < cruise.end - SETTLE)
    if keep.sum() < 10:
        raise ArmsenseError(f'{recording.name} holds {int(keep.sum())} samples of the stroke at '
                            f'{cruise.speed:.3g} rad/s that began {cruise.begin:.1f} s after the '
                            'start; was the whole motion recorded?')
    return recording.q[keep, cruise.joint], recording.tau[keep, cruise.joint]


def _line(joint: str, speeds: Array, points: Sequence[tuple[float, float]]) -> JointFriction:
    """Weighted straight line with intervals from noise and scatter, whichever is larger."""
    torques, sigma = (np.array(column) for column in zip(*points, strict=True))
    A = np.stack([speeds, np.ones_like(speeds)], axis=1)
    weight = 1.0 / np.maximum(sigma, 1e-9)
    x, *_ = np.linalg.lstsq(A * weight[:, None], torques * weight, rcond=None)
    left = torques - A @ x
    freedom = max(len(speeds) - 2, 1)
    scatter = max(1.0, float(np.sum(np.square(left * weight))) / freedom)
    covariance = scatter * np.linalg.inv((A * weight[:, None] ** 2).T @ A)
    half = NORMAL_95 * np.sqrt(np.diag(covariance))   # the noise is known from many samples
    viscous, coulomb = (float(v) for v in x)
    return JointFriction(
        joint, speeds, torques, viscous, coulomb,
        (viscous - float(half[0]), viscous + float(half[0])),
        (coulomb - float(half[1]), coulomb + float(half[1])),
        float(np.sqrt(np.mean(np.square(left)))))
