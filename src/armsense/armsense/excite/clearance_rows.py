"""Floor, base cylinder and self-distance as functions g(q) >= 0 with gradients.

All are distances between capsules (the base cylinder is one more, fixed capsule) or heights of
their ends. Pairs of neighbouring links are left out as in `trajectory.Clearance`, and so is what
is too close or too low at the home pose already: it says nothing about a motion.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from armsense.errors import ArmsenseError
from armsense.excite.constraints import Constraints, FAR
from armsense.geometry.capsules import arm_capsules, Capsule, closest_points
from armsense.model import Arm
from armsense.types import Array

FLOOR_RADIUS = np.sqrt(2.0)   # a box around the cylinder, as `Clearance` sees it, reaches deeper
Index = NDArray[np.intp]


class Placement(NamedTuple):
    """The chain at N samples; all in the base frame."""

    rotation: Array   # of link i against q = 0; the first entry is the base, (N, n + 1, 3, 3)
    shift: Array      # a point x of link i at q = 0 is at rotation @ x + shift, (N, n + 1, 3)
    axis: Array       # of joint j, (N, n, 3)
    origin: Array     # a point on it, (N, n, 3)


class Chain:
    """Positions of many points of an arm at many samples at once, and their derivatives.

    The joints follow one after the other, a chain of screws read off the model at q = 0:
    T_i(q) = prod_j<=i exp(xi_j q_j) T_i(0). One Pinocchio call per sample and point would cost far
    more than these few array products.
    """

    def __init__(self, model: Arm) -> None:
        self.n = model.n
        zero = np.zeros(model.n)
        self._axis, self._origin = np.zeros((model.n, 3)), np.zeros((model.n, 3))
        self._turns = np.zeros(model.n, bool)
        for j, link in enumerate(model.link_names):
            J = model.jacobian(zero, link)
            if np.any(J[:, j + 1:]) or not np.any(J[:, j]):
                raise ArmsenseError(f'{model.name}: the joints do not form one chain')
            self._turns[j] = bool(np.linalg.norm(J[3:, j]) > 0.5)
            self._axis[j] = J[3:, j] if self._turns[j] else J[:3, j]
            self._origin[j] = model.frame_pose(zero, link)[:3, 3]

    def place(self, q: Array) -> Placement:
        """The chain at the samples, (N, n)."""
        N = len(q)
        rotation = np.empty((N, self.n + 1, 3, 3))
        shift = np.zeros((N, self.n + 1, 3))
        axis, origin = np.empty((N, self.n, 3)), np.empty((N, self.n, 3))
        rotation[:, 0] = np.eye(3)
        for j in range(self.n):
            R, p = rotation[:, j], shift[:, j]
            axis[:, j] = R @ self._axis[j]
            origin[:, j] = R @ self._origin[j] + p
            if self._turns[j]:
                E = _rotation(self._axis[j], q[:, j])
                rotation[:, j + 1] = R @ E
                shift[:, j + 1] = origin[:, j] - rotation[:, j + 1] @ self._origin[j]
            else:
                rotation[:, j + 1] = R
                shift[:, j + 1] = p + axis[:, j] * q[:, j, None]
        return Placement(rotation, shift, axis, origin)

    def points(self, place: Placement, link: Index, at_zero: Array) -> Array:
        """Points of links (0: base), given in the base frame at q = 0, (p, 3) -> (N, p, 3)."""
        return np.asarray(np.einsum('kpij,pj->kpi', place.rotation[:, link], at_zero)
                          + place.shift[:, link])

    def derivative(self, place: Placement, sample: Index, link: Index, point: Array) -> Array:
        """Jacobian of chosen points, one sample each: (r,), (r,), (r, 3) -> (r, 3, n)."""
        axis = place.axis[sample]                                    # (r, n, 3)
        arm = np.cross(axis, point[:, None, :] - place.origin[sample])
        J = np.where(self._turns[None, :, None], arm, axis)
        J[np.arange(self.n) >= link[:, None]] = 0.0                  # joints behind the point
        return np.asarray(J.transpose(0, 2, 1))


def _rotation(axis: Array, angle: Array) -> Array:
    """Turn about a unit axis (Rodrigues), (N,) -> (N, 3, 3)."""
    K = np.array([[0.0, -axis[2], axis[1]], [axis[2], 0.0, -axis[0]], [-axis[1], axis[0], 0.0]])
    s, c = np.sin(angle)[:, None, None], np.cos(angle)[:, None, None]
    return np.asarray(np.eye(3) + s * K + (1.0 - c) * (K @ K))


class Group(NamedTuple):
    """Values of one kind of clearance, and how to differentiate them."""

    kind: str
    value: Array            # clearance minus what is asked for [m], (N, rows)
    names: tuple[str, ...]  # of the rows
    first: Index            # links of the two points, (rows,)
    second: Index           # 0: base or floor
    p: Array                # the points, (N, rows, 3)
    normal: Array           # from the second point to the first, (N, rows, 3)
    r: Array


class ClearanceRows:
    """Clearances of an arm over samples."""

    def __init__(self, model: Arm, home: Array, constraints: Constraints) -> None:
        """Collect the capsules and the pairs that are meaningful at the pose home [rad], (n,)."""
        self.chain, self.floor = Chain(model), constraints.floor
        self.self_distance, base_cylinder = constraints.self_distance, constraints.base_cylinder
        capsules = arm_capsules(model)
        tool = model.frame_pose(np.zeros(model.n))[:3, 3]
        capsules.append(Capsule('tool', model.moving_joint(model.tool_frame) + 1, tool, tool, 0.0))
        moving = [k for k, c in enumerate(capsules) if c.link > 0]
        self_pairs = list(_self_pairs(capsules))
        base_pairs = []
        if base_cylinder is not None:
            low = -FAR if self.floor is None else self.floor
            capsules.append(Capsule('base cylinder', 0, np.array([0.0, 0.0, low]),
                                    np.array([0.0, 0.0, base_cylinder.height]),
                                    base_cylinder.radius))
            base_pairs = [(k, len(capsules) - 1) for k in moving
                          if capsules[k].link >= 3 or capsules[k].name == 'tool']
        self._capsules = capsules
        self._link = np.array([c.link for c in capsules])
        self._radius = np.array([c.radius for c in capsules])
        self._ends = np.array([[c.a for c in capsules], [c.b for c in capsules]])   # (2, c, 3)
        place = self.chain.place(home[None])
        self._floor_rows = self._high_enough(moving, place)
        self._self = self._meaningful(self_pairs, place, self.self_distance)
        self._base = self._meaningful(base_pairs, place, 0.0)
        if base_cylinder is not None and 'tool-base cylinder' not in self._names(self._base):
            raise ArmsenseError(f'{model.name}: the tool is within the base cylinder of '
                                f'{base_cylinder.radius:g} m in the start pose; take another pose '
                                'or a smaller radius')

    def groups(self, q: Array) -> tuple[Placement, list[Group]]:
        """All clearances at the samples, (N, n)."""
        place = self.chain.place(q)
        a, b = (self.chain.points(place, self._link, ends) for ends in self._ends)
        found = []
        if self.floor is not None and len(self._floor_rows):
            found.append(self._floor_group(a, b, self.floor))
        for kind, pairs, least in (('self-distance', self._self, self.self_distance),
                                   ('base cylinder', self._base, 0.0)):
            if len(pairs):
                found.append(self._pair_group(kind, pairs, a, b, least))
        return place, found

    def gradient(self, place: Placement, group: Group, sample: Index, row: Index) -> Array:
        """Derivative of chosen entries by q, (r,), (r,) -> (r, n)."""
        n = group.normal[sample, row]
        J = self.chain.derivative(place, sample, group.first[row], group.p[sample, row])
        J = J - self.chain.derivative(place, sample, group.second[row], group.r[sample, row])
        return np.asarray(np.einsum('ri,rij->rj', n, J))

    def _floor_group(self, a: Array, b: Array, floor: float) -> Group:
        rows = self._floor_rows
        p = np.concatenate([a[:, rows], b[:, rows]], axis=1)
        reach = FLOOR_RADIUS * np.tile(self._radius[rows], 2)
        names = tuple(self._capsules[k].name for k in rows) * 2
        link = np.tile(self._link[rows], 2)
        up = np.broadcast_to([0.0, 0.0, 1.0], p.shape)
        return Group('floor', p[:, :, 2] - reach - floor, names, link, np.zeros_like(link), p, up,
                     p)

    def _pair_group(self, kind: str, pairs: Index, a: Array, b: Array, least: float) -> Group:
        i, j = pairs.T
        p, r = closest_points(a[:, i], b[:, i], a[:, j], b[:, j])
        gap = p - r
        length = np.linalg.norm(gap, axis=2)
        normal = gap / np.maximum(length, 1e-9)[:, :, None]
        value = length - self._radius[i] - self._radius[j] - least
        return Group(kind, value, self._names(pairs), self._link[i], self._link[j], p, normal, r)

    def _names(self, pairs: Index) -> tuple[str, ...]:
        return tuple(f'{self._capsules[i].name}-{self._capsules[j].name}' for i, j in pairs)

    def _high_enough(self, moving: list[int], place: Placement) -> Index:
        rows = np.array(moving, int)
        if self.floor is None:
            return rows
        a, b = (self.chain.points(place, self._link, ends)[0, rows, 2] for ends in self._ends)
        lowest = np.minimum(a, b) - FLOOR_RADIUS * self._radius[rows]
        return np.asarray(rows[lowest > self.floor])

    def _meaningful(self, pairs: list[tuple[int, int]], place: Placement, least: float) -> Index:
        array = np.array(pairs, int).reshape(-1, 2)
        if not len(array):
            return array
        a, b = (self.chain.points(place, self._link, ends) for ends in self._ends)
        value = self._pair_group('', array, a, b, least).value[0]
        return np.asarray(array[value > 0.0])


def _self_pairs(capsules: list[Capsule]) -> Iterator[tuple[int, int]]:
    """Pairs of capsules whose links no joint connects, also across links without a shape."""
    with_shape = sorted({c.link for c in capsules if c.radius > 0.0})
    rank = {link: k for k, link in enumerate(with_shape)}
    for i, first in enumerate(capsules):
        for j, second in enumerate(capsules):
            if i < j and min(first.radius, second.radius) > 0.0 \
                    and abs(rank[first.link] - rank[second.link]) > 1:
                yield i, j
