"""The two steps of thesis 000 on biorob: actuator side (4.4), then load side (4.5-4.28)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from armsense.drive.elastic_joint import ElasticJoint
from armsense.excite import design_excitation, DesignOptions
from armsense.model import Arm
from armsense.sim import make_plant
from armsense.trajectory.limits import Limits
from armsense.trajectory.quintic_spline import point_to_point
from armsense.trajectory.reference import sample_grid, Samples
from armsense.types import Array
from bench.motions import fourier_test
from bench.papers.least_squares import ordinary
from bench.papers.simulated import drive_elastic, Run

STEP = 1e-3            # [s] of the controller
SAMPLES = 2000         # P per period
DEAD = 0.02            # [rad/s] below which dry friction has no known sign
POINTS = 6             # of the evaluation trajectory
TERMS = ('d_e', 'd_v,m', 'k_e', 'd_C,m')     # order of eq. 4.4
NAMES = ('m', 'mx', 'my', 'mz', 'Ixx', 'Ixy', 'Iyy', 'Ixz', 'Iyz', 'Izz')
LENGTHS = {2: 0.30, 3: 0.30, 4: 0.20}        # [m] of the links, as in the arm's URDF


class Signals(NamedTuple):
    """What both regressors need, on the samples of the document; (N, n) each."""

    q: Array
    dq: Array
    ddq: Array
    deflection: Array       # of the springs [rad]
    rate: Array             # [rad/s]
    dmotor: Array
    ddmotor: Array
    tau: Array              # of the motors [Nm]


def designed(model: Arm, kind: str = 'fourier', degree: int = 5,
             criterion: str = 'd_optimal', seed: int = 1) -> Samples:
    """One period of an optimal motion for both sides, on the controller's clock."""
    options = DesignOptions(kind=kind, criterion=criterion, harmonics=degree, seed=seed, starts=2,
                            guesses=8, iterations=25, time_limit=0.0)
    design = design_excitation(model, options, rate=SAMPLES / 10.0)
    return sample_grid(design.excitation.trajectory(1), STEP)


def evaluation(model: Arm, seed: int = 0) -> Samples:
    """Between random points as fast as the limits allow, with a stop at each."""
    limits = Limits.of(model)
    rng = np.random.default_rng(seed)
    middle, half = 0.5 * (limits.upper + limits.lower), 0.35 * (limits.upper - limits.lower)
    points = [np.array(model.config.home if model.config else middle)]
    points += [middle + half * rng.uniform(-1.0, 1.0, model.n) for _ in range(POINTS)]
    parts = [sample_grid(point_to_point(a, b, limits, model, 0.7), STEP)
             for a, b in zip(points[:-1], points[1:], strict=True)]
    joined = [np.concatenate([getattr(part, name)[:-1] for part in parts])
              for name in ('q', 'dq', 'ddq', 'jerk')]
    t = np.arange(len(joined[0]), dtype=float) * STEP
    return Samples(t, *joined)


def everyday(model: Arm, seed: int = 3) -> Samples:
    """A random Fourier motion that nobody optimised."""
    return sample_grid(fourier_test(model, seed=seed, frequency=0.1, harmonics=5, use=0.7), STEP)


def moved(model: Arm, motion: Samples) -> Signals:
    """The simulated arm along a motion; the document's simulation has no noise, nor has this."""
    run = drive_elastic(make_plant(model.config), model, motion)
    return signals(run, ElasticJoint.from_config(model.config))


def signals(run: Run, springs: ElasticJoint) -> Signals:
    """Accelerations by differences; as many samples as the document takes."""
    path = np.eye(run.q.shape[1]) + springs.coupling
    ddq, ddmotor = (_second(x) for x in (run.q, run.motor))
    every = max(1, len(run.t) // SAMPLES)
    inner = slice(5, -5, every)
    return Signals(*(x[inner] for x in (
        run.q, run.dq, ddq, run.motor - run.q @ path.T, run.dmotor - run.dq @ path.T, run.dmotor,
        ddmotor, run.tau)))


def _second(x: Array) -> Array:
    """Second differences; the first and last are only repeated."""
    inner = (x[2:] - 2.0 * x[1:-1] + x[:-2]) / STEP**2
    return np.concatenate([inner[:1], inner, inner[-1:]])


# -- actuator side ---------------------------------------------------------------------------

def rotor_inertia(model: Arm) -> Array:
    """Known, as in the document [kg m^2], (n,)."""
    return np.array([joint.reflected_inertia for joint in model.config.joints.values()])


def actuator_columns(s: Signals, joint: int) -> Array:
    """Eq. 4.4, (N, 4)."""
    return np.stack([s.rate[:, joint], s.dmotor[:, joint], s.deflection[:, joint],
                     np.sign(s.dmotor[:, joint])], axis=1)


def actuator_side(model: Arm, s: Signals) -> Array:
    """d_e, d_v,m, k_e, d_C,m of every joint by least squares, (n, 4)."""
    inertia = rotor_inertia(model)
    found = []
    for joint in range(model.n):
        moving = np.abs(s.dmotor[:, joint]) > DEAD
        y = (s.tau - inertia * s.ddmotor)[moving, joint]
        found.append(ordinary(actuator_columns(s, joint)[moving], y).theta)
    return np.array(found)


def actuator_exact(model: Arm) -> Array:
    """Of the simulated arm, (n, 4)."""
    return np.array([[j.elastic.damping, j.friction.viscous, j.elastic.stiffness,
                      j.friction.coulomb] for j in model.config.joints.values() if j.elastic])


def motor_errors(model: Arm, parameters: Array, s: Signals) -> Array:
    """RMS error of the estimated motor torques (4.50) [Nm], (n,)."""
    inertia = rotor_inertia(model)
    gap = [s.tau[:, k] - inertia[k] * s.ddmotor[:, k] - actuator_columns(s, k) @ parameters[k]
           for k in range(model.n)]
    return np.sqrt(np.mean(np.square(gap), axis=1))


# -- load side -------------------------------------------------------------------------------

def load_lines() -> Array:
    """The combinations of table 4.5, links about the document's frames at their ends, (16, 44).

    The last four columns are the viscous friction of the bearings, d_1 to d_4.
    """
    def unit(link: int, name: str) -> Array:
        row = np.zeros(44)
        row[10 * (link - 1) + NAMES.index(name)] = 1.0
        return row

    def end(link: int, name: str) -> Array:
        if link == 1:                               # its y axis is our z axis
            return unit(1, 'Izz')
        length, row = LENGTHS[link], unit(link, name)
        if name == 'mx':
            row = row - length * unit(link, 'm')
        elif name in ('Iyy', 'Izz'):
            row = row - 2.0 * length * unit(link, 'mx') + length**2 * unit(link, 'm')
        return row

    def per(link: int, power: int) -> Array:
        return np.asarray(end(link, 'Izz') / LENGTHS[link] ** power)

    def flat(link: int) -> Array:
        return np.asarray(end(link, 'Ixx') - end(link, 'Iyy') + end(link, 'Izz'))

    friction = np.eye(44)[40:]
    total = end(1, 'Iyy') + sum(end(k, 'Iyy') - end(k, 'Izz') for k in (2, 3, 4))
    return np.array([
        total, friction[0], per(3, 2) - per(2, 2) + end(2, 'm'), per(2, 1) + end(2, 'mx'),
        end(2, 'my'), flat(2), end(2, 'Ixy'), friction[1], per(4, 2) - per(3, 2) + end(3, 'm'),
        per(3, 1) + end(3, 'mx'), flat(3), friction[2], end(4, 'm') - per(4, 2),
        per(4, 1) + end(4, 'mx'), flat(4), friction[3]])


def symmetric_columns() -> list[int]:
    """Parameters left by the simplification of section 4.3.1, and the bearings."""
    kept = {1: ('m', 'mz', 'Ixx', 'Iyy', 'Izz'), 2: ('m', 'mx', 'my', 'Ixx', 'Iyy', 'Izz', 'Ixy'),
            3: ('m', 'mx', 'Ixx', 'Iyy', 'Izz'), 4: ('m', 'mx', 'Ixx', 'Iyy', 'Izz')}
    return [10 * (link - 1) + NAMES.index(name) for link, names in kept.items()
            for name in names] + list(range(40, 44))


def load_regressor(model: Arm, s: Signals) -> Array:
    """[Y | dq], (N n, 44)."""
    friction = (s.dq[:, :, None] * np.eye(model.n)).reshape(-1, model.n)
    return np.hstack([model.torque_regressor_batch(s.q, s.dq, s.ddq), friction])


def link_torque(model: Arm, parameters: Array, s: Signals) -> Array:
    """Torque of the springs on the links by identified stiffness and damping, (N, n)."""
    path = np.eye(model.n) + ElasticJoint.from_config(model.config).coupling
    return np.asarray((parameters[:, 2] * s.deflection + parameters[:, 0] * s.rate) @ path)


def load_side(model: Arm, actuator: Array, s: Signals) -> Array:
    """Links and bearings with the least norm that the torques allow, (44,)."""
    columns = symmetric_columns()
    W, y = load_regressor(model, s)[:, columns], link_torque(model, actuator, s).ravel()
    pi = np.zeros(44)
    pi[columns] = np.linalg.lstsq(W, y, rcond=1e-9)[0]
    return pi


def load_errors(model: Arm, actuator: Array, pi: Array, s: Signals) -> Array:
    """RMS error of the transmission torques (4.50) [Nm], (n,)."""
    gap = link_torque(model, actuator, s) - (load_regressor(model, s) @ pi).reshape(-1, model.n)
    return np.sqrt(np.mean(np.square(gap), axis=0))


def relative_errors(found: Array, exact: Array) -> tuple[float, float]:
    """Mean and largest relative error (4.48 and 4.49 without its 1/16), zeros left out."""
    known = np.abs(exact) > 1e-12
    share = np.abs(found[known] - exact[known]) / np.abs(exact[known])
    return float(share.mean()), float(share.max())
