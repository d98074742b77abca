"""Drive gains from loads of known mass.

A gain that is told wrongly scales the torque of a joint. The model of the empty arm takes that
scale over, so only a torque that is known from outside shows it: that of a known mass m with its
centre c. What the load adds to the recorded torque of joint j is

    y_j = k_j A_j(q, dq, ddq) p(m, c),   p = [m, m c, point mass inertia],   true gain = told / k_j

beside what the model of the empty arm misses, A_j d_j, which an empty run shows alone. One centre
serves all joints; where it is not told it is found with the k_j.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import linalg, optimize

from armsense.errors import BadValue
from armsense.identify.model import IdentifiedModel, NORMAL_95
from armsense.identify.payload import difference, identify_payload
from armsense.identify.signals.filters import correlation_factor
from armsense.identify.signals.recording import Recording
from armsense.types import Array

RIDGE = 1e-6      # of the largest product: keeps parameters solvable that move no torque
STEP = 1e-5       # [m] of differences by the centre
TELLS = 0.3       # half of an interval: a wider one tells no gain


class KnownLoad(NamedTuple):
    """A run with a load that was weighed."""

    recording: Recording
    mass: float                    # [kg]
    center: Array | None = None    # in the frame of the last link [m], (3,); None: unknown


class DriveGains(NamedTuple):
    """What the loads say of the gains."""

    scale: Array       # recorded over true torque, (n,)
    half: Array        # of 95 % intervals, (n,)
    centers: Array     # of the loads in the frame of the last link [m], (loads, 3)

    @property
    def told(self) -> Array:
        """Joints whose gain the loads tell, bool (n,)."""
        return np.asarray(self.half < TELLS)


class _Joint(NamedTuple):
    """Products of one joint over one loaded and the empty run, in units of its noise."""

    loaded: Array     # A^T A, (10, 10)
    empty: Array      # the same without load
    side: Array       # A^T y of the loaded run, (10,)
    side_empty: Array


def load_parameters(mass: float, center: Array) -> Array:
    """Of a point mass at a centre, about the frame [kg, kg m, kg m^2], (10,)."""
    x, y, z = center
    return mass * np.array([1.0, x, y, z, y * y + z * z, -x * y, x * x + z * z, -x * z, -y * z,
                            x * x + y * y])


def calibrate_gains(model: IdentifiedModel, loads: Sequence[KnownLoad],
                    empty: Recording) -> DriveGains:
    """Gains of all drives, from one known load or several, and a run without."""
    if not loads:
        raise BadValue('number of known loads', 0, '>= 1')
    for load in loads:
        if not load.mass > 0.0:
            raise BadValue('mass of a known load', load.mass, '> 0 kg')
    products = [_products(model, load.recording, empty) for load in loads]
    first = [identify_payload(model, load.recording, empty).center if load.center is None
             else np.asarray(load.center, float) for load in loads]
    free = [k for k, load in enumerate(loads) if load.center is None]

    def centers(x: Array) -> list[Array]:
        found = list(first)
        for k, part in zip(free, x.reshape(-1, 3), strict=True):
            found[k] = part
        return found

    def cost(x: Array) -> float:
        return sum(_fit(joints, load_parameters(load.mass, c))[1]
                   for joints, load, c in zip(products, loads, centers(x), strict=True))

    start = np.concatenate([first[k] for k in free]) if free else np.zeros(0)
    best = optimize.minimize(cost, start, method='Nelder-Mead', options={
        'xatol': 1e-5, 'fatol': 1e-4, 'maxiter': 400 * len(start)}).x if free else start
    # Each load tells the gains with its own precision.
    values, precisions = [], []
    for joints, load, c in zip(products, loads, centers(best), strict=True):
        scale, _ = _fit(joints, load_parameters(load.mass, c))
        values.append(scale)
        precisions.append(_precision(joints, load.mass, c, scale, load.center is None))
    total = np.sum(precisions, axis=0)
    mean = np.linalg.solve(total, np.sum([P @ v for P, v in zip(precisions, values, strict=True)],
                                         axis=0))
    half = NORMAL_95 * np.sqrt(np.diag(np.linalg.inv(total)))
    return DriveGains(mean, half, np.array(centers(best)))


def _products(model: IdentifiedModel, loaded: Recording, empty: Recording) -> list[_Joint]:
    """Of every joint."""
    A, y, _ = difference(model, loaded)
    A0, y0, _ = difference(model, empty)
    out = []
    for j in range(model.model.n):
        columns = np.concatenate([np.hstack([A[:, j], A[:, j]]),
                                  np.hstack([np.zeros_like(A0[:, j]), A0[:, j]])])
        sides = np.concatenate([y[:, j], y0[:, j]])
        left = sides - columns @ np.linalg.lstsq(columns, sides, rcond=1e-9)[0]
        noise = np.mean(np.square(left)) * max(map(correlation_factor, np.split(left, [len(y)])))
        out.append(_Joint(A[:, j].T @ A[:, j] / noise, A0[:, j].T @ A0[:, j] / noise,
                          A[:, j].T @ y[:, j] / noise, A0[:, j].T @ y0[:, j] / noise))
    return out


def _system(joint: _Joint, p: Array) -> Array:
    """Products of [d_j, k_j], (11, 11)."""
    own = joint.loaded @ p
    H = np.block([[joint.loaded + joint.empty, own[:, None]], [own[None], p @ own]])
    return np.asarray(H + RIDGE * np.diag(np.append(np.diag(H)[:-1] + 1e-9 * H.max(), 0.0)))


def _fit(joints: list[_Joint], p: Array) -> tuple[Array, float]:
    """K of every joint, (n,), and the cost without its constant."""
    scale, cost = [], 0.0
    for joint in joints:
        side = np.append(joint.side + joint.side_empty, p @ joint.side)
        x = linalg.solve(_system(joint, p), side, assume_a='sym')
        scale.append(x[-1])
        cost -= float(side @ x)
    return np.array(scale), cost


def _precision(joints: list[_Joint], mass: float, center: Array, scale: Array,
               free: bool) -> Array:
    """Information on k, (n, n), with all d and, where it is free, the centre left open."""
    n, p = len(joints), load_parameters(mass, center)
    slope = np.stack([(load_parameters(mass, center + step) - load_parameters(mass, center - step))
                      / (2.0 * STEP) for step in STEP * np.eye(3)], axis=1)        # (10, 3)
    kept = np.zeros((n + 3, n + 3))
    for j, joint in enumerate(joints):
        outer = np.column_stack([p, scale[j] * slope])                             # (10, 4)
        own = joint.loaded @ outer
        inside = _system(joint, p)[:10, :10]
        reduced = outer.T @ own - own.T @ linalg.solve(inside, own, assume_a='sym')
        places = [j, n, n + 1, n + 2]
        kept[np.ix_(places, places)] += reduced
    if not free:
        return kept[:n, :n]
    C = kept[n:, n:] + 1e-9 * np.trace(kept[n:, n:]) * np.eye(3)
    return np.asarray(kept[:n, :n] - kept[:n, n:] @ np.linalg.solve(C, kept[n:, :n]))
