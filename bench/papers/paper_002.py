"""Paper 002, table I: excitation and identification of a CRS A465."""

from __future__ import annotations

import numpy as np

from armsense.errors import ArmsenseError
from armsense.excite import BaseCylinder, Constraints
from armsense.excite.criteria import make_criterion
from armsense.excite.families import CosinePolynomial
from armsense.excite.information import RigidInformation
from armsense.excite.problem import Problem
from armsense.excite.search import first_guess
from armsense.excite.sqp import Iterate, Minimiser
from armsense.identify.estimation.base_parameters import BaseParameters
from armsense.model import Arm
from armsense.sim import make_plant
from armsense.trajectory.reference import Samples
from armsense.types import Array
from bench.papers.entry import larger, Progress, Row, smaller, Table
from bench.papers.least_squares import ordinary
from bench.papers.simulated import drive_rigid
from bench.papers.symbolic_base_parameters import symbolic_base_parameters

PERIOD, RATE, FINER = 5.0, 300.0, 10        # [s]; [Hz] of the samples; controller steps in each
NOISE = np.array([5.0, 4.0, 3.0])           # [Nm]
RADIUS = 0.33                               # [m] of the base that the tool keeps clear of
START = np.array([0.0, 0.0, -0.6])          # [rad] assumed: at zero the tool is too close
SEEDS = 6                                   # starts of the design
SMOOTHING = 1e-3                            # [rad/s] of the sign in the regressor
# Column 2 by the parameter that leads a line; exact, estimated, sigma.
TABLE = {
    'Iyy1': (0.2812, 0.0660, 0.1141), 'mx2': (4.3310, 4.3209, 0.0220),
    'my2': (-0.0910, -0.0732, 0.0203), 'Ixx2': (-0.0898, 0.1169, 0.0986),
    'Ixy2': (-0.0028, 0.0284, 0.0516), 'Ixz2': (0.0458, 0.0220, 0.0478),
    'Iyz2': (0.0006, -0.0157, 0.0407), 'Izz2': (0.1204, 0.1416, 0.0384),
    'mx3': (-0.0500, -0.0743, 0.0138), 'mz3': (-1.9800, -1.9705, 0.0130),
    'Izz3': (-0.0951, -0.1614, 0.0483), 'Ixy3': (0.0003, 0.0493, 0.0296),
    'Ixz3': (-0.0016, 0.0252, 0.0263), 'Iyy3': (0.1081, 0.1144, 0.0166),
    'Iyz3': (0.0016, -0.0059, 0.0233), 'viscous1': (1.7760, 1.3954, 0.2029),
    'viscous2': (3.3480, 3.4604, 0.1244), 'viscous3': (2.3110, 2.4069, 0.1149),
    'coulomb1': (3.5120, 3.8686, 0.2170), 'coulomb2': (0.6350, 0.3888, 0.2619),
    'coulomb3': (1.4510, 1.6514, 0.1272)}
PRODUCTS = ('Ixy2', 'Ixz2', 'Iyz2', 'Ixy3', 'Ixz3', 'Iyz3')   # printed with the other sign
TORQUE_RMS = (5.4236, 2.5394, 2.4632)                         # [Nm]
# Table II, coefficients of the optimised motion.
COEFFICIENTS = np.array([[-0.0136, 0.5298, -0.0498, -0.1282, 0.3746],
                         [-0.1601, -0.1204, -0.0758, -0.1580, -0.5085],
                         [-0.0352, -0.0683, -0.0009, 0.2270, -0.3481]])


def make(progress: Progress) -> list[Table]:
    """Table I."""
    model = Arm.load('crs_a465')
    base = symbolic_base_parameters(model, ('viscous', 'coulomb'), prefer=tuple(TABLE))
    progress('crs_a465: design')
    terms = COEFFICIENTS.shape[1]
    shape = CosinePolynomial(np.zeros(3), np.zeros(3), PERIOD, terms)
    t = np.arange(0.0, PERIOD, 1.0 / (FINER * RATE))
    motion = shape.motion(design(model, shape, None), t)
    progress('crs_a465: design clear of the base')
    bent = CosinePolynomial(START, START, PERIOD, terms)
    clear = bent.motion(design(model, bent, BaseCylinder(RADIUS)), t[::FINER])
    progress('crs_a465: moves')
    W, tau = recording(model, base, motion)
    noisy = tau + NOISE * np.random.default_rng(0).standard_normal(tau.shape)
    estimate = ordinary(W, noisy.ravel(), np.tile(NOISE**-2.0, len(tau)))
    information = W.T @ (W * np.tile(NOISE**-2.0, len(tau))[:, None])
    theirs = _information(model, base, shape.motion(COEFFICIENTS, t[::FINER]))
    volumes = [float(np.linalg.slogdet(M)[1])
               for M in (theirs, information, _information(model, base, clear))]
    return [_table(model, base, estimate.theta, information, volumes, W, tau)]


def design(model: Arm, shape: CosinePolynomial, base: BaseCylinder | None) -> Array:
    """Coefficients of the best D-optimal motion within the printed limits, (3, 5)."""
    information = RigidInformation(model, NOISE, terms=('viscous', 'coulomb'))
    constraints = Constraints.of(model, 1.0, floor=None, self_distance=-10.0,
                                 base_cylinder=base)
    problem = Problem(model, shape, constraints, information, make_criterion('d_optimal'), RATE)
    found: list[Iterate] = []
    for seed in range(SEEDS):
        guess = first_guess(problem, np.random.default_rng(seed))
        if guess is not None:
            Minimiser(problem, guess.y).run(60, found.append, lambda: False)
    feasible = [point for point in found if point.violation <= 0.0]
    if not feasible:
        raise ArmsenseError('crs_a465: no motion keeps the limits of paper 002')
    return problem.coefficients(min(feasible, key=lambda point: point.objective).y)


def recording(model: Arm, base: BaseParameters, motion: Samples) -> tuple[Array, Array]:
    """Regressor of the base parameters (4500, 21) and true torques (1500, 3), as driven."""
    run = drive_rigid(make_plant(model.config), model, motion)
    step = motion.t[1] - motion.t[0]
    ddq = np.gradient(run.dq, step, axis=0)
    keep = slice(0, None, FINER)
    return regressor(model, base, run.q[keep], run.dq[keep], ddq[keep]), run.tau[keep]


def regressor(model: Arm, base: BaseParameters, q: Array, dq: Array, ddq: Array) -> Array:
    """Columns of the base parameters, (3 N, 21)."""
    eye = np.eye(3)
    W = np.hstack([model.torque_regressor_batch(q, dq, ddq),
                   *((x[:, :, None] * eye).reshape(-1, 3)
                     for x in (dq, np.tanh(dq / SMOOTHING)))])
    return base.regressor(W)


def _information(model: Arm, base: BaseParameters, motion: Samples) -> Array:
    W = regressor(model, base, motion.q, motion.dq, motion.ddq)
    return np.asarray(W.T @ (W * np.tile(NOISE**-2.0, len(motion.t))[:, None]))


def _table(model: Arm, base: BaseParameters, found: Array, ours: Array,
           volumes: list[float], W: Array, tau: Array) -> Table:
    leads = [base.parameter_names[k] for k in base.independent]
    friction = [j.friction for j in model.config.joints.values()]
    exact = base.project(np.concatenate([model.parameters, [f.viscous for f in friction],
                                         [f.coulomb for f in friction]]))
    sigma = np.sqrt(np.diag(np.linalg.inv(ours)))
    rows: list[Row] = []
    for name, (_, estimated, _) in TABLE.items():
        k, sign = leads.index(name), -1.0 if name in PRODUCTS else 1.0
        rows.append(Row(base.names[k], estimated, sign * float(found[k]), None,
                        sign * float(exact[k])))
    ratios = []
    for name, (_, _, printed) in TABLE.items():
        mine = float(sigma[leads.index(name)])
        rows.append(Row(f'sigma of {name}', printed, mine))
        ratios.append(mine / printed)
    rows += [smaller('sigma, geometric mean over the printed ones', 1.0,
                     float(np.exp(np.mean(np.log(ratios))))),
             larger('log det of the information, motion of table II against ours', *volumes[:2]),
             larger('the same, ours 330 mm clear of the first axis', volumes[0], volumes[2])]
    rms = np.sqrt(np.mean(np.square(tau - (W @ found).reshape(-1, 3)), axis=0))
    rows += [smaller(f'torque error, joint {k + 1} [Nm]', TORQUE_RMS[k], float(rms[k]))
             for k in range(3)]
    inside = float(np.mean(np.abs(found - exact) <= 1.96 * sigma))
    rows.append(Row('share within 95 % of its own sigma', _share_within(), inside))
    return Table(
        'paper-002-I', 'CRS A465: 21 base parameters', tuple(rows),
        'three axes in MuJoCo; D-optimal cosine-polynomial motion of five terms within the '
        'printed limits of the joints; 1500 samples at 300 Hz, torque noise 5, 4, 3 Nm, '
        'exact angles',
        _contradictions(),
        ('estimates are one draw of the noise and are only shown; sigma, log det and torque error '
         'depend on it little or not at all',
         'the judged motion ignores the base as the printed one does; a motion that keeps arm and '
         'tool 330 mm clear of the first axis is also designed',
         'D-optimal motions make the product of all sigma small, not each of them'))


def _share_within() -> float:
    return float(np.mean([abs(estimated - exact) <= 1.96 * sigma
                          for exact, estimated, sigma in TABLE.values()]))


def _contradictions() -> tuple[str, ...]:
    share = [abs((exact - estimated) / exact) for exact, estimated, _ in TABLE.values()]
    return (
        f'table I gives an average relative error of {np.mean(share):.1f} and a largest of '
        f'{max(share):.0f}; printed are 0.66 and 3.26',
        'lines 1, 4, 8, 11 and 14 leave out the parallel-axis terms (such as l2^2 m3): with their '
        'exact values the forearm would weigh more than 36 kg and the mass matrix would not be '
        'positive; they are taken as moments about the centres of mass, and judged as identified',
        'a torque error of 5.42 Nm at joint 1 is more than the noise of 5 Nm that it is said not '
        'to contain: parameters of the printed sigma give about 0.5 Nm',
        'the last coefficient of axis 1 in the cycloidal column of table II is 0.0196; 5/3 of '
        'that of axis 2, as in all other lines, is 0.0163',
        'about the zero pose, the motion of table II passes the first axis within millimetres, '
        'where its own constraint asks for 330 mm')
