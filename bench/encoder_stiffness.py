"""Stiffness of joints with encoders on both sides of the gear.

The spring twist is what motor and link encoder disagree by, but not all of it is spring:

    theta - q = tau_s / K + T dtheta + b sgn(dtheta) + o + e(q),     tau_s = u tau_m - J ddtheta

T: the two encoders are read T seconds apart. b: friction between motor torque and spring, and
hysteresis of the gear. e(q): eccentric and finely divided encoder scales, waves per turn and per
line. T, b and e belong to the machine, so they are shared by all runs, while each run has its own
offset; K of each run then shows how repeatable the stiffness is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import io, stats

from armsense import schema
from armsense.errors import ArmsenseError, BadValue, UnknownName
from armsense.identify.signals.filters import correlation_factor, low_pass
from armsense.schema import quantity
from armsense.types import Array

CUTOFF = 5.0          # [Hz]
SLOW = 0.2            # share of the typical speed below which static friction hides the torque
SMOOTHING = 0.003     # [rad/s] of the sign
HARMONICS = (1, 2)    # waves per radian of an eccentric scale
LINES = 2             # of the finely divided scale
WAVES = (60.0, 1500.0)   # waves per radian that are searched; fewer is no ripple
BINS = 3              # of the angle per half of the shortest wave


@dataclass(frozen=True)
class EncoderRun:
    """One axis in one run."""

    motor: Array     # motor angle over the gear ratio [rad], (N,)
    link: Array      # link angle [rad], (N,)
    torque: Array    # motor torque times the gear ratio [Nm], (N,)
    rate: float      # [Hz]


@dataclass(frozen=True)
class Stiffness:
    """Joint stiffness with its interval and its spread over the runs."""

    value: float                    # [Nm/rad], all runs together
    interval: tuple[float, float]   # 95 % [Nm/rad]
    runs: Array                     # [Nm/rad] of each run
    delay: float                    # between the encoders [s]
    rms: float                      # of what is left of the twist [rad]

    @property
    def spread_percent(self) -> float:
        """Largest departure of a run from the common value."""
        return float(100.0 * np.abs(self.runs / self.value - 1.0).max())


def identify_stiffness(runs: Sequence[EncoderRun], rotor_inertia: float) -> Stiffness:
    """Stiffness of one axis.

    Args:
        runs: Same axis, any motions.
        rotor_inertia: Of motor and gear on the joint side [kg m^2].
    """
    if not runs:
        raise BadValue('number of runs', 0, '>= 1')
    if rotor_inertia < 0.0:
        raise BadValue('rotor inertia', rotor_inertia, '>= 0 kg m^2')
    waves = _waves(runs)
    parts = [_columns(run, rotor_inertia, waves) for run in runs]
    y = np.concatenate([part.twist for part in parts])
    shared = np.concatenate([part.shared for part in parts])
    load = _per_run([part.load for part in parts])                # (N, runs)
    offset = _per_run([np.ones_like(part.load) for part in parts])
    each, _ = _solve(np.hstack([load, offset, shared]), y)
    all_together = np.hstack([load.sum(axis=1, keepdims=True), shared, offset])
    x, inverse = _solve(all_together, y)
    error = y - all_together @ x
    deviation = np.sqrt(float(error @ error) / (len(y) - len(x)) * correlation_factor(error)
                        * inverse[0, 0])
    reach = stats.norm.ppf(0.975) * deviation
    low, high = x[0] - reach, x[0] + reach
    return Stiffness(1.0 / x[0], (1.0 / high, 1.0 / low if low > 0.0 else np.inf),
                     1.0 / each[:len(runs)], float(x[1]), float(np.sqrt(np.mean(error ** 2))))


@dataclass(frozen=True)
class _Part:
    twist: Array     # (M,)
    load: Array      # (M,)
    shared: Array    # (M, k)


def _columns(run: EncoderRun, inertia: float, waves: Sequence[float]) -> _Part:
    rate = run.rate
    v = np.gradient(run.motor, 1.0 / rate)
    a = np.gradient(low_pass(v, 4.0 * CUTOFF, rate), 1.0 / rate)
    phases = [k * run.motor for k in HARMONICS] + [k * run.link for k in waves]
    shared = np.stack([v, np.tanh(v / SMOOTHING)]
                      + [wave(phase) for phase in phases for wave in (np.cos, np.sin)], axis=1)
    moving = np.abs(v) > SLOW * np.sqrt(np.mean(v * v))
    edge = int(rate / CUTOFF)
    moving[:edge] = moving[-edge:] = False
    if moving.sum() < 10 * shared.shape[1]:
        raise BadValue('moving samples of a run', int(moving.sum()), f'>= {10 * shared.shape[1]}')

    def smooth(x: Array) -> Array:
        return np.asarray(low_pass(x, CUTOFF, rate)[moving])

    return _Part(smooth(run.motor - run.link), smooth(run.torque - inertia * a), smooth(shared))


def _waves(runs: Sequence[EncoderRun]) -> list[float]:
    """Strongest waves per radian of the encoder scale, from the fast part of the twist."""
    found: list[float] = []
    angle = np.concatenate([run.link for run in runs])
    fast = np.concatenate([(d := run.motor - run.link) - low_pass(d, CUTOFF, run.rate)
                           for run in runs])
    for _ in range(LINES):
        wave = find_waves(angle, fast)[0]
        found.append(wave)
        columns = np.stack([np.cos(wave * angle), np.sin(wave * angle)], axis=1)
        fast = fast - columns @ np.linalg.lstsq(columns, fast, rcond=None)[0]
    return found


def _per_run(columns: Sequence[Array]) -> Array:
    """Block diagonal, (N, runs)."""
    out = np.zeros((sum(map(len, columns)), len(columns)))
    row = 0
    for k, column in enumerate(columns):
        out[row:row + len(column), k] = column
        row += len(column)
    return out


def _solve(A: Array, y: Array) -> tuple[Array, Array]:
    """Least squares with balanced columns, and the inverse of A^T A."""
    scale = np.linalg.norm(A, axis=0)
    B = A / np.where(scale > 0.0, scale, 1.0)
    x = np.linalg.lstsq(B, y, rcond=1e-12)[0]
    inverse = np.linalg.pinv(B.T @ B) / np.outer(scale, scale)
    return x / scale, inverse


def find_waves(angle: Array, error: Array,
               span: tuple[float, float] = WAVES) -> tuple[float, float]:
    """Waves per radian of the strongest ripple, and the share of the error's variance it holds.

    The errors are gathered in narrow bins of the angle; the transform of the bins is the spectrum.
    """
    e = error - error.mean()
    width = max(float(np.ptp(angle)), 1e-6)
    bin_width = np.pi / (BINS * span[1])
    place = ((angle - angle.min()) / bin_width).astype(int)
    size = int(2 ** np.ceil(np.log2(4.0 * width / bin_width + 2.0)))
    spectrum = np.fft.rfft(np.bincount(place, e, minlength=size)[:size])
    waves = 2.0 * np.pi * np.arange(len(spectrum)) / (size * bin_width)
    power = 2.0 * np.square(np.abs(spectrum) / len(e))
    power[(waves < span[0]) | (waves > span[1])] = 0.0
    best = int(np.argmax(power))
    return float(waves[best]), float(power[best] / max(np.mean(e * e), 1e-300))


@dataclass(frozen=True, kw_only=True)
class ElasticRobotFile:
    """Where the signals stand, and what the data sheet says of the drives."""

    robot: str
    structure: str
    motor_angle: str
    link_angle: str
    motor_torque: str
    rate: float = quantity(unit='Hz', above=0)
    gear_ratios: tuple[float, ...] = quantity(above=0)
    rotor_inertias: tuple[float, ...] = quantity(unit='kg m^2', low=0)

    @classmethod
    def read(cls, path: str | Path) -> ElasticRobotFile:
        path = Path(path)
        robot = schema.load(cls, schema.read_yaml(path), path.name)
        if len(robot.rotor_inertias) != len(robot.gear_ratios):
            raise BadValue(f'{path.name}: number of rotor inertias', len(robot.rotor_inertias),
                           f'{len(robot.gear_ratios)}, one per gear ratio')
        return robot


def read_runs(path: Path, robot: ElasticRobotFile) -> list[EncoderRun]:
    """One run of every axis."""
    try:
        content = io.loadmat(path, squeeze_me=True, struct_as_record=False)
    except (OSError, ValueError, TypeError) as error:
        raise ArmsenseError(f'cannot read {path}: {error}') from error
    if robot.structure not in content:
        known = [key for key in content if not key.startswith('_')]
        raise UnknownName('structure', robot.structure, known, path.name)
    record: Any = content[robot.structure]
    signals = []
    for name in (robot.motor_angle, robot.link_angle, robot.motor_torque):
        if not hasattr(record, name):
            raise UnknownName('field', name, record._fieldnames, path.name)
        signals.append(np.asarray(getattr(record, name), float))
    motor, link, torque = signals
    return [EncoderRun(np.deg2rad(motor[k]), np.deg2rad(link[k]), u * torque[k], robot.rate)
            for k, u in enumerate(robot.gear_ratios)]


def stiffnesses(files: Sequence[Path], robot: ElasticRobotFile) -> list[Stiffness]:
    """Stiffness of every axis over all runs."""
    runs = [read_runs(path, robot) for path in files]
    return [identify_stiffness([run[k] for run in runs], J * u * u)
            for k, (u, J) in enumerate(zip(robot.gear_ratios, robot.rotor_inertias, strict=True))]
