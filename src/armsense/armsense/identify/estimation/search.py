"""The steps that choose a model: source and filter of the signals, gravity, terms, weights.

Every choice is made by cross-validation within the training recordings. The last fit takes all
windows of a long recording, one at a time; only products of columns are kept, so that memory does
not grow with the recording.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from armsense.errors import ArmsenseError
from armsense.identify.estimation.choices import (
    Choice,
    choose_terms,
    choose_weights,
    cross_validate,
    fit,
    GAIN,
    judged,
    Options,
    Problem,
)
from armsense.identify.estimation.equations import (
    huber_weights,
    NormalEquations,
    refine_gravity,
    search_gravity,
)
from armsense.identify.estimation.feasible import link_bounds, solve_feasible
from armsense.identify.estimation.training import Prepared, Training
from armsense.identify.friction.columns import NEEDS_LOAD, TERMS
from armsense.types import Array

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
class State:
    """Data under the choices made so far."""

    data: Prepared
    options: Options
    gravity: Array
    noise: Array                  # of the torques per joint [Nm], (n,)
    theta: Array                  # of links and drives, a first estimate, (10 n + drives,)
    terms: tuple[str, ...] = ()   # of these drives


def robust(state: State, terms: tuple[str, ...], iterations: int) -> State:
    """Noise of the joints and weights against outliers."""
    for _ in range(iterations):
        exponent = 0.0 if state.data.weights is None else 1.0
        problem = state.data.problem(state.gravity, state.noise)
        theta = fit(problem, Choice(terms, exponent=exponent))
        errors = state.data.errors(theta, state.gravity, terms)
        noise = np.sqrt(np.mean(np.square(np.concatenate(errors)), axis=0)) + 1e-9
        torque = np.concatenate([c.y for c in state.data.columns])
        size = np.sqrt(np.mean(np.square(torque), axis=0))
        weights = [np.where(rest, 0.0, huber_weights(error, *OUTLIER, LEAST_NOISE * size))
                   for error, rest in zip(errors, state.data.rest, strict=True)]
        state = replace(state, noise=noise, theta=theta, terms=terms,
                        data=replace(state.data, weights=weights))
    return state


def find_gravity(state: State, terms: tuple[str, ...], search: bool = False) -> State:
    """Gravity near the present one or over the whole sphere, where it predicts better."""
    equations = state.data.equations(1)
    model = state.data.training.model
    problem = Problem(equations, model.parameters, state.data.drive, state.noise)
    choice = Choice(terms)
    prior, precision = problem.prior(choice)
    weights = problem.weights(choice.exponent)
    places = state.data.drive.places(terms)
    if search:
        found = search_gravity(
            equations, weights, places, prior, precision,
            lambda gravity: consistent(state, equations, choice, gravity)[1])
    else:
        found = refine_gravity(equations, weights, places, prior, precision, state.gravity)

    def score(gravity: Array) -> float:
        return cross_validate(state.data.problem(gravity, state.noise), choice).score

    if np.linalg.norm(found / np.linalg.norm(found) - state.gravity
                      / np.linalg.norm(state.gravity)) < LEAST_TILT:
        return state
    keep = score(found) > (1.0 - GAIN) * score(state.gravity)   # no better on unseen blocks
    return state if keep else replace(state, gravity=found)


def cross_validate_consistent(state: State, choice: Choice) -> Choice:
    """The choice with the score of physically consistent models on blocks that were left out."""
    total = state.data.equations(FOLDS if len(state.data.columns) == 1 else 1)
    T = total.selection(state.gravity, state.data.drive.places(choice.terms))
    squares = np.zeros(total.n)
    for block in range(len(total.yy)):
        theta, _ = consistent(state, total.without(block), choice, state.gravity)
        squares += total.only(block).squares(T @ theta)
    return judged(choice, squares, total.yy.sum(axis=0))


def consistent(state: State, equations: NormalEquations, choice: Choice,
               gravity: Array) -> tuple[Array, float]:
    """Physically consistent parameters under a gravity, (p,), and their cost."""
    data, model = state.data, state.data.training.model
    problem = Problem(equations, model.parameters, data.drive, state.noise)
    prior, precision = problem.prior(choice)
    weights = problem.weights(choice.exponent)
    places = data.drive.places(choice.terms)
    chosen = equations.select(gravity, places)
    H = np.tensordot(weights, chosen.AA.sum(axis=0), axes=1) + np.diag(precision)
    f = weights @ chosen.Ay.sum(axis=0) + precision * prior
    n10 = len(model.parameters)
    drive = data.drive.only(choice.terms)
    positive = [n10 + k for term in drive.not_negative
                for k in range(drive.count)[drive.index(term)]]
    passive = drive.passivity(data.training.top_speed)
    theta = solve_feasible(
        H, f, model.parameters, link_bounds(model, state.options.mass_factors), np.array(positive),
        np.hstack([np.zeros((len(passive), n10)), passive]), state.options.total_mass)
    return theta, float(theta @ H @ theta - 2.0 * f @ theta)


def choose_motion(training: Training, options: Options, gravity: Array) -> State:
    """Source and filter of the velocities and delay of the torques, with the gravity they give."""
    def trial(velocity: str, band: float, start: Array, search: bool,
              delay: float = 0.0) -> tuple[float, State]:
        data = training.prepare(velocity, band).with_delay(delay)
        nominal = training.model.parameters
        state = robust(State(data, options, start, np.ones(training.model.n), nominal), FIRST, 2)
        state = robust(find_gravity(state, FIRST, search), FIRST, 1)
        return _first_score(state), state

    sources = ('measured', 'position') if training.measured_velocity else ('position',)
    search = options.gravity is None
    # Trials are made one at a time: the columns of a long recording fill half a gigabyte.
    _, best = min((trial(source, WIDE_BAND, gravity, search) for source in sources), key=_score)
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
    best = min([now, *(trial(delay) for delay in DELAYS)], key=_score)
    for fine in FINE_DELAYS:
        center = best[1].data.torque_delay
        best = min([best, trial(center - fine), trial(center + fine)], key=_score)
    return robust(best[1], FIRST, 1) if best[0] < (1.0 - GAIN) * now[0] else state


def _first_score(state: State) -> float:
    """Score on unseen blocks before the structure is chosen."""
    return cross_validate(state.data.problem(state.gravity, state.noise), Choice(FIRST)).score


def _score(trial: tuple[float, State]) -> float:
    return trial[0]


def choose_structure(state: State) -> tuple[State, Choice]:
    """Friction terms, smoothing of the sign, weights."""
    def trial(smoothing: float) -> tuple[Prepared, Choice]:
        data = state.data.with_load(state.theta, state.terms, state.gravity, smoothing)
        problem = data.problem(state.gravity, state.noise)
        fixed = state.options.terms
        return data, (choose_terms(problem, Choice(FIRST)) if fixed is None
                      else cross_validate(problem, Choice(fixed)))

    data, choice = min((trial(s) for s in SMOOTHINGS), key=lambda found: found[1].score)
    state = robust(replace(state, data=data), choice.terms, 1)
    if any(term in choice.terms for term in NEEDS_LOAD):   # the load of the better model
        data = data.with_load(state.theta, state.terms, state.gravity, data.drive.smoothing)
        state = robust(replace(state, data=replace(data, weights=state.data.weights)),
                       choice.terms, 1)
    choice = choose_weights(state.data.problem(state.gravity, state.noise), choice)
    return _choose_consistent(state, choice)


def _choose_consistent(state: State, choice: Choice) -> tuple[State, Choice]:
    """The last doubts, decided among physically consistent models: base level, rotors, prior."""
    level = state.gravity if state.options.gravity is None else state.options.gravity
    tilted = find_gravity(state, choice.terms)
    gravities = {tuple(g): g for g in (level, state.gravity, tilted.gravity)}
    without = tuple(t for t in choice.terms if t != 'inertia')
    terms = [choice.terms] if state.options.terms else list(dict.fromkeys((without, choice.terms)))
    best, decided = state, replace(choice, score=np.inf, percent=np.inf)
    for prior in dict.fromkeys((max(choice.prior, Choice(()).prior), choice.prior)):
        for chosen in terms:
            for gravity in gravities.values():
                moved = replace(state, gravity=gravity)
                candidate = cross_validate_consistent(
                    moved, replace(choice, terms=chosen, prior=prior))
                if candidate.score < (1.0 - GAIN) * decided.score:   # simpler models come first
                    best, decided = moved, candidate
    return best, decided


def all_equations(state: State, done: Callable[[float], None]) -> NormalEquations:
    """Normal equations of the chosen columns over all windows, one block.

    Args:
        state: After all choices.
        done: Told the share of the windows, 0 to 1.
    """
    data = state.data
    total = data.equations(1)
    if not data.training.unused:
        return total
    AA, Ay, yy, rows = (x.sum(axis=0, keepdims=True) for x in
                        (total.AA, total.Ay, total.yy, total.rows))
    least = LEAST_NOISE * np.sqrt(np.mean(np.square(np.concatenate(
        [c.y for c in data.columns])), axis=0))
    for k, recording in enumerate(data.training.unused):
        done(k / len(data.training.unused))
        try:
            window = data.training.window(recording).prepare(
                data.velocity, data.motion_cutoff / data.training.cutoff)
        except ArmsenseError:
            continue         # too short behind the filter
        window = window.with_delay(data.torque_delay).with_load(
            state.theta, state.terms, state.gravity, data.drive.smoothing)
        errors = window.errors(state.theta, state.gravity, state.terms)
        weights = [np.where(rest, 0.0, huber_weights(error, *OUTLIER, least))
                   for error, rest in zip(errors, window.rest, strict=True)]
        more = window.with_weights(weights).equations(1)
        AA, Ay, yy, rows = AA + more.AA, Ay + more.Ay, yy + more.yy, rows + more.rows
    return NormalEquations(AA, Ay, yy, rows)
