"""The design as an optimisation problem in dimensionless free parameters y.

    minimise f(y)   subject to   -1 <= A y + offset <= 1   and   c_g(y) <= 0 for each group g

Position, velocity, acceleration and jerk are linear in y and stand in A, on a dense grid. Torque
and clearances are the nonlinear groups, in units of the limit and of 0.1 m. A unit of y brings a
joint to one of its limits.
"""

from typing import NamedTuple

import numpy as np

from armsense.excite.clearance_rows import ClearanceRows, Index
from armsense.excite.constraints import Constraints, shrunk
from armsense.excite.criteria import Criterion
from armsense.excite.information import Information, linearise, Linearised, Motion, regressor
from armsense.excite.parametrisation import Parametrisation
from armsense.model import Arm
from armsense.types import Array

SAMPLES_PER_CYCLE = 20       # of the highest frequency, for regressor and torque
FEWEST, MOST = 60, 1000      # samples of a period
DENSER = 3                   # grid of the joint limits and clearances
MARGIN = 0.004               # of every limit, for what happens between samples
CLEARANCE_MARGIN = 0.002     # [m]
CLEARANCE_UNIT = 0.1         # [m]
RESOLUTION = 5e-4            # relative change of an eigenvalue of M
TORQUE_REACH = 0.3           # rows closer to their limit than this enter a step,
CLEARANCE_REACH = 2.0        # in their units,
AROUND_PEAK = 2              # with so many samples on both sides of a peak,
MOST_ROWS = 300              # but only so many of each group
CONSTANT = 1e-6              # change of a row that is none


class Rows(NamedTuple):
    """Linearised nonlinear constraints c + J d <= 0 of one group."""

    kind: str
    c: Array     # (r,)
    J: Array     # (r, size)


class Step(NamedTuple):
    """Everything a step of the optimiser needs at one point."""

    gradient: Array      # (size,)
    rows: list[Rows]


class Problem:
    """One design."""

    def __init__(self, model: Arm, shape: Parametrisation, constraints: Constraints,
                 information: Information, criterion: Criterion, rate: float) -> None:
        """Lay out the grids; the recording will have `rate` samples per second [Hz]."""
        self.model, self.shape, self.constraints = model, shape, constraints
        self.information, self.criterion = information, criterion
        count = grid_size(shape)
        self.weight = rate * shape.period / count       # recorded samples per grid sample
        self.times = np.arange(count) * shape.period / count
        dense = np.linspace(0.0, shape.period, DENSER * count + 1)
        self._limits = limits = shrunk(constraints.limits, 1.0 - MARGIN)
        self._room = (0.5 * (limits.upper - limits.lower), limits.velocity, limits.acceleration,
                      limits.jerk)                      # position to jerk, (n,) each
        self._free = shape.free()                       # (m, f)
        self.scale = self._scales(dense)                # (n, f)
        self._basis = [self._scaled_basis(self.times, order) for order in range(3)]
        self._still = [shape.derivative(shape.rest(), self.times, order) for order in range(3)]
        self._linear(dense)
        self.clearance = ClearanceRows(model, shape.start, constraints)
        joints = model.config.joints.values()   # drives add inertia, viscous and dry friction
        self._drive = np.array([(j.reflected_inertia, j.friction.viscous, j.friction.coulomb)
                                for j in joints]).T

    @property
    def resolution(self) -> float:
        """Gain of the objective that is not worth a further step."""
        terms = self.size if self.criterion.name == 'd_optimal' else 2    # D sums logarithms
        return RESOLUTION * terms

    @property
    def size(self) -> int:
        return self.scale.size

    def coefficients(self, y: Array) -> Array:
        """Coefficients of the motion, (n, m)."""
        x = y.reshape(self.scale.shape) * self.scale
        return np.asarray(self.shape.rest() + x @ self._free.T)

    def motion(self, y: Array) -> Motion:
        """On the grid of the regressor."""
        x = y.reshape(self.scale.shape)
        return Motion(*(still + np.einsum('kjf,jf->kj', B, x)
                        for still, B in zip(self._still, self._basis, strict=True)))

    def value(self, y: Array) -> tuple[float, dict[str, float]]:
        """Objective, and the worst c of each nonlinear group."""
        motion = self.motion(y)
        Y = regressor(self.model, motion)
        f = sum(self.criterion.objective(M)
                for M in self.information.matrices(Y, motion, self.weight))
        worst = {'torque': float(self._torque_excess(Y, motion)[0].max())}
        for group in self.clearance.groups(self._dense_positions(y))[1]:
            worst[group.kind] = (CLEARANCE_MARGIN - float(group.value.min())) / CLEARANCE_UNIT
        return f, worst

    def step_data(self, y: Array) -> Step:
        """Gradient of the objective and the nonlinear rows that matter."""
        point = linearise(self.model, self.motion(y))
        _, by_state = self.information.gradient(self.criterion, point, self.weight)
        gradient = sum(np.einsum('kj,kjf->jf', g, B)
                       for g, B in zip(by_state, self._basis, strict=True))
        rows = [self._torque_rows(point), *self._clearance_rows(y)]
        return Step(np.asarray(gradient).ravel(), [r for r in rows if len(r.c)])

    # -- linear part -------------------------------------------------------------------------

    def _linear(self, dense: Array) -> None:
        """A (n, R, f), offset (n, R) in units of the limits."""
        middle, half = 0.5 * (self._limits.upper + self._limits.lower), self._room[0]
        blocks, offsets = [], []
        for order, room in enumerate(self._room):
            blocks.append(self._scaled_basis(dense, order) / room[:, None])
            still = self.shape.derivative(self.shape.rest(), dense, order)
            offsets.append((still - (middle if order == 0 else 0.0)) / room)
        self.A = np.ascontiguousarray(np.concatenate(blocks).transpose(1, 0, 2))
        self.offset = np.concatenate(offsets).T
        self._dense = blocks[0] * half[:, None]              # positions on the dense grid
        self._dense_still = offsets[0] * half + middle

    def linear_values(self, y: Array) -> Array:
        """Joint quantities in units of their limits; within -1 to 1, (n, R)."""
        return np.asarray(self.offset
                          + (self.A @ y.reshape(self.scale.shape)[:, :, None])[:, :, 0])

    def longest_step(self, y: Array, d: Array) -> float:
        """Largest s <= 1 with y + s d within the linear limits; y itself is."""
        now = self.linear_values(y)
        change = self.linear_values(y + d) - now
        room = np.where(change > 0.0, 1.0 - now, -1.0 - now)
        moving = np.abs(change) > 1e-12
        return float(min(1.0, np.min(room[moving] / change[moving], initial=1.0)))

    def _dense_positions(self, y: Array) -> Array:
        x = y.reshape(self.scale.shape)
        return np.asarray(self._dense_still + np.einsum('kjf,jf->kj', self._dense, x))

    def _scales(self, dense: Array) -> Array:
        size = [np.abs(self.shape.basis(dense, order) @ self._free).max(axis=0) / room[:, None]
                for order, room in enumerate(self._room)]
        return np.asarray(1.0 / np.max(size, axis=0))

    def _scaled_basis(self, t: Array, order: int) -> Array:
        return np.asarray(self.shape.basis(t, order) @ self._free * self.scale)

    # -- nonlinear part ----------------------------------------------------------------------

    def _torque_excess(self, Y: Array, motion: Motion) -> tuple[Array, Array]:
        """(|tau| + Coulomb) / limit - 1, and the sign of tau, (N, n) each."""
        inertia, viscous, coulomb = self._drive
        tau = Y @ self.model.parameters + inertia * motion.ddq + viscous * motion.dq
        return (np.abs(tau) + coulomb) / self._limits.torque - 1.0, np.sign(tau)

    def _torque_rows(self, point: Linearised) -> Rows:
        inertia, viscous, _ = self._drive
        excess, sign = self._torque_excess(point.Y, point.motion)
        k, j = _critical(excess, TORQUE_REACH)
        n = self.model.n
        slope = point.dY[k, :, j] @ self.model.parameters          # d tau_j / d state, (r, 3 n)
        every = np.arange(len(k))
        slope[every, n + j] += viscous[j]
        slope[every, 2 * n + j] += inertia[j]
        slope *= (sign[k, j] / self._limits.torque[j])[:, None]
        J = sum(slope[:, order * n:(order + 1) * n, None] * self._basis[order][k]
                for order in range(3))
        return Rows('torque', excess[k, j], np.asarray(J).reshape(len(k), self.size))

    def _clearance_rows(self, y: Array) -> list[Rows]:
        place, groups = self.clearance.groups(self._dense_positions(y))
        found = []
        for group in groups:
            c = (CLEARANCE_MARGIN - group.value) / CLEARANCE_UNIT
            k, row = _critical(c, CLEARANCE_REACH)
            slope = -self.clearance.gradient(place, group, k, row) / CLEARANCE_UNIT   # (r, n)
            J = slope[:, :, None] * self._dense[k]
            found.append(Rows(group.kind, c[k, row], J.reshape(len(k), self.size)))
        return found


def grid_size(shape: Parametrisation) -> int:
    """Samples of a period that show its fastest part."""
    return int(np.clip(np.ceil(SAMPLES_PER_CYCLE * shape.bandwidth * shape.period), FEWEST, MOST))


def _critical(c: Array, reach: float) -> tuple[Index, Index]:
    """Entries (sample, row) around the peaks over time that are within reach of their limit.

    A row that stays the same whatever the arm does, such as the distance of two links that turn
    about a common axis, has no gradient and is left out.
    """
    near = c > -reach
    peak = near.copy()
    peak[1:] &= c[1:] >= c[:-1]
    peak[:-1] &= c[:-1] >= c[1:]
    around = peak.copy()
    for shift in range(1, AROUND_PEAK + 1):
        around[shift:] |= peak[:-shift]
        around[:-shift] |= peak[shift:]
    places = np.flatnonzero(around & near & (np.ptp(c, axis=0) > CONSTANT))
    if len(places) > MOST_ROWS:
        worst = np.argpartition(c.ravel()[places], -MOST_ROWS)[-MOST_ROWS:]
        places = np.sort(places[worst])
    k, row = np.unravel_index(places, c.shape)
    return k, row
