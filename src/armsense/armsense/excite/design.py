"""Design of an optimal excitation: many starts, one optimiser, a proof at the end.

Anytime: a feasible motion exists from the first moment on, every better one replaces it, and a
time limit, a cancel or Ctrl-C ends the search with the best one. The result depends on the seed
only, unless the search was cut short.
"""

from __future__ import annotations

from collections.abc import Callable
import time
from typing import NamedTuple

import numpy as np

from armsense.errors import BadValue
from armsense.excite.constraints import Constraints
from armsense.excite.criteria import condition_number, make_criterion, singular_values
from armsense.excite.excitation import Excitation, Quality, UsedLimits
from armsense.excite.information import (
    ElasticInformation,
    Information,
    Motion,
    regressor,
    RigidInformation,
)
from armsense.excite.kinds import DEFAULT_PERIOD, size_shape
from armsense.excite.parametrisation import Parametrisation
from armsense.excite.problem import grid_size, Problem
from armsense.excite.search import DesignOptions, Search, SearchStep
from armsense.excite.verify import FINER, Verifier
from armsense.model import Arm
from armsense.types import Array

PROOFS = 4               # time kept for the end, in proofs of one motion


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
    noise: Array | None = None,
    rate: float | None = None,
    progress: Callable[[SearchStep], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Design:
    """Design an excitation that starts and ends at rest and keeps all constraints.

    Args:
        model: The arm.
        options: What and how; None: a D-optimal Fourier series of 10 s.
        constraints: None: 90 % of the arm's limits, floor at the base, links 2 cm apart.
        start: Pose at the beginning [rad], (n,). None: home, or the middle of the range.
        end: Pose at the end, (n,). None: `start`.
        noise: Standard deviation of the torques [Nm], (n,). None: from the yaml.
        rate: Of the recording [Hz]. None: of the yaml, or 1000.
        progress: Called after every accepted step.
        cancelled: Asked once per step.
    """
    options = options or DesignOptions()
    constraints = constraints or Constraints.of(model)
    home = _home(model, constraints) if start is None else np.asarray(start, float)
    goal = home if end is None else np.asarray(end, float)
    for what, pose in (('start pose', home), ('end pose', goal)):
        if pose.shape != (model.n,):
            raise BadValue(f'shape of the {what}', pose.shape, f'({model.n},)')
        constraints.check_pose(pose, what)
    period = options.period or DEFAULT_PERIOD.get(options.kind, 10.0)
    shape = size_shape(options.kind, home, goal, constraints, period=period,
                       harmonics=options.harmonics, seed=options.seed)
    frequency = rate or (model.config.rate if model.config else 1000.0)
    begin = time.monotonic()
    verifier = Verifier(model, constraints, home)
    information = _information(model, options, shape, noise, grid_size(shape))
    problem = Problem(model, shape, constraints, information, make_criterion(options.criterion),
                      frequency)
    search = Search(problem, options, progress, cancelled or (lambda: False), begin,
                     reserve=_proof_time(verifier, problem))
    search.run()
    y, scale, objective = search.proven(verifier)
    coefficients = problem.coefficients(y)
    quality = measure_quality(model, shape, coefficients, options, frequency, noise)
    excitation = Excitation.create(
        shape, coefficients, arm=model.name, joints=model.joint_names, quality=quality,
        limits=UsedLimits.of(constraints), seed=options.seed,
        seconds=round(time.monotonic() - begin, 2))
    return Design(excitation, search.interrupted, scale, search.first, objective, search.count)


def measure_quality(model: Arm, shape: Parametrisation, coefficients: Array,
                    options: DesignOptions, rate: float, noise: Array | None = None) -> Quality:
    """Criterion and condition of one period, on the fine grid."""
    count = FINER * grid_size(shape)
    samples = shape.motion(coefficients, np.arange(count) * shape.period / count)
    motion = Motion(samples.q, samples.dq, samples.ddq)
    information = _information(model, options, shape, noise, count)
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
                 noise: Array | None, count: int) -> Information:
    two_sided = options.two_sided
    if two_sided is None:
        joints = model.config.joints.values() if model.config else ()
        two_sided = bool(joints) and all(j.elastic is not None for j in joints)
    if two_sided:
        return ElasticInformation(model, shape.period / count, noise)
    return RigidInformation(model, noise)
