"""Distance of the links from the floor and from each other, from the URDF's collision shapes."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from armsense_core.model import ArmModel
from armsense_core.trajectory.limits import Violation
from armsense_core.trajectory.reference import Array, sample_grid, Trajectory


class Clearance:
    """Where an arm of primitive collision shapes comes too close to the floor or to itself.

    Pairs of links that a joint connects are left out, also across links without a shape, and so
    are pairs that already touch at home: their distance says nothing about a motion.
    """

    def __init__(self, model: ArmModel, *, floor: float | None, self_distance: float) -> None:
        """Collect the shapes.

        Args:
            model: The arm; its URDF holds the shapes.
            floor: Height that no moving link may go below [m], base frame. None: no floor.
            self_distance: Smallest distance between links [m].
        """
        self.floor, self.self_distance = floor, self_distance
        full = pin.buildModelFromXML(model.urdf)
        locked = [full.getJointId(name) for name in list(full.names)[1:]
                  if name not in model.joint_names]
        shapes = pin.buildGeomFromUrdfString(full, model.urdf, pin.GeometryType.COLLISION)
        if locked:
            full, shapes = pin.buildReducedModel(full, shapes, locked, pin.neutral(full))
        for shape in shapes.geometryObjects:
            shape.geometry.computeLocalAABB()
        self._model, self._data, self._shapes = full, full.createData(), shapes
        home = np.array(model.config.home) if model.config and model.config.home else None
        self._pair_up(np.zeros(model.n) if home is None else home)

    def smallest_distance(self, q: Array) -> tuple[float, str]:
        """Smallest distance between links [m] and which; infinite without pairs."""
        if not len(self._shapes.collisionPairs):
            return float('inf'), ''
        self._place(q)
        pin.computeDistances(self._shapes, self._shape_data)
        results = self._shape_data.distanceResults
        distances = [results[k].min_distance for k in range(len(self._shapes.collisionPairs))]
        k = int(np.argmin(distances))
        return float(distances[k]), self._pair_name(k)

    def lowest_point(self, q: Array) -> tuple[float, str]:
        """Smallest height of the moving links' shapes [m] and whose it is."""
        self._place(q)
        heights = [(self._height(k), self._link(shape.name))
                   for k, shape in enumerate(self._shapes.geometryObjects)
                   if shape.parentJoint > 0]
        return min(heights, default=(float('inf'), ''))

    def check(self, trajectory: Trajectory, step: float = 0.02) -> list[Violation]:
        """Worst sample below the floor and worst sample too close to itself, if any."""
        samples = sample_grid(trajectory, step)
        found = []
        if self.floor is not None:
            lowest = [self.lowest_point(q) for q in samples.q]
            k = min(range(len(lowest)), key=lambda i: lowest[i][0])
            if lowest[k][0] < self.floor:
                found.append(Violation('floor', lowest[k][1], float(samples.t[k]),
                                       lowest[k][0], self.floor))
        closest = [self.smallest_distance(q) for q in samples.q]
        k = min(range(len(closest)), key=lambda i: closest[i][0])
        if closest[k][0] < self.self_distance:
            found.append(Violation('self-distance', closest[k][1], float(samples.t[k]),
                                   closest[k][0], self.self_distance))
        return found

    def _pair_up(self, home: Array) -> None:
        shapes = self._shapes
        with_shape = sorted({shape.parentJoint for shape in shapes.geometryObjects})
        rank = {joint: k for k, joint in enumerate(with_shape)}
        for a, first in enumerate(shapes.geometryObjects):
            for b, second in enumerate(shapes.geometryObjects):
                if a < b and abs(rank[first.parentJoint] - rank[second.parentJoint]) > 1:
                    shapes.addCollisionPair(pin.CollisionPair(a, b))
        self._shape_data = pin.GeometryData(shapes)
        self._place(home)
        pin.computeDistances(shapes, self._shape_data)
        touching = [pair for k, pair in enumerate(shapes.collisionPairs)
                    if self._shape_data.distanceResults[k].min_distance <= 0.0]
        for pair in touching:
            shapes.removeCollisionPair(pin.CollisionPair(pair.first, pair.second))
        self._shape_data = pin.GeometryData(shapes)

    def _place(self, q: Array) -> None:
        pin.updateGeometryPlacements(self._model, self._data, self._shapes, self._shape_data, q)

    def _height(self, k: int) -> float:
        """Height of the lowest corner of the shape's bounding box [m]."""
        box = self._shapes.geometryObjects[k].geometry.aabb_local
        placement = self._shape_data.oMg[k]
        center = placement.act((box.min_ + box.max_) / 2)
        half = np.abs(placement.rotation[2]) @ ((box.max_ - box.min_) / 2)
        return float(center[2] - half)

    def _link(self, shape_name: str) -> str:
        return str(shape_name.rsplit('_', 1)[0])

    def _pair_name(self, k: int) -> str:
        pair, shapes = self._shapes.collisionPairs[k], self._shapes.geometryObjects
        return f'{self._link(shapes[pair.first].name)}-{self._link(shapes[pair.second].name)}'
