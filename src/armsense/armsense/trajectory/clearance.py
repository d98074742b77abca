"""Distance of the links from the floor and from each other, from the URDF's collision shapes."""

from collections.abc import Callable

import numpy as np
import pinocchio as pin

from armsense.geometry.urdf_shapes import link_name, read_shapes
from armsense.model import Arm
from armsense.trajectory.limits import Violation
from armsense.trajectory.reference import sample_grid, Trajectory
from armsense.types import Array

LINE_STEP = 0.01   # [rad] along which a straight line is looked at


class Clearance:
    """Where an arm of primitive collision shapes comes too close to the floor or to itself.

    Pairs of links that a joint connects are left out, also across links without a shape, and so
    are pairs that already touch at home: their distance says nothing about a motion.
    """

    def __init__(self, model: Arm, *, floor: float | None, self_distance: float) -> None:
        """Smallest distance of links and height that none goes below [m]; None: no floor."""
        self.floor, self.self_distance = floor, self_distance
        full, shapes = read_shapes(model)
        for shape in shapes.geometryObjects:
            shape.geometry.computeLocalAABB()
        self._model, self._data, self._shapes = full, full.createData(), shapes
        home = np.array(model.config.home) if model.config and model.config.home else None
        self._pair_up(np.zeros(model.n) if home is None else home)
        # Of the links that move: index, link, centre and half sides of the bounding box [m].
        self._boxes = [(k, link_name(shape), (box.min_ + box.max_) / 2,
                        (box.max_ - box.min_) / 2)
                       for k, shape in enumerate(shapes.geometryObjects) if shape.parentJoint > 0
                       for box in [shape.geometry.aabb_local]]
        self.reach = self._reach(model.n)   # [m] per rad: no point moves further, (n,)

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
        placements = self._shape_data.oMg
        lowest, name = float('inf'), ''
        for k, link, center, half in self._boxes:
            placement = placements[k]
            up = placement.rotation[2]
            height = float(placement.translation[2] + up.dot(center) - np.abs(up).dot(half))
            if height < lowest:
                lowest, name = height, link
        return lowest, name

    def room(self, q: Array) -> float:
        """How far the links may come down or closer before a limit is reached [m].

        The smaller of both; negative: a limit is broken.
        """
        room = self.smallest_distance(q)[0] - self.self_distance
        return room if self.floor is None else min(room, self.lowest_point(q)[0] - self.floor)

    def check(self, trajectory: Trajectory, step: float = 0.02) -> list[Violation]:
        """Worst sample below the floor and worst sample too close to itself, if any."""
        samples = sample_grid(trajectory, step)
        return self.check_path(samples.t, samples.q)

    def check_path(self, t: Array, q: Array) -> list[Violation]:
        """As `check`, of joint positions [rad], (N, n), at times [s], (N,)."""
        found = []
        if self.floor is not None:
            found += self._worst('floor', t, q, self.lowest_point, self.floor)
        return found + self._worst('self-distance', t, q, self.smallest_distance,
                                   self.self_distance)

    def _worst(self, kind: str, t: Array, q: Array, measure: Callable[[Array], tuple[float, str]],
               limit: float) -> list[Violation]:
        """The worst sample below the limit, if any.

        No link comes closer to anything than the arm moves, so samples are left out until it has
        moved by the room that it had: nothing can have happened there.
        """
        steps = np.abs(np.diff(q, axis=0)) @ self.reach
        moved = np.concatenate([[0.0], np.cumsum(steps)])        # [m] at most, (N,)
        worst: tuple[float, str, int] = (limit, '', -1)
        k = 0
        while k < len(moved):
            value, name = measure(q[k])
            if value < worst[0]:
                worst = value, name, k
            room = max(value - limit, 0.0)
            k = max(k + 1, int(np.searchsorted(moved, moved[k] + room, side='right')))
        value, name, k = worst
        return [] if k < 0 else [Violation(kind, name, float(t[k]), value, limit)]

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

    def _reach(self, n: int) -> Array:
        """Largest distance of a link's point from each joint's axis, whatever the others do."""
        full = self._model
        beyond = np.zeros(n + 1)          # [m] from a joint's origin to the furthest point behind
        for shape in self._shapes.geometryObjects:
            box = shape.geometry.aabb_local
            corner = np.maximum(np.abs(box.min_), np.abs(box.max_))
            size = float(np.linalg.norm(shape.placement.translation) + np.linalg.norm(corner))
            joint = shape.parentJoint
            while joint > 0:
                beyond[joint] = max(beyond[joint], size)
                size += float(np.linalg.norm(full.jointPlacements[joint].translation))
                joint = full.parents[joint]
        return beyond[1:]

    def _place(self, q: Array) -> None:
        pin.updateGeometryPlacements(self._model, self._data, self._shapes, self._shape_data, q)

    def _pair_name(self, k: int) -> str:
        pair, shapes = self._shapes.collisionPairs[k], self._shapes.geometryObjects
        return f'{link_name(shapes[pair.first])}-{link_name(shapes[pair.second])}'


class Guard:
    """Whether an arm may go on to where nobody has planned it to go; for every cycle of a loop.

    Distances cost many times what the rest of a cycle does. No link comes closer to anything
    than the arm moves, so they are measured only where the room found last may be used up.
    """

    def __init__(self, clearance: Clearance) -> None:
        self._clearance = clearance
        self._q: Array | None = None   # [rad] where the room was measured, (n,)
        self._room = 0.0               # [m]
        self._start: tuple[bytes, float] = b'', 0.0   # where it was stopped, and the room there

    def allows(self, before: Array, q: Array, way: Array | None = None) -> bool:
        """The arm may go from one place to another: there is room where it stops, or more there.

        `way` is what it needs to stop from there; None: it stops; [rad], (n,) each.
        """
        end = q if way is None else q + way
        if self._left(end) > 0.0:
            return True
        self._q, self._room = np.array(end), self._clearance.room(end)
        return self._room > 0.0 or self._room >= self._room_before(before)

    def allows_line(self, start: Array, end: Array) -> bool:
        """The arm may go along a straight line of the joints [rad], (n,) each."""
        steps = max(2, int(np.ceil(np.abs(end - start).max() / LINE_STEP)) + 1)
        line = np.linspace(start, end, steps)
        return all(self.allows(a, b) for a, b in zip(line[:-1], line[1:], strict=True))

    def _room_before(self, q: Array) -> float:
        """Room where the arm is; one that was stopped asks for the same place in every cycle."""
        if self._start[0] != q.tobytes():
            self._start = q.tobytes(), self._clearance.room(q)
        return self._start[1]

    def _left(self, q: Array) -> float:
        if self._q is None:
            return 0.0
        return self._room - float(np.abs(q - self._q) @ self._clearance.reach)
