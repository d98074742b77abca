"""Pushes on the hand of laas4 over four 5 kg cells; the joints' torques are not used."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import signal, stats

from armsense.base.base_monitor import BaseMonitor
from armsense.base.cell_layout import CellLayout
from armsense.model import Arm
from armsense.sim import make_plant
from armsense.sim.sensors import CellErrors, SimulatedCells
from armsense.types import Array
from bench.papers.batch_estimation import estimate_batch, FeltMotion
from bench.papers.sensitivity_figure import draw_sensitivity

DT = 1e-3
MISMATCH = 0.05                      # of masses and friction against the arm file
FORCES = (1.0, 2.0, 3.0, 5.0, 10.0)  # [N]
MUST = 5.0                           # [N] has to be found
PUSH, PAUSE, AFTER = 0.15, 0.35, 0.25   # [s]
TEACH, LEARN = 30.0, 120.0           # [s] for parameters, for thresholds
BOUND = 0.95                         # one-sided confidence of the bound on false alarms
FIGURE_POSE = np.array([0.3, 0.6, 0.5, -0.4])   # [rad]
FIGURE_THRESHOLDS = (0.19, 0.21, 0.22)          # [N, Nm, Nm]
ALL = np.ones(4, bool)
SMOOTHING = 41


class Rig:
    """The arm under computed torque between random poses, its encoders and its cells."""

    def __init__(self, seed: int) -> None:
        self.nominal = Arm.load('laas4')
        config = self.nominal.config
        self.plant = make_plant(config, seed=seed, mismatch=MISMATCH)
        self.cells = SimulatedCells(config.load_cells, seed, CellErrors(
            lag=2e-3, plane_bias=1.0, base_mass=0.3, drift=1.0))
        joints = config.joints.values()
        self._counts = np.array([2 * np.pi / (4096 * j.gear_ratio) for j in joints])
        self._viscous = np.array([j.friction.viscous for j in joints])
        self._rng = np.random.default_rng(seed)
        self._home = np.array(config.home)
        self.plant.reset(self._home)
        self._from = self._to = self._home
        self._phase, self._length = 1.0, 1.0

    def cycle(self, moving: bool = True) -> tuple[Array, Array]:
        """One millisecond: encoder angles and cell forces."""
        q_d, dq_d, ddq_d = self._reference(moving)
        state = self.plant.state
        q, dq = state.joint_position, state.joint_velocity
        force = self.cells.step(self.plant.base_wrench, DT)
        a = ddq_d + 40.0 * (dq_d - dq) + 400.0 * (q_d - q)
        self.plant.step(self.nominal.inverse_dynamics(q, dq, a) + self._viscous * dq, DT)
        return np.floor(q / self._counts) * self._counts, force

    def _reference(self, moving: bool) -> tuple[Array, Array, Array]:
        if not moving:
            return self._from, np.zeros(4), np.zeros(4)
        if self._phase >= 1.0:
            self._from = self._to
            self._to = self._home + self._rng.uniform(-1, 1, 4) * [1.5, 0.5, 1.2, 0.8]
            self._length = 1.9 * float(np.abs(self._to - self._from).max()) / 1.5 + 0.3
            self._phase = 0.0
        self._phase += DT / self._length
        s, T = min(self._phase, 1.0), self._length
        span = self._to - self._from
        return (self._from + (10 * s**3 - 15 * s**4 + 6 * s**5) * span,
                (30 * s**2 - 60 * s**3 + 30 * s**4) / T * span,
                (60 * s - 180 * s**2 + 120 * s**3) / T**2 * span)


def measure_laas4(pushes: int, free_minutes: float = 1.5, seed: int = 5) -> dict[str, Any]:
    """Missed pushes, false alarms, delays and the smallest force of which none was missed."""
    rig = Rig(seed)
    monitor = BaseMonitor(_taught(rig))
    for _ in range(600):
        monitor.step(*rig.cycle(moving=False), ALL, DT)
    monitor.record_residuals()
    _run(rig, monitor, LEARN)
    thresholds = monitor.fit_thresholds(rate_per_hour=1.0)
    false = _run(rig, monitor, 60.0 * free_minutes)[0]
    rng = np.random.default_rng(seed)
    delays: dict[float, list[float]] = {}
    for force in FORCES:
        delays[force] = []
        for _ in range(pushes):
            false += _run(rig, monitor, PAUSE)[0]
            delay = _push(rig, monitor, force, rng)
            delays[force] += [] if delay is None else [delay]
    hours = (free_minutes + len(FORCES) * pushes * PAUSE / 60.0) / 60.0
    missed = {force: pushes - len(found) for force, found in delays.items()}
    safe = [force for force in FORCES if all(missed[f] == 0 for f in FORCES if f >= force)]
    return {'collisions': pushes * len(FORCES), 'missed': missed[MUST],
            'pushes_of_5_n': pushes, 'missed_by_force': {f'{f:g} N': n for f, n in missed.items()},
            'min_force_n': min(safe) if safe else None,
            'delay_ms': {f'{f:g} N': _quantiles(found) for f, found in delays.items()},
            'free_hours': round(hours, 3), 'false_alarms': false,
            'false_alarms_per_hour_bound':
                round(float(stats.chi2.ppf(BOUND, 2 * false + 2)) / 2.0 / hours, 2),
            'thresholds': [round(v, 3) for v in thresholds.constant]}


def draw_laas4(path: str) -> None:
    """Which force is found where, with thresholds as `measure_laas4` learns them."""
    model = Arm.load('laas4')
    draw_sensitivity(model, CellLayout.of_config(model.config.load_cells), FIGURE_POSE,
                     FIGURE_THRESHOLDS, path)


def _push(rig: Rig, monitor: BaseMonitor, force: float,
          rng: np.random.Generator) -> float | None:
    """Delay of the detection of a push in a random direction [s]; None: missed."""
    direction = rng.standard_normal(3)
    rig.plant.apply_force('link4', [0.095, 0.0, 0.0],
                          force * direction / np.linalg.norm(direction))
    count, first = _run(rig, monitor, PUSH)
    rig.plant.release()
    _run(rig, monitor, AFTER)
    return first if count else None


def _quantiles(delays: list[float]) -> dict[str, float] | None:
    if not delays:
        return None
    return {name: round(1e3 * float(np.quantile(delays, q)), 1)
            for name, q in (('median', 0.5), ('p90', 0.9), ('p99', 0.99), ('max', 1.0))}


def _taught(rig: Rig) -> Arm:
    """The arm with parameters from its own cells."""
    samples = [rig.cycle() for _ in range(round(TEACH / DT))]
    q, force = (np.array(part) for part in zip(*samples, strict=True))
    layout = BaseMonitor(rig.nominal).layout
    smooth = [signal.savgol_filter(q, SMOOTHING, 3, deriv=d, delta=DT, axis=0) for d in range(3)]
    felt = signal.savgol_filter(force @ layout.collect.T, SMOOTHING, 3, axis=0)
    inner = slice(SMOOTHING, -SMOOTHING, 10)
    return estimate_batch(rig.nominal, layout, FeltMotion(
        smooth[0][inner], smooth[1][inner], smooth[2][inner], felt[inner])).model


def _run(rig: Rig, monitor: BaseMonitor, seconds: float) -> tuple[int, float]:
    """Detections in a time, and when the first came [s]."""
    count, first = 0, 0.0
    for k in range(round(seconds / DT)):
        if monitor.step(*rig.cycle(), ALL, DT).detection is not None:
            count, first = count + 1, first or (k + 1) * DT
    return count, first
