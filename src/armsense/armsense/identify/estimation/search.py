"""The steps that choose a model: source and filter of the signals, gravity, terms, weights.

Every choice is made by cross-validation within the training recordings. A candidate is fitted
without one block of time and judged on it, block after block. The score is the geometric mean of
the pooled error and the mean over the joints, so that the small joints of the wrist count too.
Everything happens in normal equations: a candidate costs milliseconds. The last fit takes all
windows of a long recording, one at a time; only products of columns are kept, so that memory does
not grow with the recording.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
import functools
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from armsense.errors import ArmsenseError
from armsense.identify.estimation.equations import (
    GravityFit,
    huber_weights,
    normal_equations,
    NormalEquations,
    Prepared,
    solve_normal,
)
from armsense.identify.estimation.feasible import parameter_scale, solve_arm
from armsense.identify.estimation.training import Options, Training
from armsense.identify.friction.columns import NEEDS_LOAD, TERMS
from armsense.types import Array

BASIC = ('viscous', 'coulomb')
GAIN = 0.005                               # relative improvement that is worth another term
PRIORS = (0.1, 1.0, 10.0, 100.0)           # weight of the nominal model, 1: deviation of 100 %
EXPONENTS = (0.0, 0.5, 1.0)                # of the inverse noise in the weights of the joints
OUTLIER = (5.0, 10.0)     # robust deviations from which a sample counts less, and not at all
LEAST_NOISE = 0.02        # of the torque: smaller errors are never outliers
LEAST_TILT = 5e-4         # [rad] a base that leans less stands level
FOLDS = 4                 # of the final choice among consistent models
SMOOTHINGS = (0.003, 0.01, 0.03)      # [rad/s] over which friction changes its sign
NARROW_BANDS = (0.6, 1.0)             # motion filter over torque filter
WIDE_BAND = 1.6
DELAYS = (-0.004, 0.004, 0.008, 0.012, 0.016)   # [s] of the torques behind the motion
FINE_DELAYS = (0.002, 0.001)          # [s]
FIRST = tuple(term for term in TERMS if term not in (*NEEDS_LOAD, 'stribeck'))


@dataclass(frozen=True)
class Choice:
    """A model structure and how well it predicts unseen blocks."""

    terms: tuple[str, ...]
    prior: float = 10.0           # weight of the nominal parameters: believed to a third
    exponent: float = 0.5         # joint weights are noise^(-2 exponent)
    score: float = np.inf         # sqrt(pooled percent * mean joint percent)
    percent: float = np.inf       # pooled, of unseen blocks


def judged(choice: Choice, squares: Array, power: Array) -> Choice:
    """The choice with its score, from sums of squares of error and torque, (n,) each."""
    percent = 100.0 * float(np.sqrt(squares.sum() / power.sum()))
    joints = 100.0 * float(np.mean(np.sqrt(squares / np.maximum(power, 1e-300))))
    return replace(choice, score=float(np.sqrt(percent * joints)), percent=percent)


@dataclass(frozen=True)
class State:
    """Data under the choices made so far."""

    data: Prepared
    options: Options
    gravity: Array
    noise: Array                  # of the torques per joint [Nm], (n,)
    theta: Array                  # of links and drives, a first estimate, (10 n + drives,)
    terms: tuple[str, ...] = ()   # of these drives

    @functools.cached_property
    def nominal(self) -> Array:
        """Parameters of the links before the data, (10 n,)."""
        return self.data.training.model.parameters

    def weights(self, exponent: float) -> Array:
        """Of the joints, such that the weighted error has variance one in the mean, (n,)."""
        w = self.noise ** (-2.0 * exponent)
        return np.asarray(w / np.mean(w * np.square(self.noise)))

    def prior(self, choice: Choice) -> tuple[Array, Array]:
        """Nominal parameters and their precision for the columns of a choice, (p,) each."""
        drives = np.zeros(len(self.data.drive.places(choice.terms)))
        precision = choice.prior / np.square(parameter_scale(self.nominal))
        return np.concatenate([self.nominal, drives]), np.concatenate([precision, drives])


class Problem:
    """Candidates of a state: normal equations with gravity settled and all drive columns."""

    def __init__(self, state: State) -> None:
        self._state = state
        drive = state.data.drive
        self.equations = state.data.equations().select(state.gravity, np.arange(drive.count))
        self._weighted: dict[float, tuple[Array, Array]] = {}

    def _index(self, terms: tuple[str, ...]) -> NDArray[np.intp]:
        """Columns of a model with these terms."""
        p = len(self._state.nominal)
        return np.concatenate([np.arange(p), p + self._state.data.drive.places(terms)])

    def _products(self, exponent: float) -> tuple[Array, Array]:
        """With the joints weighted and added, (blocks, p, p) and (blocks, p)."""
        if exponent not in self._weighted:
            w = self._state.weights(exponent)
            self._weighted[exponent] = (np.einsum('j,bjpq->bpq', w, self.equations.AA),
                                        np.einsum('j,bjp->bp', w, self.equations.Ay))
        return self._weighted[exponent]

    def fit(self, choice: Choice, leave_out: int = -1) -> Array:
        """Parameters of the chosen columns, (p,); `leave_out`: a block."""
        blocks, sides = self._products(choice.exponent)
        keep = np.arange(len(sides)) != leave_out
        index = self._index(choice.terms)
        AA, Ay = blocks[keep].sum(axis=0), sides[keep].sum(axis=0)
        return solve_normal(AA[np.ix_(index, index)], Ay[index], *self._state.prior(choice))

    def cross_validate(self, choice: Choice) -> Choice:
        """The choice with its score on unseen blocks."""
        total = self.equations
        index = self._index(choice.terms)
        squares = np.zeros(total.n)
        for block in range(len(total.yy)):
            theta = np.zeros(total.Ay.shape[2])
            theta[index] = self.fit(choice, leave_out=block)
            squares += total.only(slice(block, block + 1)).squares(theta)
        return judged(choice, squares, total.yy.sum(axis=0))

    def choose_terms(self, start: Choice) -> Choice:
        """From viscous and Coulomb friction onwards: a term is for all drives or none."""
        best = self.cross_validate(replace(start, terms=BASIC))
        while True:
            trials = [self.cross_validate(replace(best, terms=(*best.terms, term)))
                      for term in self._state.data.drive.terms if term not in best.terms]
            better = min(trials, key=lambda c: c.score, default=best)
            if better.score > (1.0 - GAIN) * best.score:
                return best
            best = better

    def choose_weights(self, start: Choice) -> Choice:
        """Weight of the nominal parameters and of the joints."""
        trials = [self.cross_validate(replace(start, exponent=e)) for e in EXPONENTS]
        best = min(trials, key=lambda c: c.score)
        trials = [self.cross_validate(replace(best, prior=prior)) for prior in PRIORS]
        return min([best, *trials], key=lambda c: c.score)


def robust(state: State, terms: tuple[str, ...], iterations: int) -> State:
    """Noise of the joints and weights against outliers."""
    for _ in range(iterations):
        exponent = 0.0 if state.data.weights is None else 1.0
        theta = Problem(state).fit(Choice(terms, exponent=exponent))
        errors = state.data.errors(theta, state.gravity, terms)
        noise = np.sqrt(np.mean(np.square(np.concatenate(errors)), axis=0)) + 1e-9
        least = _least_noise(state.data)
        state = replace(state, noise=noise, theta=theta, terms=terms,
                        data=_without_outliers(state.data, errors, least))
    return state


def _least_noise(data: Prepared) -> Array:
    """Smaller errors are never outliers [Nm], (n,)."""
    torque = np.concatenate([c.y for c in data.columns])
    return np.asarray(LEAST_NOISE * np.sqrt(np.mean(np.square(torque), axis=0)))


def _without_outliers(data: Prepared, errors: list[Array], least: Array) -> Prepared:
    """With weights against outliers and joints at rest."""
    return replace(data, weights=[
        np.where(rest, 0.0, huber_weights(error, *OUTLIER, least))
        for error, rest in zip(errors, data.rest, strict=True)])


def find_gravity(state: State, terms: tuple[str, ...], search: bool = False) -> State:
    """Gravity near the present one or over the whole sphere, where it predicts better."""
    equations, choice = state.data.equations(1), Choice(terms)
    fits = GravityFit(equations, state.weights(choice.exponent), state.data.drive.places(terms),
                      *state.prior(choice))
    found = (fits.search(lambda gravity: consistent(state, equations, choice, gravity)[1])
             if search else fits.refine(state.gravity))
    if np.linalg.norm(found / np.linalg.norm(found) - state.gravity
                      / np.linalg.norm(state.gravity)) < LEAST_TILT:
        return state

    def score(gravity: Array) -> float:
        return Problem(replace(state, gravity=gravity)).cross_validate(choice).score

    keep = score(found) > (1.0 - GAIN) * score(state.gravity)   # no better on unseen blocks
    return state if keep else replace(state, gravity=found)


def cross_validate_consistent(state: State, choice: Choice) -> Choice:
    """The choice with the score of physically consistent models on blocks that were left out."""
    total = state.data.equations(_folds(state))
    return judged(choice, *_left_out(state, choice, total))


def cross_validated_percent(state: State, choice: Choice) -> float:
    """Error of consistent models on blocks that were left out, every sample counted.

    Choices are made without outliers; what is told to people must not leave out what was missed.
    """
    every = normal_equations(state.data.columns, _folds(state))
    return judged(choice, *_left_out(state, choice, every)).percent


def _folds(state: State) -> int:
    return FOLDS if len(state.data.columns) == 1 else 1


def _left_out(state: State, choice: Choice, judges: NormalEquations) -> tuple[Array, Array]:
    """Squares of error and torque by joint on blocks that were left out in turn, (n,) each."""
    total = state.data.equations(_folds(state))
    T = total.selection(state.gravity, state.data.drive.places(choice.terms))
    squares, blocks = np.zeros(total.n), np.arange(len(total.yy))
    for block in blocks:
        theta, _ = consistent(state, total.only(blocks != block), choice, state.gravity)
        squares += judges.only([block]).squares(T @ theta)
    return squares, judges.yy.sum(axis=0)


def consistent(state: State, equations: NormalEquations, choice: Choice,
               gravity: Array) -> tuple[Array, float]:
    """Physically consistent parameters under a gravity, (p,), and their cost."""
    data, options = state.data, state.options
    prior, precision = state.prior(choice)
    H, f = equations.select(gravity, data.drive.places(choice.terms)).weighted(
        state.weights(choice.exponent))
    H, f = H + np.diag(precision), f + precision * prior
    theta = solve_arm(H, f, data.training.model, data.drive.only(choice.terms),
                      options.mass_factors, options.total_mass)
    return theta, float(theta @ H @ theta - 2.0 * f @ theta)


def choose_motion(training: Training, options: Options, gravity: Array) -> State:
    """Source and filter of the velocities and delay of the torques, with the gravity they give."""
    def trial(velocity: str, band: float, start: Array, search: bool,
              delay: float = 0.0) -> tuple[float, State]:
        data = Prepared.make(training, velocity, band).with_delay(delay)
        nominal = training.model.parameters
        state = robust(State(data, options, start, np.ones(training.model.n), nominal), FIRST, 2)
        if options.gravity is None:
            state = robust(find_gravity(state, FIRST, search), FIRST, 1)
        return _first_score(state), state

    sources = ('measured', 'position') if training.measured_velocity else ('position',)
    # Trials are made one at a time: the columns of a long recording fill half a gigabyte.
    _, best = min((trial(source, WIDE_BAND, gravity, True) for source in sources), key=_score)
    best = _choose_delay(best)
    narrow = (trial(best.data.velocity, band, best.gravity, False, best.data.torque_delay)
              for band in NARROW_BANDS)
    return min(chain([(_first_score(best), best)], narrow), key=_score)[1]


def _choose_delay(state: State) -> State:
    """Delay of the torques behind the motion."""
    def trial(delay: float) -> tuple[float, State]:
        moved = replace(state, data=state.data.with_delay(delay))
        return _first_score(moved), moved

    now = trial(0.0)
    best = min([now, *map(trial, DELAYS)], key=_score)
    for fine in FINE_DELAYS:
        center = best[1].data.torque_delay
        best = min([best, trial(center - fine), trial(center + fine)], key=_score)
    return robust(best[1], FIRST, 1) if best[0] < (1.0 - GAIN) * now[0] else state


def _first_score(state: State) -> float:
    """Score on unseen blocks before the structure is chosen."""
    return Problem(state).cross_validate(Choice(FIRST)).score


def _score(trial: tuple[float, State]) -> float:
    return trial[0]


def choose_structure(state: State) -> tuple[State, Choice]:
    """Friction terms, smoothing of the sign, weights."""
    def trial(smoothing: float) -> tuple[Prepared, Choice]:
        data = state.data.with_load(state.theta, state.terms, state.gravity, smoothing)
        problem, fixed = Problem(replace(state, data=data)), state.options.terms
        return data, (problem.choose_terms(Choice(FIRST)) if fixed is None
                      else problem.cross_validate(Choice(fixed)))

    data, choice = min((trial(s) for s in SMOOTHINGS), key=lambda found: found[1].score)
    state = robust(replace(state, data=data), choice.terms, 1)
    if any(term in choice.terms for term in NEEDS_LOAD):   # the load of the better model
        data = data.with_load(state.theta, state.terms, state.gravity, data.drive.smoothing)
        state = robust(replace(state, data=replace(data, weights=state.data.weights)),
                       choice.terms, 1)
    return _choose_consistent(state, Problem(state).choose_weights(choice))


def _choose_consistent(state: State, choice: Choice) -> tuple[State, Choice]:
    """The last doubts, decided among physically consistent models: base level, rotors, prior."""
    gravities = [state.gravity]
    tilted = state if state.options.gravity is not None else find_gravity(state, choice.terms)
    if tilted is not state:
        gravities.append(tilted.gravity)
    without = tuple(t for t in choice.terms if t != 'inertia')
    terms = [choice.terms] if state.options.terms else list(dict.fromkeys((without, choice.terms)))
    best, decided = state, replace(choice, score=np.inf, percent=np.inf)
    for prior in dict.fromkeys((max(choice.prior, Choice(()).prior), choice.prior)):
        for chosen in terms:
            for gravity in gravities:
                moved = replace(state, gravity=gravity)
                candidate = cross_validate_consistent(
                    moved, replace(choice, terms=chosen, prior=prior))
                if candidate.score < (1.0 - GAIN) * decided.score:   # simpler models come first
                    best, decided = moved, candidate
    return best, decided


def all_equations(state: State, done: Callable[[float], None]) -> NormalEquations:
    """Normal equations of the chosen columns over all windows; `done` is told their share."""
    data = state.data
    total = data.equations(1)
    if not data.training.unused:
        return total
    AA, Ay, yy = (x.sum(axis=0, keepdims=True) for x in (total.AA, total.Ay, total.yy))
    least = _least_noise(data)
    for k, recording in enumerate(data.training.unused):
        done(k / len(data.training.unused))
        try:
            window = Prepared.make(data.training.window(recording), data.velocity,
                                   data.motion_cutoff / data.training.cutoff)
        except ArmsenseError:
            continue         # too short behind the filter
        window = window.with_delay(data.torque_delay).with_load(
            state.theta, state.terms, state.gravity, data.drive.smoothing)
        errors = window.errors(state.theta, state.gravity, state.terms)
        more = _without_outliers(window, errors, least).equations(1)
        AA, Ay, yy = AA + more.AA, Ay + more.Ay, yy + more.yy
    return NormalEquations(AA, Ay, yy)
