"""Thesis 004, tables 5.1 and A.1: torque errors and parameters of the four-joint arm.

The real arm is not known. The simulated one has the friction that the document's best estimate
found, other masses than the CAD model, so that the CAD model misses its torques by about as much
as printed, and what no model here has: backlash, Stribeck friction and noise of the currents.
"""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np

from armsense.identify.estimation.feasible import is_consistent, link_bounds, solve_feasible
from armsense.identify.identify import identify, Options
from armsense.identify.model import IdentifiedModel
from armsense.identify.signals.filters import motion
from armsense.identify.signals.recording import Recording
from armsense.model import Arm, ArmConfig
from armsense.sim import make_plant
from armsense.trajectory.reference import sample_grid
from armsense.types import Array
from bench.motions import fourier_test
from bench.papers.comparison_annealing import solve_annealing
from bench.papers.comparison_slsqp import ComparisonProblem, solve_slsqp
from bench.papers.entry import larger, Progress, Row, smaller, Table
from bench.papers.simulated import changed_arm, drive_rigid
from bench.papers.symbolic_base_parameters import symbolic_base_parameters

RATE, CUTOFF = 1000.0, 20.0           # [Hz] of the recording, of the motion's filter
PRINTED = {'CAD': (41.0, 45.4), 'SLSQP': (35.7, 40.3), 'annealing': (25.8, 34.2)}   # table 5.1 [%]
# Table A.1: columns CAD, SLSQP, SA; links 1 to 4, then fv, fs.
CAD = np.array([
    [2.76e-1, 0, 0, 2.87e-2, 4.33e-3, 0, 4.33e-3, 0, 0, 1.53e-4],
    [5.54e-1, 1.16e-1, 0, 1.99e-3, 3.16e-4, 0, 3.07e-2, -3.50e-4, 0, 3.08e-2],
    [5.28e-1, 2.06e-3, 0, 9.98e-2, 2.54e-2, 0, 2.54e-2, -3.44e-4, 0, 3.25e-4],
    [1.29e-1, 6.13e-3, 0, 0, 5.10e-5, 0, 4.90e-4, 4.49e-5, 0, 4.83e-4]])
SLSQP = np.array([
    [2.76e-1, 1.50e-4, -8.11e-5, 2.87e-2, 4.35e-3, 1.55e-4, 4.29e-3, -2.86e-5, 2.34e-4, 2.01e-4],
    [5.54e-1, 1.16e-1, 1.77e-4, 2.23e-3, 2.75e-4, -1.46e-4, 3.07e-2, -2.61e-4, -2.21e-4, 3.06e-2],
    [5.28e-1, 2.08e-3, 9.94e-5, 9.98e-2, 2.55e-2, 1.88e-4, 2.53e-2, -2.45e-4, 7.70e-5, 3.80e-4],
    [1.29e-1, 6.09e-3, -6.80e-5, -5.06e-5, 3.77e-5, 3.22e-5, 5.96e-4, 6.50e-5, 1.93e-4, 5.34e-4]])
ANNEALED = np.array([
    [2.27e-1, -3.37e-3, 2.30e-3, 5.64e-2, 2.73e-2, -1.84e-5, 2.73e-2, 3.79e-4, 8.68e-4, 1.00e-4],
    [4.00e-1, 2.00e-1, -5.00e-2, 5.00e-2, 1.00e-4, -4.59e-3, 1.41e-1, -2.43e-2, 8.03e-2, 1.00e-4],
    [8.00e-1, -5.79e-3, -2.43e-3, 2.13e-2, 1.57e-1, 5.46e-2, 1.16e-1, 2.83e-2, 5.98e-2, 2.18e-2],
    [5.00e-2, 0, 8.81e-3, 1.00e-2, 1.00e-5, -6.06e-3, 7.08e-3, 1.04e-3, 7.00e-3, 1.00e-5]])
CAD_FRICTION = (np.array([5.30e-6, 4.20e-6, 8.00e-6, 4.20e-6]), np.array([0.20, 0.11, 0.15, 0.11]))
FOUND_FRICTION = (np.array([0.357, 0.323, 0.130, 5.02e-3]),
                  np.array([0.300, 4.81e-2, 4.64e-2, 0.225]))
BENCH = np.array([0.247, 0.103, 0.122, 0.103])      # f of table 4.3 [Nm]
MASSES = {'link1': 0.82, 'link2': 1.4, 'link3': 1.8, 'link4': 1.6}   # assumed, over CAD
BACKLASH = 0.004                                                     # [rad] assumed
STRIBECK = 0.1                                                       # of Coulomb, assumed


class Data(NamedTuple):
    """Recordings of the simulated arm."""

    nominal: Arm           # the CAD model
    truth: Arm
    identification: Recording
    validation: Recording


def make(progress: Progress) -> list[Table]:
    """Tables 5.1 and A.1."""
    progress('laas4 moves')
    data = record()
    progress('laas4: identify')
    model = identify([data.identification], data.nominal, Options(gravity=data.nominal.gravity))
    errors = {'CAD': _errors(data, data.nominal.parameters, *CAD_FRICTION)}
    for name, theta in _comparisons(data, progress).items():
        errors[name] = _errors(data, theta[:40], theta[40:44], theta[44:])
    ours = tuple(model.predict(run).raw().percent
                 for run in (data.identification, data.validation))
    return [_table_51(errors, ours), _table_a1(data, model)]


def record(seconds: float = 20.0) -> Data:
    """20 s at 1 kHz along two Fourier motions with f0 = 0.1 Hz and five harmonics."""
    config = ArmConfig.load('laas4')
    joints = {
        name: dataclasses.replace(joint, backlash=BACKLASH, friction=dataclasses.replace(
            joint.friction, viscous=float(v), coulomb=float(c), stribeck=float(STRIBECK * c)))
        for (name, joint), v, c in zip(config.joints.items(), *FOUND_FRICTION, strict=True)}
    arm = changed_arm(dataclasses.replace(config, joints=joints),
                      {link: {'mass': factor} for link, factor in MASSES.items()})
    truth = Arm.load(arm)
    nominal = Arm.load(config).replace(armature=np.zeros(4))
    noise = np.array([j.current_sensor.noise * j.torque_per_ampere for j in joints.values()])
    runs = []
    for seed in (1, 2):
        motion_ = fourier_test(nominal, seed=seed, frequency=0.1, harmonics=5,
                               periods=0.1 * seconds, use=0.9)
        run = drive_rigid(make_plant(arm), truth, sample_grid(motion_, 1.0 / RATE))
        keep = slice(0, round(seconds * RATE))
        tau = run.tau + noise * np.random.default_rng(seed).standard_normal(run.tau.shape)
        runs.append(Recording(run.t[keep], run.motor[keep], tau[keep], run.dmotor[keep],
                              f'motion {seed}'))
    return Data(nominal, truth, runs[0], runs[1])


def regressor(model: Arm, recording: Recording) -> Array:
    """[Y | dq | sign dq] of eq. 3.6, (N n, 12 n), by filtered positions."""
    moving = motion(recording, CUTOFF)
    n = model.n
    eye = np.eye(n)
    return np.hstack([model.torque_regressor_batch(moving.q, moving.dq, moving.ddq),
                      *((x[:, :, None] * eye).reshape(-1, n)
                        for x in (moving.dq, np.sign(moving.dq)))])


def _comparisons(data: Data, progress: Progress) -> dict[str, Array]:
    """Problem 3.11 by the document's two methods and as a semidefinite program, (48,) each."""
    W, tau = regressor(data.nominal, data.identification), data.identification.tau.ravel()
    H, f = W.T @ W, W.T @ tau
    given: Any = (H, f, data.nominal.parameters, link_bounds(data.nominal), np.arange(40, 48))
    problem = ComparisonProblem(*given)
    progress('laas4: SLSQP')
    found = {'SLSQP': solve_slsqp(problem, starts=5).theta}
    progress('laas4: simulated annealing')
    found['annealing'] = solve_annealing(problem).theta
    found['SDP, same columns'] = solve_feasible(*given)
    return found


def _errors(data: Data, links: Array, viscous: Array, coulomb: Array) -> tuple[float, float]:
    """Eq. 5.3 on both motions [%]."""
    theta = np.concatenate([links, viscous, coulomb])
    out = []
    for run in (data.identification, data.validation):
        gap = run.tau.ravel() - regressor(data.nominal, run) @ theta
        out.append(float(100.0 * np.linalg.norm(gap) / np.linalg.norm(run.tau)))
    return out[0], out[1]


def _table_51(errors: dict[str, tuple[float, float]], ours: tuple[float, ...]) -> Table:
    rows: list[Row] = []
    for k, what in enumerate(('identification', 'validation')):
        for name, found in errors.items():
            printed = PRINTED.get(name)
            rows.append(Row(f'{what}, {name} [%]', printed[k] if printed else None, found[k]))
        rows.append(smaller(f'{what}, armsense against its best [%]', PRINTED['annealing'][k],
                            ours[k]))
    return Table(
        'thesis-004-5.1', 'relative error of predicted torques', tuple(rows),
        'laas4 with other masses than CAD, the friction of the printed estimate, 0.23 degrees of '
        'backlash, Stribeck friction and current noise; 20 s at 1 kHz, f0 = 0.1 Hz, 5 harmonics; '
        'errors of unfiltered torques',
        ('section 3.2.3 calls the problem convex with a global optimum, section 3.3 explains the '
         'many starts with many local minima; its own SLSQP (35.7 %) and annealing (25.8 %) '
         'differ by far on the same data, so at least one had not converged',
         'section 3.4 gives 2 f0 N = 1 Hz as the highest harmonic; that of f0 = 0.1 Hz and N = 5 '
         'is 0.5 Hz'),
        ("the document's arm bends and saturates; the simulated one does not, which is why even "
         "the document's methods do better here than there",))


def _table_a1(data: Data, model: IdentifiedModel) -> Table:
    names = data.nominal.parameter_names
    rows = [Row(name, printed, ours, None, exact) for name, printed, ours, exact in zip(
        names, ANNEALED.ravel().tolist(), model.parameters.tolist(),
        data.truth.parameters.tolist(), strict=True)]
    drive = model.drive_coefficients()
    nothing = np.zeros(4)
    for term, name, printed in (('viscous', 'fv', FOUND_FRICTION[0]),
                                ('coulomb', 'fs', FOUND_FRICTION[1])):
        rows += [Row(f'{name}{k + 1}', float(printed[k]), float(drive.get(term, nothing)[k]),
                     None, float(printed[k])) for k in range(4)]
    base = symbolic_base_parameters(data.nominal)
    exact = base.project(data.truth.parameters)
    gap = [np.linalg.norm(base.project(pi) - exact) / np.linalg.norm(exact)
           for pi in (data.nominal.parameters, model.parameters)]
    rows += [larger('links that can exist, of 4', float(_existing(ANNEALED)),
                    float(_existing(model.parameters.reshape(4, 10)))),
             smaller('Coulomb friction off its bench test, or truth [%]',
                     _worst(FOUND_FRICTION[1], BENCH),
                     _worst(drive.get('coulomb', nothing), FOUND_FRICTION[1])),
             Row('base parameters off [% of their norm], CAD against ours', 100.0 * float(gap[0]),
                 100.0 * float(gap[1]), bool(gap[1] < gap[0]))]
    return Table(
        'thesis-004-A.1', 'parameters of the arm, annealing against ours', tuple(rows),
        'as table 5.1; exact: of the simulated arm',
        (f'of its four links, {_existing(CAD)} (CAD), {_existing(SLSQP)} (SLSQP) and '
         f'{_existing(ANNEALED)} (annealing) can exist: the printed estimates break the '
         'constraint 3.15 that they were found under, or the triangle inequality that it leaves '
         'out', 'Coulomb friction of the CAD column (0.20, 0.11, 0.15, 0.11) is not what table '
         '4.3 measured (0.247, 0.103, 0.122, 0.103)'),
        ('single parameters that only act together are not determined by any motion; they are '
         'shown, their combinations are judged',))


def _existing(links: Array) -> int:
    """Links whose pseudo-inertia is positive definite, up to the printed digits."""
    return sum(is_consistent(link, -1e-6) for link in links)


def _worst(found: Array, expected: Array) -> float:
    return float(100.0 * np.abs(found / expected - 1.0).max())
