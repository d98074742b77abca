"""What RViz and the web monitor show of the base: cells, wrench, and which push would be felt."""

from __future__ import annotations

import math

from geometry_msgs.msg import Point
import numpy as np
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from armsense.base.cell_layout import CellLayout
from armsense.base.contact_places import ContactPlaces
from armsense.base.sensitivity import surface_pushes
from armsense.errors import ArmsenseError
from armsense.model import Arm
from armsense.model.arm_config import LoadCellsConfig
from armsense.types import Array, Flags

SPACING = 0.05               # [m] between the points on the links
EASY, HARD = 1.0, 50.0       # [N] that are drawn green and red
ARROW = 0.01                 # [m/N]
LEVER = 0.2                  # [m/Nm] of the arrow of a moment
CELL = 0.04                  # [m]


class BaseMarkers:
    """Markers of one arm on its cells."""

    def __init__(self, model: Arm, layout: CellLayout, config: LoadCellsConfig) -> None:
        self._model, self._layout, self._config = model, layout, config
        try:
            self._places = ContactPlaces.on(model, SPACING)
        except ArmsenseError:        # no link has a shape: nothing to colour
            self._places = ContactPlaces.nowhere()

    def draw(self, q: Array, force: Array, valid: Flags, residual: Array,
             threshold: Array) -> MarkerArray:
        """Markers in the frame base_link.

        Args:
            q: Joint positions [rad], (n,).
            force: Of the cells [N], (m,).
            valid: Cells that are used, (m,).
            residual: Wrench beyond the prediction [N, Nm], (6,).
            threshold: Of the felt axes [N, Nm], (k,).
        """
        found = [*self._cells(force, valid), self._arrow('base_force', residual[:3], ARROW),
                 self._arrow('base_moment', residual[3:], LEVER)]
        if len(self._places.link):
            found.append(self._felt(q, threshold))
        for marker in found:
            marker.header.frame_id = 'base_link'
            marker.pose.orientation.w = 1.0
        return MarkerArray(markers=found)

    def _cells(self, force: Array, valid: Flags) -> list[Marker]:
        """A cylinder per cell: green to red with its load, grey where it is not used."""
        markers = []
        for k, (x, y) in enumerate(self._config.positions):
            share = min(abs(float(force[k])) / self._config.capacity, 1.0) if k < len(force) else 0
            marker = Marker(ns='load_cells', id=k, type=Marker.CYLINDER)
            marker.pose.position = _point((x, y, self._config.height))
            marker.scale.x = marker.scale.y = marker.scale.z = CELL
            used = k >= len(valid) or bool(valid[k])
            marker.color = _between(share) if used else ColorRGBA(r=0.5, g=0.5, b=0.5, a=1.0)
            markers.append(marker)
        return markers

    def _arrow(self, name: str, vector: Array, scale: float) -> Marker:
        marker = Marker(ns=name, type=Marker.ARROW,
                        points=[_point(np.zeros(3)), _point(scale * vector)])
        marker.scale.x, marker.scale.y, marker.scale.z = 0.01, 0.02, 0.03
        marker.color = ColorRGBA(r=0.2, g=0.4, b=0.9, a=1.0)
        return marker

    def _felt(self, q: Array, threshold: Array) -> Marker:
        """Points on the links, coloured by the smallest push that would be found there."""
        points, pushes = surface_pushes(self._model, self._layout, self._places, q, threshold)
        marker = Marker(ns='detectable_force', type=Marker.SPHERE_LIST,
                        points=[_point(point) for point in points])
        marker.scale.x = marker.scale.y = marker.scale.z = 0.3 * SPACING
        marker.color.a = 1.0
        marker.colors = [_between(_share(push)) for push in pushes]
        return marker


def _share(force: float) -> float:
    """0 for EASY, 1 for HARD, by ratio."""
    if math.isinf(force):
        return 1.0
    return min(max(math.log(force / EASY) / math.log(HARD / EASY), 0.0), 1.0)


def _between(share: float) -> ColorRGBA:
    """Green at 0, yellow, red at 1."""
    return ColorRGBA(r=min(1.0, 2.0 * share), g=min(1.0, 2.0 - 2.0 * share), b=0.1, a=1.0)


def _point(place: Array | tuple[float, float, float]) -> Point:
    x, y, z = (float(value) for value in place)
    return Point(x=x, y=y, z=z)
