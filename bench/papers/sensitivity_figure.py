"""Which push can be felt: on the arm at a pose, and anywhere around it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from armsense.base.cell_layout import CellLayout
from armsense.base.contact_places import ContactPlaces
from armsense.base.sensitivity import detectable_force, force_response, surface_pushes
from armsense.errors import BadValue
from armsense.model import Arm
from armsense.types import Array

SPACING = 0.012      # [m] between the points on the links
SLICE = 41           # points along a side of a slice
REACH = 1.15         # half a side of the slices over the distance of the tool
COLOURS = 'viridis_r'


class SensitivityMap(NamedTuple):
    """Felt change per newton, N points; relative to the unit of each axis (figs. 4.3a-c)."""

    points: Array       # [m] base frame, (N, 3)
    horizontal: Array   # to unit forces along x and along y, (N,)
    vertical: Array     # to a unit force along z, (N,)
    overall: Array      # all three, (N,)


def sensitivity_map(layout: CellLayout, points: ArrayLike) -> SensitivityMap:
    """Felt change of unit forces at points [m], (N, 3)."""
    p = np.asarray(points, float).reshape(-1, 3)
    felt = np.linalg.norm(force_response(layout, p), axis=1)        # (N, 3): x, y, z
    return SensitivityMap(p, np.hypot(felt[:, 0], felt[:, 1]), felt[:, 2],
                          np.linalg.norm(felt, axis=1))


def workspace_grid(x: tuple[float, float] = (1.0, 5.0), y: tuple[float, float] = (-5.0, 5.0),
                   z: tuple[float, float] = (0.0, 5.0), step: float = 0.5) -> Array:
    """Points of a box at equal steps [m], (N, 3); the defaults are those of figs. 4.3."""
    if not step > 0.0:
        raise BadValue('step', step, '> 0 m')
    axes = [np.arange(low, high + 0.5 * step, step) for low, high in (x, y, z)]
    return np.stack(np.meshgrid(*axes, indexing='ij'), axis=-1).reshape(-1, 3)


def draw_sensitivity(model: Arm, layout: CellLayout, q: Array, threshold: ArrayLike,
                     path: str | Path) -> None:
    """Two pictures beside each other, coloured in newtons.

    Args:
        model: The arm; its links need collision shapes.
        layout: Its cells.
        q: Joint positions [rad], (n,).
        threshold: Of each felt axis [N, Nm], (k,).
        path: Of the picture; its ending gives the format.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    figure = Figure(figsize=(13, 6), layout='constrained')
    FigureCanvasAgg(figure)
    limits = ', '.join(f'{name} {value:.2g}' for name, value in zip(
        layout.names, np.asarray(threshold, float), strict=True))
    figure.suptitle(f'{model.name} on {layout.cells} load cells: smallest force that is found '
                    f'(thresholds {limits})')
    size = REACH * float(np.linalg.norm(model.frame_pose(q)[:3, 3]))
    _draw_arm(figure, model, layout, q, threshold, size)
    _draw_slices(figure, layout, threshold, size)
    figure.savefig(path, dpi=110)


def _draw_arm(figure: Any, model: Arm, layout: CellLayout, q: Array, threshold: ArrayLike,
              size: float) -> None:
    points, push = surface_pushes(model, layout, ContactPlaces.on(model, SPACING), q, threshold)
    axes = _axes(figure, 1, size, 'a push against the surface of a link')
    middle, half = points.mean(axis=0), 0.55 * float(np.ptp(points, axis=0).max())
    axes.set(xlim=(middle[0] - half, middle[0] + half), ylim=(middle[1] - half, middle[1] + half),
             zlim=(0.0, 1.6 * half))
    cloud = axes.scatter(*points.T, c=push, norm=_scale(push), cmap=COLOURS, s=14,
                         depthshade=False, linewidths=0)
    _bar(figure, cloud, axes, 'smallest push that is found [N]')
    axes.view_init(elev=18, azim=-65)


def _draw_slices(figure: Any, layout: CellLayout, threshold: ArrayLike, size: float) -> None:
    """Two walls and the floor around the arm, in the direction that is felt least."""
    side, up = np.linspace(-size, size, SLICE), np.linspace(0.02 * size, 1.6 * size, SLICE)
    a, z = np.meshgrid(side, up)
    zero = np.zeros_like(a)
    planes = [np.stack(plane, axis=-1) for plane in ((a, zero + size, z), (zero - size, a, z),
                                                      (a, z - z.mean(), zero + 0.02 * size))]
    planes[2][..., 1] *= size / np.abs(planes[2][..., 1]).max()
    forces = [np.array([detectable_force(layout, point, threshold).worst
                        for point in plane.reshape(-1, 3)]).reshape(SLICE, SLICE)
              for plane in planes]
    scale = _scale(np.concatenate([force.ravel() for force in forces]))
    axes = _axes(figure, 2, size, 'a force in the direction that is felt least, around the arm')
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    for plane, force in zip(planes, forces, strict=True):
        axes.plot_surface(*np.moveaxis(plane, -1, 0), facecolors=colormaps[COLOURS](scale(force)),
                          rstride=1, cstride=1, shade=False, linewidth=0, antialiased=False)
    _bar(figure, ScalarMappable(scale, COLOURS), axes, 'smallest force that is found [N]')
    axes.view_init(elev=25, azim=-50)


def _axes(figure: Any, number: int, size: float, title: str) -> Any:
    axes = figure.add_subplot(1, 2, number, projection='3d')
    axes.set(title=title, xlabel='x [m]', ylabel='y [m]', zlabel='z [m]', xlim=(-size, size),
             ylim=(-size, size), zlim=(0.0, 1.6 * size))
    axes.set_box_aspect((2.0, 2.0, 1.6))
    return axes


def _bar(figure: Any, what: Any, axes: Any, label: str) -> None:
    bar = figure.colorbar(what, ax=axes, shrink=0.6, label=label)
    ticks = [t for t in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500)
             if what.norm.vmin <= t <= what.norm.vmax]
    bar.set_ticks(ticks, labels=[f'{tick:g}' for tick in ticks])
    bar.minorticks_off()


def _scale(force: Array) -> Any:
    from matplotlib.colors import LogNorm
    finite = force[np.isfinite(force)]
    low, high = np.quantile(finite, [0.01, 0.99])
    return LogNorm(max(float(low), 1e-3), max(float(high), 1.01 * float(low)))
