"""Design of an optimal excitation: many starts, one optimiser, a proof at the end.

Anytime: a feasible motion exists from the first moment on, every better one replaces it, and a
time limit, a cancel or Ctrl-C ends the search with the best one. The result depends on the seed
only, unless the search was cut short.
"""

from collections.abc import Callable
import math
import time
from typing import NamedTuple

import numpy as np

from armsense.errors import ArmsenseError, BadValue
from armsense.excite.constraints import Constraints
from armsense.excite.criteria import condition_number, make_criterion, singular_values
from armsense.excite.excitation import Excitation, Quality, UsedLimits
from armsense.excite.families import Aprbs, CosinePolynomial, FourierSeries, KINDS, Polynomial
from armsense.excite.information import (
    ElasticInformation,
    Information,
    Motion,
    regressor,
    RigidInformation,
)
from armsense.excite.parametrisation import Parametrisation
from armsense.excite.problem import grid_size, Problem
from armsense.excite.search import DesignOptions, FINER, Search, SearchStep, Verifier
from armsense.model import Arm
from armsense.model.arm_source import ArmSource
from armsense.schema import check_known
from armsense.types import Array

PROOFS = 4               # time kept for the end, in proofs of one motion
SWING = 0.25             # of the position range: what a move of an APRBS covers at the limits


class Design(NamedTuple):
    """What a search found."""

    excitation: Excitation
    interrupted: bool        # by Ctrl-C, cancel or the time limit
    scale: float             # of the motion in the repair; 1: nothing to repair
    first_objective: float   # of the best random guess
    objective: float
    iterations: int


def design_excitation(
    model: Arm,
    options: DesignOptions | None = None,
    constraints: Constraints | None = None,
    *,
    start: Array | None = None,
    end: Array | None = None,
    rate: float | None = None,
    progress: Callable[[SearchStep], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Design:
    """Design an excitation that starts and ends at rest and keeps all constraints.

    By default a D-optimal Fourier series of 10 s within 90 % of the arm's limits, floor at the
    base, links 2 cm apart, from home, or the middle of the range, and back [rad], (n,), recorded
    at the rate of the yaml [Hz]. `progress` is called after every accepted step, `cancelled` asked
    once per step.
    """
    options = options or DesignOptions()
    constraints = constraints or Constraints.of(model)
    home = _home(model, constraints) if start is None else np.asarray(start, float)
    goal = home if end is None else np.asarray(end, float)
    for what, pose in (('start pose', home), ('end pose', goal)):
        if pose.shape != (model.n,):
            raise BadValue(f'shape of the {what}', pose.shape, f'({model.n},)')
        constraints.check_pose(pose, what)
    period = options.period or (40.0 if options.kind == 'aprbs' else 10.0)
    shape = size_shape(options.kind, home, goal, constraints, period=period,
                       harmonics=options.harmonics, seed=options.seed)
    frequency = rate or model.config.rate
    begin = time.monotonic()
    verifier = Verifier(model, constraints, home)
    information = _information(model, options, shape, grid_size(shape))
    problem = Problem(model, shape, constraints, information, make_criterion(options.criterion),
                      frequency)
    search = Search(problem, options, progress, cancelled or (lambda: False), begin,
                    reserve=_proof_time(verifier, problem))
    search.run()
    y, scale, objective = search.proven(verifier)
    coefficients = problem.coefficients(y)
    quality = measure_quality(model, shape, coefficients, options, frequency)
    excitation = Excitation.create(
        shape, coefficients, arm=model.name, joints=model.joint_names, quality=quality,
        limits=UsedLimits.of(constraints), seed=options.seed,
        seconds=round(time.monotonic() - begin, 2), arm_file=ArmSource.of(model.config))
    return Design(excitation, search.interrupted, scale, search.first, objective, search.count)


def measure_quality(model: Arm, shape: Parametrisation, coefficients: Array,
                    options: DesignOptions, rate: float) -> Quality:
    """Criterion and condition of one period, on the fine grid."""
    count = FINER * grid_size(shape)
    samples = shape.motion(coefficients, np.arange(count) * shape.period / count)
    motion = Motion(samples.q, samples.dq, samples.ddq)
    information = _information(model, options, shape, count)
    matrices = information.matrices(regressor(model, motion), motion, rate * shape.period / count)
    criterion = make_criterion(options.criterion)
    M = matrices[0]
    length = np.sqrt(np.diag(M))
    return Quality(
        criterion=criterion.name, value=criterion.value(M),
        actuator_value=criterion.value(matrices[1]) if len(matrices) > 1 else None,
        condition_number=condition_number(M),
        scaled_condition_number=condition_number(M / np.outer(length, length)),
        log_det=float(np.linalg.slogdet(M)[1]), parameters=len(M), rate=rate,
        torque_noise=tuple(information.noise.tolist()),
        singular_values=tuple(singular_values(M).tolist()))


def _proof_time(verifier: Verifier, problem: Problem) -> float:
    """What the proof and the measures at the end may take on this machine now [s]."""
    begin = time.monotonic()
    verifier.violations(problem.shape, problem.shape.rest(), FINER * len(problem.times))
    return PROOFS * (time.monotonic() - begin)


def _home(model: Arm, constraints: Constraints) -> Array:
    if model.config.home:
        return np.array(model.config.home)
    return np.asarray(0.5 * (constraints.limits.lower + constraints.limits.upper))


def _information(model: Arm, options: DesignOptions, shape: Parametrisation,
                 count: int) -> Information:
    two_sided = options.two_sided
    if two_sided is None:
        two_sided = all(joint.elastic is not None for joint in model.config.joints.values())
    if two_sided:
        return ElasticInformation(model, shape.period / count)
    return RigidInformation(model)


def size_shape(kind: str, start: Array, end: Array, constraints: Constraints, *, period: float,
               harmonics: int, seed: int) -> Parametrisation:
    """A family whose bandwidth is harmonics / period, for an APRBS what the limits allow.

    Poses at both ends [rad], (n,); period [s]; the seed is that of the schedule of an APRBS.
    """
    check_known('kind of excitation', kind, KINDS)
    if kind in ('fourier', 'aprbs') and not np.array_equal(start, end):
        raise ArmsenseError(f'a {kind} motion ends where it starts; cosine_polynomial and '
                            'polynomial can end elsewhere')
    shape: Parametrisation
    if kind == 'fourier':
        shape = FourierSeries(start, period, harmonics)
    elif kind == 'cosine_polynomial':
        shape = CosinePolynomial(start, end, period, 2 * harmonics)
    elif kind == 'polynomial':
        shape = Polynomial(start, end, period, 2 * harmonics + 1)
    else:
        move = _move_time(constraints)
        shape = Aprbs(start, period, 1.25 * move, move, seed)
    constraints.check_band(shape.bandwidth, kind)
    return shape


def _move_time(constraints: Constraints) -> float:
    """Shortest move over a share of the range, for the slowest joint [s]."""
    limits = constraints.limits
    swing = SWING * (limits.upper - limits.lower)
    move = float(max((2.0 * swing / limits.velocity).max(),
                     np.sqrt(8.0 * swing / limits.acceleration).max()))
    if constraints.band_limit is not None:
        move = max(move, 2.0 / constraints.band_limit)
    return math.ceil(100.0 * move) / 100.0
