"""Pushes on the hand of laas4 over four 5 kg cells; the joints' torques are not used."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import signal

from armsense_core.base import estimate_batch, FeltMotion
from armsense_core.base.base_monitor import BaseMonitor
from armsense_core.model import ArmModel
from armsense_sim import make_plant
from armsense_sim.load_cell_sensors import CellErrors, SimulatedCells

Array = NDArray[np.float64]

DT = 1e-3
MISMATCH = 0.05                      # of masses and friction against the arm file
FORCES = (1.0, 2.0, 3.0, 5.0)        # [N]
PUSH, PAUSE = 0.15, 0.35             # [s]
TEACH, LEARN, FREE = 30.0, 60.0, 90.0   # [s] for parameters, for thresholds, for false alarms
ALL = np.ones(4, bool)
SMOOTHING = 41


class Rig:
    """The arm under computed torque between random poses, its encoders and its cells."""

    def __init__(self, seed: int) -> None:
        self.nominal = ArmModel.load('laas4')
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


def measure_laas4(pushes: int, seed: int = 5) -> dict[str, Any]:
    """Missed pushes, false alarms and the smallest force of which none was missed."""
    rig = Rig(seed)
    monitor = BaseMonitor(_taught(rig))
    for _ in range(600):
        monitor.step(*rig.cycle(moving=False), ALL, DT)
    monitor.record_residuals()
    for _ in range(round(LEARN / DT)):
        monitor.step(*rig.cycle(), ALL, DT)
    thresholds = monitor.fit_thresholds(rate_per_hour=1.0)
    rng = np.random.default_rng(seed)
    false, minutes, latencies = _run(rig, monitor, FREE)[0], FREE / 60.0, []
    missed: dict[float, int] = {}
    for force in FORCES:
        missed[force] = 0
        for _ in range(pushes):
            false += _run(rig, monitor, PAUSE)[0]
            minutes += PAUSE / 60.0
            direction = rng.standard_normal(3)
            rig.plant.apply_force('link4', [0.095, 0.0, 0.0],
                                  force * direction / np.linalg.norm(direction))
            count, first = _run(rig, monitor, PUSH)
            missed[force] += count == 0
            latencies += [first] if count and force == FORCES[-1] else []
            rig.plant.release()
            _run(rig, monitor, 0.25)
    found = [force for force in FORCES if all(missed[f] == 0 for f in FORCES if f >= force)]
    return {'missed': missed[5.0], 'pushes': pushes, 'false_alarms': false,
            'free_minutes': round(minutes, 2), 'min_force_n': min(found) if found else None,
            'missed_by_force': {f'{f:g} N': n for f, n in missed.items()},
            'latency_ms': round(1e3 * float(np.median(latencies)), 1) if latencies else None,
            'thresholds': [round(v, 3) for v in thresholds.constant]}


def _taught(rig: Rig) -> ArmModel:
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
