"""Preview of an excitation: motion within its limits, tool path, singular values."""

from pathlib import Path
from typing import Any

import numpy as np

from armsense.excite.excitation import Excitation
from armsense.model import Arm
from armsense.trajectory.limits import motion_torque
from armsense.trajectory.reference import Samples
from armsense.types import Array

SAMPLES = 600
COLORS = ('#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#7f7f7f')


def preview_figure(excitation: Excitation, model: Arm, path: str | Path) -> None:
    """Draw one period and write it as PNG, PDF or SVG, by the name's ending."""
    from matplotlib.figure import Figure  # takes most of a second, so only where it is needed

    shape = excitation.shape
    times = np.linspace(0.0, excitation.period, SAMPLES)
    samples = shape.motion(excitation.coefficient_matrix, times)
    figure = Figure(figsize=(11.0, 7.2), layout='constrained')
    grid = figure.add_gridspec(2, 3, width_ratios=(1.2, 1.25, 0.85))
    position, velocity = figure.add_subplot(grid[0, 0]), figure.add_subplot(grid[1, 0])
    limits = excitation.limits
    _curves(position, times, samples.q, excitation.joints, 'position [rad]')
    _bounds(position, np.array(limits.lower), np.array(limits.upper))
    _curves(velocity, times, samples.dq, excitation.joints, 'velocity [rad/s]')
    _bounds(velocity, -np.array(limits.velocity), np.array(limits.velocity))
    velocity.set_xlabel('time [s]')
    _tool_path(figure.add_subplot(grid[:, 1], projection='3d'), samples.q, model)
    _use(figure.add_subplot(grid[0, 2]), samples, excitation, model)
    _singular_values(figure.add_subplot(grid[1, 2]), excitation)
    figure.legend(*position.get_legend_handles_labels(), loc='outside lower center',
                  ncols=len(excitation.joints), frameon=False)
    figure.suptitle(_title(excitation), x=0.01, ha='left', fontsize=11)
    figure.savefig(path, dpi=130)


def _title(excitation: Excitation) -> str:
    quality = excitation.quality
    return (f'{excitation.arm}: {excitation.kind.replace("_", " ")} excitation of '
            f'{excitation.period:g} s, {quality.criterion} {quality.value:.4g}, '
            f'{quality.parameters} base parameters, condition number '
            f'{quality.condition_number:.3g}')


def _curves(axes: Any, times: Array, values: Array, joints: tuple[str, ...], label: str) -> None:
    for k, joint in enumerate(joints):
        axes.plot(times, values[:, k], color=COLORS[k % len(COLORS)], lw=1.3, label=joint)
    axes.set_ylabel(label)
    axes.set_xlim(times[0], times[-1])
    axes.grid(alpha=0.25)
    axes.spines[['top', 'right']].set_visible(False)


def _bounds(axes: Any, low: Array, high: Array) -> None:
    """Dashed lines at the limits: in the colour of the joint, black where joints share one."""
    for values in (low, high):
        for value in np.unique(values.round(9)):
            owners = np.flatnonzero(np.isclose(values, value))
            color = 'black' if len(owners) > 1 else COLORS[owners[0] % len(COLORS)]
            axes.axhline(value, color=color, lw=0.9, ls=(0, (4, 3)), alpha=0.7)


def _tool_path(axes: Any, q: Array, model: Arm) -> None:
    tool = np.array([model.frame_pose(pose)[:3, 3] for pose in q])
    floor = tool[:, 2].min() - 0.05
    axes.plot(tool[:, 0], tool[:, 1], floor, color='#bbbbbb', lw=0.8)     # shadow
    axes.plot(*tool.T, color=COLORS[0], lw=1.2)
    links = np.array([model.frame_pose(q[0], link)[:3, 3] for link in model.link_names]
                     + [tool[0]])
    axes.plot(*links.T, color='#444444', lw=2.5, marker='o', ms=3.5)
    axes.scatter(*tool[0], color=COLORS[1], s=25, zorder=5)
    axes.set_title('tool path, arm at the start pose', fontsize=9)
    for name in 'xyz':
        getattr(axes, f'set_{name}label')(f'{name} [m]', fontsize=8)
        axes.tick_params(axis=name, labelsize=7)
    span = np.ptp(np.vstack([tool, links]), axis=0)
    axes.set_box_aspect(np.maximum(span, 0.2 * span.max()), zoom=1.05)


def _use(axes: Any, samples: Samples, excitation: Excitation, model: Arm) -> None:
    """How much of each limit the motion uses."""
    limits = excitation.limits
    middle = 0.5 * (np.array(limits.upper) + np.array(limits.lower))
    half = 0.5 * (np.array(limits.upper) - np.array(limits.lower))
    parts = {'position': (samples.q - middle) / half, 'velocity': samples.dq / limits.velocity,
             'acceleration': samples.ddq / limits.acceleration,
             'torque': motion_torque(samples, model) / limits.torque}
    n = excitation.n
    for k in range(n):
        places = np.arange(len(parts)) + (k - 0.5 * (n - 1)) * 0.8 / n
        axes.bar(places, [100.0 * np.abs(v[:, k]).max() for v in parts.values()], 0.8 / n,
                 color=COLORS[k % len(COLORS)])
    axes.axhline(100.0, color='black', lw=0.9, ls=(0, (4, 3)), alpha=0.7)
    axes.set_xticks(range(len(parts)), parts, fontsize=8, rotation=20)
    axes.set_ylabel('peak [% of the allowed]')
    axes.spines[['top', 'right']].set_visible(False)


def _singular_values(axes: Any, excitation: Excitation) -> None:
    values = np.array(excitation.quality.singular_values)
    axes.semilogy(np.arange(1, len(values) + 1), values / values[0], color=COLORS[0], marker='o',
                  ms=3.5, lw=0.8)
    axes.set_xlabel('number')
    axes.set_ylabel('singular value / largest')
    axes.grid(alpha=0.25, which='both')
    axes.spines[['top', 'right']].set_visible(False)
