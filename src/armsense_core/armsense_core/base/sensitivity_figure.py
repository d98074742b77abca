"""Figures 4.3a-c of thesis 003 for any layout of cells."""

from __future__ import annotations

from pathlib import Path

from armsense_core.base.sensitivity import SensitivityMap


def draw_sensitivity(map_: SensitivityMap, path: str | Path, title: str = '') -> None:
    """Three point clouds beside each other: horizontal forces, vertical forces, all.

    Args:
        map_: What to draw; light points feel best.
        path: Of the picture; its ending gives the format.
        title: Above the picture.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    figure = Figure(figsize=(15, 5), layout='constrained')
    FigureCanvasAgg(figure)
    figure.suptitle(title)
    parts = (('force along x or y', map_.horizontal), ('force along z', map_.vertical),
             ('overall', map_.overall))
    for number, (name, values) in enumerate(parts, start=1):
        axes = figure.add_subplot(1, 3, number, projection='3d')
        cloud = axes.scatter(*map_.points.T, c=values, cmap='gray', s=12, depthshade=False,
                             edgecolors='0.6', linewidths=0.2)
        axes.set(title=name, xlabel='x [m]', ylabel='y [m]', zlabel='z [m]')
        figure.colorbar(cloud, ax=axes, shrink=0.6, label='felt change per newton')
    figure.savefig(path)
