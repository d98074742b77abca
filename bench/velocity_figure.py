"""Figure: what each way from encoder counts to velocity costs in delay and noise."""

from __future__ import annotations

from collections.abc import Callable
import math
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
import numpy as np

from bench.velocity_filters import BackwardDifference, KalmanVelocity, Regression, VelocityFilter

PERIOD = 1e-3                  # [s]
STEP = 2.0 * math.pi / 4096    # [rad] of the encoder
SECONDS = 1.5
SPEED = 1.0                    # [rad/s] largest
FAMILIES: dict[str, tuple[str, tuple[float, ...], Callable[[float], VelocityFilter]]] = {
    'backward difference, low pass': (
        'ms', (0.0, 2.0, 5.0, 10.0, 20.0),
        lambda x: BackwardDifference(1, PERIOD, 1e-3 * x)),
    'weighted regression, line': (
        'samples', (4, 8, 12, 20, 30, 60, 90),
        lambda x: Regression(1, int(x), PERIOD)),
    'weighted regression, parabola': (
        'samples', (8, 12, 20, 30, 60, 90),
        lambda x: Regression(1, int(x), PERIOD, degree=2)),
    'Kalman': (
        'rad/s^2.5', (1e4, 3e3, 1e3, 300.0, 100.0),
        lambda x: KalmanVelocity(1, PERIOD, STEP / math.sqrt(12.0), x)),
}
SHOWN = (('backward difference, low pass', 0.0), ('weighted regression, line', 30),
         ('Kalman', 300.0))


def draw(path: Path) -> list[dict[str, Any]]:
    """Write a PNG and give its numbers: delay of half a sudden change, noise of a move."""
    time, position, velocity = move()
    figure = Figure(figsize=(10, 4), layout='constrained')
    left, right = figure.subplots(1, 2)
    rows = _trade(right, position, velocity)
    for name, size in SHOWN:
        unit, _, make = FAMILIES[name]
        left.plot(time, run(make(size), position), lw=0.7, label=f'{name} ({size:g} {unit})')
    left.plot(time, velocity, 'k', lw=1.2, label='true')
    left.set(xlabel='time [s]', ylabel='velocity [rad/s]', xlim=(0.6, 0.8), ylim=(-1.8, 3.0),
             title='a turning joint seen by 4096 counts at 1 kHz')
    left.legend(fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    return rows


def _trade(axes: Axes, position: np.ndarray, velocity: np.ndarray) -> list[dict[str, Any]]:
    rows = []
    for name, (unit, sizes, make) in FAMILIES.items():
        points = []
        for size in sizes:
            costs = make(size).characteristics()
            points.append((1e3 * costs.half_response,
                           noise(run(make(size), position), velocity, costs.delay)))
            rows.append({'filter': name, 'size': size, 'unit': unit, 'delay_ms': points[-1][0],
                         'noise_rad_s': points[-1][1]})
        line, = axes.plot(*zip(*points, strict=True), 'o-', ms=4, lw=1, label=f'{name} [{unit}]')
        for size, point in zip(sizes, points, strict=True):
            axes.annotate(f'{size:g}', point, textcoords='offset points', xytext=(4, 3),
                          fontsize=6, color=line.get_color())
    axes.set(xlabel='half of a sudden change is seen after [ms]', ylabel='noise [rad/s]',
             xscale='log', yscale='log', title='delay against noise')
    axes.legend(fontsize=8)
    return rows


def move() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Time, counted position and true velocity of one smooth move and back, (N,) each."""
    time = np.arange(0.0, SECONDS, PERIOD)
    omega = 2.0 * math.pi / SECONDS
    velocity = SPEED * np.sin(omega * time)
    position = SPEED / omega * (1.0 - np.cos(omega * time))
    return time, STEP * np.floor(position / STEP), velocity


def run(unit: VelocityFilter, position: np.ndarray) -> np.ndarray:
    """Velocities (N,)."""
    return np.array([float(unit.step(np.array([x]), PERIOD if k else 0.0)[0])
                     for k, x in enumerate(position.tolist())])


def noise(found: np.ndarray, velocity: np.ndarray, delay: float) -> float:
    """Standard deviation about the true velocity `delay` [s] before, without the start."""
    shift = max(round(delay / PERIOD), 0)
    error = found[shift:] - velocity[:len(velocity) - shift]
    return float(np.std(error[100:]))
