"""Physically consistent parameters: a small semidefinite program per arm.

A link can exist if its pseudo-inertia (Wensing et al. 2018)

    J = [ tr(I)/2 1 - I   h ]      is positive definite, (4, 4).
        [ h^T             m ]

That alone would allow a link of 132 kg, so masses stay within given factors of the nominal ones
and centres of mass within a box around the link. The cost is the quadratic form of the normal
equations, so the program has the size of the parameters, whatever the length of the recording;
Clarabel takes it as it is.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import clarabel
import numpy as np
from scipy import sparse

from armsense.errors import ArmsenseError
from armsense.identify.friction.columns import DriveColumns
from armsense.model.arm import Arm
from armsense.types import Array

MASS_FACTORS = (0.25, 4.0)   # of the nominal mass; published plausibility is 0.2 to 5
ROUNDING = 1e-15             # of the largest eigenvalue: below it there is nothing but rounding
MARGIN = 1e-4                # of the nominal pseudo-inertia: keeps the optimum strictly inside
TRIANGLE = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2), (0, 3), (1, 3), (2, 3), (3, 3))


@dataclass(frozen=True)
class LinkBounds:
    """Where the mass and its centre may lie."""

    mass: tuple[float, float]   # [kg]
    low: Array                  # centre of mass in the link frame [m], (3,)
    high: Array                 # (3,)


def pseudo_inertia(parameters: Array) -> Array:
    """J of one link, (10,) -> (4, 4)."""
    return np.asarray(np.tensordot(parameters, _BASIS, axes=1))


def is_consistent(parameters: Array, tolerance: float = 0.0) -> bool:
    """Whether every link's pseudo-inertia has eigenvalues above `tolerance`, (10 n,)."""
    return all(bool(np.linalg.eigvalsh(pseudo_inertia(link))[0] > tolerance)
               for link in parameters.reshape(-1, 10))


def link_bounds(model: Arm, factors: tuple[float, float] = MASS_FACTORS) -> list[LinkBounds]:
    """Bounds from the nominal model: mass factors, a box about frame, next joint and centre."""
    q = np.zeros(model.n)
    poses = [model.frame_pose(q, name) for name in model.joint_names]
    poses.append(model.frame_pose(q, model.tool_frame))
    bounds = []
    for k, link in enumerate(model.parameters.reshape(-1, 10)):
        inside = np.linalg.inv(poses[k]) @ poses[k + 1]
        center = link[1:4] / link[0]
        points = np.stack([np.zeros(3), inside[:3, 3], center])
        reach = 0.1 + 0.25 * np.ptp(points, axis=0).max()
        bounds.append(LinkBounds((factors[0] * link[0], factors[1] * link[0]),
                                 points.min(axis=0) - reach, points.max(axis=0) + reach))
    return bounds


def solve_feasible(
    H: Array,
    f: Array,
    nominal: Array,
    bounds: Sequence[LinkBounds],
    not_negative: Array | None = None,
    rows: Array | None = None,
    total_mass: tuple[float, float] | None = None,
) -> Array:
    """Minimum of theta^T H theta - 2 f^T theta over consistent links and passive drives, (p,).

    The first 10 n parameters are the links'; their nominal values, (10 n,), scale the problem.
    Drives are passive where parameters of some indices are not negative and rows A @ theta >= 0,
    (k, p). The sum of masses has bounds [kg].
    """
    p, n = len(f), len(bounds)
    scale = np.ones(p)
    scale[:10 * n] = parameter_scale(nominal)
    scale[10 * n:] = 1.0 / np.sqrt(np.maximum(np.diag(H)[10 * n:], 1e-12 * np.diag(H).max()))
    R, d = _square_root(H * np.outer(scale, scale), f * scale)
    blocks, limits, cones = linear_rows(p, bounds, not_negative, rows, total_mass, scale)
    for k in range(n):
        block, limit = _semidefinite(p, k, nominal, scale)
        blocks.append(block)
        limits.append(limit)
        cones.append(clarabel.PSDTriangleConeT(4))
    # Variables x and y = R x - d, cost y^T y: R has half the digits of H between its largest and
    # its smallest direction, and an interior-point method needs those digits.
    rank = len(d)
    limited = sparse.vstack(blocks).toarray()
    A = sparse.csc_matrix(np.block([[R, -np.eye(rank)],
                                    [limited, np.zeros((len(limited), rank))]]))
    cost = sparse.diags(np.repeat([0.0, 2.0], (p, rank)), format='csc')
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    solution = clarabel.DefaultSolver(
        cost, np.zeros(p + rank), A, np.concatenate([d, *limits]),
        [clarabel.ZeroConeT(rank), *cones], settings).solve()
    if str(solution.status) not in ('Solved', 'AlmostSolved'):
        raise ArmsenseError(f'no physically consistent model: the solver says {solution.status}; '
                            'check mass bounds, gravity and torque units')
    return np.asarray(solution.x[:p]) * scale


def solve_arm(H: Array, f: Array, model: Arm, drive: DriveColumns,
              factors: tuple[float, float], total_mass: tuple[float, float] | None) -> Array:
    """The same for links of a nominal arm and drives that brake.

    Factors bound each link's mass over the nominal one, `total_mass` bounds the sum [kg].
    """
    n10 = len(model.parameters)
    positive = [n10 + k for term in drive.not_negative
                for k in range(drive.count)[drive.index(term)]]
    passive = drive.passivity(model.velocity_limits)
    return solve_feasible(H, f, model.parameters, link_bounds(model, factors),
                          np.array(positive, int),
                          np.hstack([np.zeros((len(passive), n10)), passive]), total_mass)


def _square_root(P: Array, f: Array) -> tuple[Array, Array]:
    """R (r, p) and d (r,) with |R x - d|^2 = x^T P x - 2 f^T x, but for a constant."""
    values, vectors = np.linalg.eigh(P)
    real = values > ROUNDING * values[-1]
    root = np.sqrt(values[real])
    V = vectors[:, real]
    return root[:, None] * V.T, V.T @ f / root


def parameter_scale(nominal: Array) -> Array:
    """Typical size of each inertial parameter, from the nominal masses and radii, (10 n,)."""
    scales = []
    for link in nominal.reshape(-1, 10):
        radius2 = max((link[4] + link[6] + link[9]) / (2.0 * link[0]), 0.05 ** 2)
        scales.append(link[0] * np.array([1.0, *[np.sqrt(radius2)] * 3, *[radius2] * 6]))
    return np.concatenate(scales)


def linear_rows(
    p: int, bounds: Sequence[LinkBounds], not_negative: Array | None, rows: Array | None,
    total_mass: tuple[float, float] | None, scale: Array,
) -> tuple[list[sparse.csc_matrix], list[Array], list[clarabel.NonnegativeConeT]]:
    """Rows a and limits b with b - a x >= 0."""
    a: list[Array] = []
    b: list[float] = []

    def at_least(row: Array, value: float) -> None:
        length = float(np.abs(row * scale).max()) or 1.0
        a.append(-row * scale / length)
        b.append(-value / length)

    unit = np.eye(p)
    for k, link in enumerate(bounds):
        mass = unit[10 * k]
        at_least(mass, link.mass[0])
        at_least(-mass, -link.mass[1])
        for axis in range(3):
            moment = unit[10 * k + 1 + axis]
            at_least(moment - link.low[axis] * mass, 0.0)
            at_least(link.high[axis] * mass - moment, 0.0)
    for index in () if not_negative is None else not_negative:
        at_least(unit[index], 0.0)
    for row in () if rows is None else rows:
        if np.any(row):
            at_least(row, 0.0)
    if total_mass is not None:
        total = unit[0:10 * len(bounds):10].sum(axis=0)
        at_least(total, total_mass[0])
        at_least(-total, -total_mass[1])
    return [sparse.csc_matrix(np.array(a))], [np.array(b)], [clarabel.NonnegativeConeT(len(b))]


def _semidefinite(p: int, k: int, nominal: Array, scale: Array) -> tuple[sparse.csc_matrix, Array]:
    """Rows of J - margin in the solver's scaled triangle, balanced by the link's size."""
    size = scale[10 * k:10 * k + 10]
    radius = size[1] / size[0]
    balance = np.array([1.0 / radius, 1.0 / radius, 1.0 / radius, 1.0]) / np.sqrt(size[0])
    block = np.zeros((10, p))
    limit = np.zeros(10)
    for row, (i, j) in enumerate(TRIANGLE):
        factor = (1.0 if i == j else np.sqrt(2.0)) * balance[i] * balance[j]
        block[row, 10 * k:10 * k + 10] = -factor * _BASIS[:, i, j] * size
        limit[row] = -MARGIN if i == j else 0.0
    return sparse.csc_matrix(block), limit


def pseudo_inertia_basis() -> Array:
    """Pseudo-inertia of each unit parameter, (10, 4, 4)."""
    basis = np.zeros((10, 4, 4))
    basis[0, 3, 3] = 1.0
    for axis in range(3):
        basis[1 + axis, axis, 3] = basis[1 + axis, 3, axis] = 1.0
    for index, (i, j) in zip(range(4, 10), ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2)),
                             strict=True):
        if i == j:
            basis[index, :3, :3] = 0.5 * np.eye(3)
            basis[index, i, i] -= 1.0
        else:
            basis[index, i, j] = basis[index, j, i] = -1.0
    return basis


_BASIS = pseudo_inertia_basis()
