"""What a user may decide instead of the data, and choices by cross-validation within them.

A candidate is fitted without one block of time and judged on it, block after block. The score is
the geometric mean of the pooled error and the mean over the joints, so that the small joints
of the wrist count too. Everything happens in normal equations: a candidate costs milliseconds.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from armsense.errors import UnknownName
from armsense.identify.estimation.equations import NormalEquations, solve_normal
from armsense.identify.estimation.feasible import MASS_FACTORS, parameter_scale
from armsense.identify.friction.columns import DriveColumns, TERMS
from armsense.types import Array

# How positions become smooth velocities and accelerations; `average` averages periods first.
PREPROCESSING = ('auto', 'filter', 'spectral', 'fourier', 'spline', 'average')
ESTIMATORS = ('consistent', 'ols', 'wls', 'huber', 'ridge', 'iv', 'ml', 'recursive')
BASIC = ('viscous', 'coulomb')
GAIN = 0.005                               # relative improvement that is worth another term
PRIORS = (0.1, 1.0, 10.0, 100.0)           # weight of the nominal model, 1: deviation of 100 %
EXPONENTS = (0.0, 0.5, 1.0)                # of the inverse noise in the weights of the joints


@dataclass(frozen=True)
class Options:
    """Choices of an identification; None and `auto` leave them to the data."""

    gravity: Array | None = None           # [m/s^2] in the base frame
    axes: Array | None = None              # drive axes, (k, n); None: one drive per joint
    cutoff: float | None = None            # of the torque band [Hz]; None: from the motion
    mass_factors: tuple[float, float] = MASS_FACTORS
    total_mass: tuple[float, float] | None = None   # [kg]
    preprocess: str = 'auto'
    estimator: str = 'consistent'
    terms: tuple[str, ...] | None = None   # of the drives; None: by cross-validation

    def __post_init__(self) -> None:
        if self.preprocess not in PREPROCESSING:
            raise UnknownName('preprocess', self.preprocess, PREPROCESSING)
        if self.estimator not in ESTIMATORS:
            raise UnknownName('estimator', self.estimator, ESTIMATORS)
        for term in self.terms or ():
            if term not in TERMS:
                raise UnknownName('drive term', term, TERMS)


@dataclass(frozen=True)
class Choice:
    """A model structure and how well it predicts unseen blocks."""

    terms: tuple[str, ...]
    prior: float = 10.0           # weight of the nominal parameters: believed to a third
    exponent: float = 0.5         # joint weights are noise^(-2 exponent)
    score: float = np.inf         # sqrt(pooled percent * mean joint percent)
    percent: float = np.inf       # pooled, of unseen blocks


@dataclass(frozen=True)
class Problem:
    """Normal equations with gravity settled and all drive columns."""

    equations: NormalEquations     # of [Y | all drive columns]
    nominal: Array                 # (10 n,)
    drive: DriveColumns            # all terms
    noise: Array                   # deviation of the torque error per joint [Nm], (n,)
    _weighted: dict[float, tuple[Array, Array]] = field(default_factory=dict, repr=False)

    def index(self, terms: tuple[str, ...]) -> NDArray[np.intp]:
        """Columns of a model with these terms."""
        p = len(self.nominal)
        return np.concatenate([np.arange(p), p + self.drive.places(terms)])

    def weights(self, exponent: float) -> Array:
        """Of the joints, such that the weighted error has variance one in the mean, (n,)."""
        w = self.noise ** (-2.0 * exponent)
        return np.asarray(w / np.mean(w * np.square(self.noise)))

    def weighted(self, exponent: float) -> tuple[Array, Array]:
        """Products with the joints weighted and added, (blocks, p, p) and (blocks, p)."""
        if exponent not in self._weighted:
            w = self.weights(exponent)
            self._weighted[exponent] = (np.einsum('j,bjpq->bpq', w, self.equations.AA),
                                        np.einsum('j,bjp->bp', w, self.equations.Ay))
        return self._weighted[exponent]

    def prior(self, choice: Choice) -> tuple[Array, Array]:
        """Nominal parameters and their precision for the columns of a choice, (p,) each."""
        drives = len(self.index(choice.terms)) - len(self.nominal)
        nominal = np.concatenate([self.nominal, np.zeros(drives)])
        precision = np.concatenate([choice.prior / np.square(parameter_scale(self.nominal)),
                                    np.zeros(drives)])
        return nominal, precision


def fit(problem: Problem, choice: Choice, leave_out: int | None = None) -> Array:
    """Parameters of the chosen columns, (p,)."""
    blocks, sides = problem.weighted(choice.exponent)
    keep = np.arange(len(sides)) != (-1 if leave_out is None else leave_out)
    index = problem.index(choice.terms)
    AA, Ay = blocks[keep].sum(axis=0), sides[keep].sum(axis=0)
    nominal, precision = problem.prior(choice)
    return solve_normal(AA[np.ix_(index, index)], Ay[index], nominal, precision)


def cross_validate(problem: Problem, choice: Choice) -> Choice:
    """The choice with its score on unseen blocks."""
    total = problem.equations
    index = problem.index(choice.terms)
    squares = np.zeros(total.n)
    for block in range(len(total.yy)):
        theta = np.zeros(total.Ay.shape[2])
        theta[index] = fit(problem, choice, leave_out=block)
        squares += total.only(block).squares(theta)
    return judged(choice, squares, total.yy.sum(axis=0))


def judged(choice: Choice, squares: Array, power: Array) -> Choice:
    """The choice with its score, from sums of squares of error and torque, (n,) each."""
    percent = 100.0 * float(np.sqrt(squares.sum() / power.sum()))
    joints = 100.0 * float(np.mean(np.sqrt(squares / np.maximum(power, 1e-300))))
    return replace(choice, score=float(np.sqrt(percent * joints)), percent=percent)


def choose_terms(problem: Problem, start: Choice) -> Choice:
    """Forward selection from viscous and Coulomb friction: a term is for all drives or none."""
    best = cross_validate(problem, replace(start, terms=BASIC))
    while True:
        trials = [cross_validate(problem, replace(best, terms=(*best.terms, term)))
                  for term in problem.drive.terms if term not in best.terms]
        better = min(trials, key=lambda c: c.score, default=best)
        if better.score > (1.0 - GAIN) * best.score:
            return best
        best = better


def choose_weights(problem: Problem, start: Choice) -> Choice:
    """Weight of the nominal parameters and of the joints."""
    trials = [cross_validate(problem, replace(start, exponent=e)) for e in EXPONENTS]
    best = min(trials, key=lambda c: c.score)
    trials = [cross_validate(problem, replace(best, prior=prior)) for prior in PRIORS]
    return min([best, *trials], key=lambda c: c.score)
