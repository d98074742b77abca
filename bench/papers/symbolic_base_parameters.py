"""Base parameters by symbolic reduction: fundamental functions and echelon form.

Thesis 000, eqs. 4.29-4.32, writes every entry of the regressor as a combination of fundamental
functions, collects the combinations in a matrix B (one column per parameter) and reads the base
parameters off its echelon form. Here B comes from the energies, which are shorter than the torques
and have the same dependencies: torques vanish where the mass matrix does and the potential energy
is constant. Fundamental functions are the products of cosines and sines of the joint angles that
multiply dq_a dq_b in the kinetic energy or stand in the potential energy,

    cos(q_1)^a1 sin(q_1)^b1 ... cos(q_n)^an sin(q_n)^bn     with b <= 1 after sin^2 = 1 - cos^2.

No motion is sampled, so that no motion can hide a parameter. A product of functions adds their
exponents; a key holds all exponents of one function as digits to the base 9.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from armsense.errors import ArmsenseError, UnknownName
from armsense.identify.estimation.base_parameters import BaseParameters, readable, regrouped
from armsense.model.arm import Arm
from armsense.types import Array

Keys = NDArray[np.int64]

DIGIT = 9                # exponents of cosine and sine of a joint: a + 3 b, each up to 2
SINE, SINE_2, COSINE_2 = 3, 6, 2
ROUND = 1e-5             # of a rotation's entry: URDFs round right angles
ZERO = 1e-9              # of the largest entry: no dependency
DRIVE_TERMS = ('inertia', 'viscous', 'coulomb')
INERTIA = ((4, 0, 0), (5, 0, 1), (6, 1, 1), (7, 0, 2), (8, 1, 2), (9, 2, 2))   # place, axes
WORDS = {'m': 'mass', 'mx': 'first moment along x', 'my': 'first moment along y',
         'mz': 'first moment along z', 'Ixx': 'moment of inertia about x',
         'Iyy': 'moment of inertia about y', 'Izz': 'moment of inertia about z',
         'Ixy': 'product of inertia xy', 'Ixz': 'product of inertia xz',
         'Iyz': 'product of inertia yz', 'inertia': 'rotor inertia',
         'viscous': 'viscous friction', 'coulomb': 'Coulomb friction'}


class Function(NamedTuple):
    """Sum of fundamental functions."""

    keys: Keys       # (k,)
    factors: Array   # (k,)

    def __add__(self, other: object) -> Function:
        assert isinstance(other, Function)
        return _collect(np.concatenate([self.keys, other.keys]),
                        np.concatenate([self.factors, other.factors]))

    def scaled(self, factor: float) -> Function:
        return Function(self.keys, factor * self.factors) if factor else NOTHING

    def times(self, other: Function) -> Function:
        return _collect(np.add.outer(self.keys, other.keys).ravel(),
                        np.multiply.outer(self.factors, other.factors).ravel())


NOTHING = Function(np.zeros(0, np.int64), np.zeros(0))
Vector = tuple[Function, Function, Function]


def symbolic_base_parameters(
    model: Arm,
    terms: Sequence[str] = (),
    prefer: Sequence[str] | None = None,
) -> BaseParameters:
    """Base parameters of an arm's joint torques, without sampling a motion.

    Args:
        model: Kinematics and gravity; its inertias do not matter.
        terms: Parameters of the drives beside the links, out of `DRIVE_TERMS`.
        prefer: Names to keep first, in this order, as far as they are independent; None: in
            regrouped form, as the numeric reduction does.
    """
    for term in terms:
        if term not in DRIVE_TERMS:
            raise UnknownName('drive term', term, DRIVE_TERMS)
    names = (*model.parameter_names, *(f'{t}{k + 1}' for t in terms for k in range(model.n)))
    first = regrouped(model.parameter_names) if prefer is None else tuple(prefer)
    for name in first:
        if name not in names:
            raise UnknownName('parameter', name, names)
    order = [names.index(name) for name in dict.fromkeys((*first, *names))]
    echelon, independent, kept, dropped = _echelon(coefficient_matrix(model, terms), order)
    rows = np.argsort(independent)
    independent, combination = sorted(independent), echelon[rows]
    return BaseParameters(
        tuple(independent), combination,
        tuple(readable(row, k, names) for row, k in zip(combination, independent, strict=True)),
        names, kept, dropped)


def in_words(base: BaseParameters, number: int) -> str:
    """A base parameter in physical words, such as 'mass of link 3 + 0.3 first moment ...'."""
    row, names = base.combination[number], base.parameter_names
    spoken = [_spoken(name) for name in names]
    return readable(row, base.independent[number], spoken)


def coefficient_matrix(model: Arm, terms: Sequence[str] = ()) -> Array:
    """B of eq. 4.30: fundamental functions by parameters, equal rows only once, (k, p)."""
    n = model.n
    entries: dict[tuple[str, int, int, int], dict[int, float]] = {}

    def add(group: tuple[str, int, int], column: int, function: Function) -> None:
        reduced = _without_squared_sines(function, n)
        for key, factor in zip(reduced.keys.tolist(), reduced.factors.tolist(), strict=True):
            if group[0] == 'potential' and key == 0:
                continue                     # a constant energy moves nothing
            row = entries.setdefault((*group, key), {})
            row[column] = row.get(column, 0.0) + factor

    for link, state in enumerate(_links(model)):
        for column, function in _potential(state):
            add(('potential', 0, 0), 10 * link + column, function)
        for a in range(link + 1):
            for b in range(a, link + 1):
                for column, function in _kinetic(state, a, b):
                    add(('kinetic', a, b), 10 * link + column, function)
    for t, term in enumerate(terms):
        for joint in range(n):
            group = ('kinetic', joint, joint) if term == 'inertia' else (term, joint, joint)
            add(group, 10 * n + n * t + joint, _constant(1.0))
    width = (10 + len(terms)) * n
    B = np.zeros((len(entries), width))
    for number, row in enumerate(entries.values()):
        B[number, list(row)] = list(row.values())
    return np.unique(np.round(B / np.abs(B).max(axis=1, keepdims=True), 10), axis=0)


class _Link(NamedTuple):
    """What moves a link, in its own axes."""

    angular: list[Vector]    # angular velocity per joint velocity, joints up to its own
    linear: list[Vector]     # velocity of the link frame per joint velocity
    gravity: Vector
    height: Function         # gravity times the position of the link frame


def _links(model: Arm) -> list[_Link]:
    """Forward recursion over the links."""
    zero = np.zeros(model.n)
    before, found = np.eye(4), []
    gravity: Vector = _constants(model.gravity)
    state = _Link([], [], gravity, NOTHING)
    for joint, name in enumerate(model.joint_names):
        pose = model.frame_pose(zero, name)
        step = np.linalg.inv(before) @ pose
        axis = model.jacobian(zero, name).reshape(6, -1)[3:, joint]
        if np.linalg.norm(axis) < 0.5:
            raise ArmsenseError(f'{name} slides: the symbolic reduction is for joints that turn')
        axis = _rounded(pose[:3, :3].T @ axis)
        state = _next(state, _turn(axis, _rounded(step[:3, :3]), joint), step[:3, 3], axis)
        found.append(state)
        before = pose
    return found


def _next(state: _Link, turn: list[list[Function]], offset: Array, axis: Array) -> _Link:
    """The link behind a joint that turns about `axis` at `offset` of the link before."""
    arm = _constants(offset)
    angular = [_apply(turn, w) for w in state.angular]
    linear = [_apply(turn, _sum(v, _cross(w, arm)))
              for v, w in zip(state.linear, state.angular, strict=True)]
    return _Link([*angular, _constants(axis)], [*linear, (NOTHING, NOTHING, NOTHING)],
                 _apply(turn, state.gravity), state.height + _dot(state.gravity, arm))


def _turn(axis: Array, rotation: Array, joint: int) -> list[list[Function]]:
    """Axes of the link before -> axes of the link, (3, 3) of functions of the joint's angle."""
    K = np.array([[0.0, -axis[2], axis[1]], [axis[2], 0.0, -axis[0]], [-axis[1], axis[0], 0.0]])
    constant, cosine, sine = ((np.eye(3) + K @ K).T @ rotation.T, -(K @ K).T @ rotation.T,
                              K.T @ rotation.T)
    unit = DIGIT ** joint
    keys = np.array([0, unit, SINE * unit], np.int64)
    return [[_collect(keys, np.array([constant[i, j], cosine[i, j], sine[i, j]]))
             for j in range(3)] for i in range(3)]


def _kinetic(link: _Link, a: int, b: int) -> list[tuple[int, Function]]:
    """Factor of dq_a dq_b per parameter of the link."""
    va, vb, wa, wb = link.linear[a], link.linear[b], link.angular[a], link.angular[b]
    first = _sum(_cross(va, wb), _cross(vb, wa))
    parts = [(0, _dot(va, vb)), *((1 + axis, first[axis]) for axis in range(3))]
    for place, i, j in INERTIA:
        product = wa[i].times(wb[j])
        parts.append((place, product if i == j else product + wa[j].times(wb[i])))
    return parts


def _potential(link: _Link) -> list[tuple[int, Function]]:
    return [(0, link.height), *((1 + axis, link.gravity[axis]) for axis in range(3))]


def _echelon(B: Array, order: list[int]) -> tuple[Array, list[int], float, float]:
    """Gauss-Jordan elimination, columns in this order: B_Eu of eq. 4.31, pivots and the gap."""
    rest = B.copy()
    pivots: list[int] = []
    kept, dropped = 1.0, 0.0
    for column in order:
        row = len(pivots)
        if row == len(rest):
            break
        best = row + int(np.argmax(np.abs(rest[row:, column])))
        size = abs(float(rest[best, column]))
        if size <= ZERO:
            dropped = max(dropped, size)
            continue
        kept = min(kept, size)
        rest[[row, best]] = rest[[best, row]]
        rest[row] /= rest[row, column]
        others = np.arange(len(rest)) != row
        rest[others] -= np.outer(rest[others, column], rest[row])
        pivots.append(column)
    echelon = rest[:len(pivots)]
    echelon[np.abs(echelon) < ZERO] = 0.0
    return echelon, pivots, kept, dropped


def _without_squared_sines(function: Function, n: int) -> Function:
    keys, factors = function
    for joint in range(n):
        unit = DIGIT ** joint
        squared = keys // unit % DIGIT // SINE == 2
        if squared.any():
            plain = keys[squared] - SINE_2 * unit
            keys = np.concatenate([keys[~squared], plain, plain + COSINE_2 * unit])
            factors = np.concatenate([factors[~squared], factors[squared], -factors[squared]])
    return _collect(keys, factors)


def _collect(keys: Keys, factors: Array) -> Function:
    """Equal functions added, vanishing ones left out."""
    unique, place = np.unique(keys, return_inverse=True)
    total = np.zeros(len(unique))
    np.add.at(total, place, factors)
    keep = np.abs(total) > 1e-13
    return Function(unique[keep], total[keep])


def _constant(value: float) -> Function:
    return Function(np.zeros(1, np.int64), np.array([value])) if value else NOTHING


def _constants(values: Array) -> Vector:
    x, y, z = (_constant(float(v)) for v in values)
    return x, y, z


def _sum(a: Vector, b: Vector) -> Vector:
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


def _dot(a: Vector, b: Vector) -> Function:
    return a[0].times(b[0]) + a[1].times(b[1]) + a[2].times(b[2])


def _cross(a: Vector, b: Vector) -> Vector:
    def part(i: int, j: int) -> Function:
        return a[i].times(b[j]) + a[j].times(b[i]).scaled(-1.0)
    return part(1, 2), part(2, 0), part(0, 1)


def _apply(matrix: list[list[Function]], a: Vector) -> Vector:
    x, y, z = (row[0].times(a[0]) + row[1].times(a[1]) + row[2].times(a[2]) for row in matrix)
    return x, y, z


def _rounded(values: Array) -> Array:
    whole = np.rint(values)
    return np.where(np.abs(values - whole) < ROUND, whole, values)


def _spoken(name: str) -> str:
    kind = name.rstrip('0123456789')
    part = 'joint' if kind in DRIVE_TERMS else 'link'
    return f'{WORDS.get(kind, kind)} of {part} {name[len(kind):]}'
