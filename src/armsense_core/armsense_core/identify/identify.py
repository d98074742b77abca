"""From recordings to a physically consistent model.

Steps: regular clock; torque band from the motion; source, filter and delays of the signals;
gravity; terms of the drives; weights; semidefinite program; ripple. Every choice is made by
cross-validation within the training recordings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
import time

import numpy as np
from scipy import stats

from armsense_core.errors import BadValue
from armsense_core.identify.design import NormalEquations
from armsense_core.identify.feasible import (
    link_bounds,
    MASS_FACTORS,
    parameter_scale,
    solve_feasible,
)
from armsense_core.identify.friction_columns import NEEDS_LOAD, TERMS
from armsense_core.identify.gravity import refine_gravity, search_gravity
from armsense_core.identify.identified_model import IdentifiedModel
from armsense_core.identify.model_selection import (
    Choice,
    choose_terms,
    choose_weights,
    cross_validate,
    fit,
    GAIN,
    Problem,
)
from armsense_core.identify.recording import Array, check_excited, Recording
from armsense_core.identify.regression import huber_weights
from armsense_core.identify.ripple_fit import fit_ripples
from armsense_core.identify.training import Prepared, Training
from armsense_core.identify.validation import correlation_factor, torque_error
from armsense_core.model.arm_model import ArmModel

SMOOTHINGS = (0.003, 0.01, 0.03)      # [rad/s] over which friction changes its sign
NARROW_BANDS = (0.6, 1.0)             # motion filter over torque filter
WIDE_BAND = 1.6
OUTLIER = (5.0, 10.0)                 # robust deviations from which a sample counts less, and not
DELAYS = (-0.004, 0.004, 0.008, 0.012, 0.016)   # [s] of the torques behind the motion
FINE_DELAYS = (0.002, 0.001)          # [s]
LEAST_NOISE = 0.02                    # of the torque: smaller errors are never outliers
NORMAL_95 = float(stats.norm.ppf(0.975))
BLIND = 0.9                           # of the prior's width: the data say nothing
PLAUSIBLE = 4.0                       # factor between measured and nominal torques
LEANING = 10.0                        # [deg] from which another gravity is worth a remark
FOLDS = 4                             # of the final choice among consistent models
FIRST = tuple(term for term in TERMS if term not in (*NEEDS_LOAD, 'stribeck'))


@dataclass(frozen=True)
class Options:
    """What a user may decide instead of the data."""

    gravity: Array | None = None           # [m/s^2] in the base frame; None: found from the data
    axes: Array | None = None              # drive axes, (k, n); None: one drive per joint
    cutoff: float | None = None            # of the torque band [Hz]; None: from the motion
    mass_factors: tuple[float, float] = MASS_FACTORS
    total_mass: tuple[float, float] | None = None   # [kg]


@dataclass(frozen=True)
class _State:
    """What the steps hand on."""

    data: Prepared
    options: Options
    gravity: Array
    noise: Array         # of the torques per joint [Nm], (n,)
    parameters: Array    # of the links, a first estimate, (10 n,)


def identify(recordings: Sequence[Recording], model: ArmModel,
             options: Options | None = None) -> IdentifiedModel:
    """Identify an arm from recorded motions.

    Args:
        recordings: Training data; torque on the link side.
        model: Kinematics and nominal inertias (URDF).
        options: What shall not be chosen from the data.
    """
    options = options or Options()
    _check(recordings, model, options)
    clock = _Clock()
    training = Training.load(recordings, model, options.axes, options.cutoff)
    clock.lap('preprocess')
    first = model.gravity if options.gravity is None else options.gravity
    state = _choose_motion(training, options, first)
    clock.lap('motion filter and gravity')
    state, choice = _choose_structure(state)
    clock.lap('structure')
    return _finish(state, choice, clock)


def _check(recordings: Sequence[Recording], model: ArmModel, options: Options) -> None:
    if not recordings:
        raise BadValue('number of recordings', 0, '>= 1')
    for recording in recordings:
        if recording.n != model.n:
            raise BadValue(f'{recording.name}: number of joints', recording.n, f'{model.n}')
    check_excited(recordings, model.joint_names)
    if options.axes is not None and options.axes.shape[1] != model.n:
        raise BadValue('shape of the drive axes', options.axes.shape, f'(k, {model.n})')


def _choose_motion(training: Training, options: Options, gravity: Array) -> _State:
    """Source and filter of the velocities and delay of the torques, with the gravity they give."""
    def trial(velocity: str, band: float, start: Array, search: bool,
              delay: float = 0.0) -> tuple[float, _State]:
        data = training.prepare(velocity, band).with_delay(delay)
        nominal = training.model.parameters
        state = _robust(_State(data, options, start, np.ones(training.model.n), nominal), FIRST, 2)
        state = _robust(_find_gravity(state, FIRST, search), FIRST, 1)
        return _first_score(state), state

    sources = ('measured', 'position') if training.measured_velocity else ('position',)
    search = options.gravity is None
    trials = [trial(source, WIDE_BAND, gravity, search) for source in sources]
    best = _choose_delay(min(trials, key=_score)[1])
    trials = [trial(best.data.velocity, band, best.gravity, False, best.data.torque_delay)
              for band in NARROW_BANDS]
    return min([(_first_score(best), best), *trials], key=_score)[1]


def _choose_delay(state: _State) -> _State:
    """Delay of the torques behind the motion."""
    def trial(delay: float) -> tuple[float, _State]:
        moved = replace(state, data=state.data.with_delay(delay))
        return _first_score(moved), moved

    now = trial(0.0)
    best = min([now, *(trial(delay) for delay in DELAYS)], key=_score)
    for fine in FINE_DELAYS:
        center = best[1].data.torque_delay
        best = min([best, trial(center - fine), trial(center + fine)], key=_score)
    return _robust(best[1], FIRST, 1) if best[0] < (1.0 - GAIN) * now[0] else state


def _first_score(state: _State) -> float:
    """Score on unseen blocks before the structure is chosen."""
    return cross_validate(state.data.problem(state.gravity, state.noise), Choice(FIRST)).score


def _score(trial: tuple[float, _State]) -> float:
    return trial[0]


def _robust(state: _State, terms: tuple[str, ...], iterations: int) -> _State:
    """Noise of the joints and weights against outliers."""
    for _ in range(iterations):
        exponent = 0.0 if state.data.weights is None else 1.0
        problem = state.data.problem(state.gravity, state.noise)
        theta = fit(problem, Choice(terms, exponent=exponent))
        errors = state.data.errors(theta, state.gravity, terms)
        noise = np.sqrt(np.mean(np.square(np.concatenate(errors)), axis=0)) + 1e-9
        torque = np.concatenate([c.y for c in state.data.columns])
        size = np.sqrt(np.mean(np.square(torque), axis=0))
        weights = [huber_weights(error, *OUTLIER, LEAST_NOISE * size) for error in errors]
        state = replace(state, noise=noise, parameters=theta[:len(state.parameters)],
                        data=replace(state.data, weights=weights))
    return state


def _find_gravity(state: _State, terms: tuple[str, ...], search: bool = False) -> _State:
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
            lambda gravity: _consistent(state, equations, choice, gravity)[1])
    else:
        found = refine_gravity(equations, weights, places, prior, precision, state.gravity)

    def score(gravity: Array) -> float:
        return cross_validate(state.data.problem(gravity, state.noise), choice).score

    keep = score(found) > (1.0 - GAIN) * score(state.gravity)   # no better on unseen blocks
    return state if keep else replace(state, gravity=found)


def _choose_structure(state: _State) -> tuple[_State, Choice]:
    """Friction terms, smoothing of the sign, weights."""
    trials = []
    for smoothing in SMOOTHINGS:
        data = state.data.with_load(state.parameters, state.gravity, smoothing)
        problem = data.problem(state.gravity, state.noise)
        trials.append((data, choose_terms(problem, Choice(FIRST))))
    data, choice = min(trials, key=lambda trial: trial[1].score)
    state = _robust(replace(state, data=data), choice.terms, 1)
    if any(term in choice.terms for term in NEEDS_LOAD):   # the load of the better model
        data = data.with_load(state.parameters, state.gravity, data.drive.smoothing)
        state = _robust(replace(state, data=replace(data, weights=state.data.weights)),
                        choice.terms, 1)
    choice = choose_weights(state.data.problem(state.gravity, state.noise), choice)
    return _choose_consistent(state, choice)


def _choose_consistent(state: _State, choice: Choice) -> tuple[_State, Choice]:
    """The last doubts, decided among physically consistent models: base level, rotors, prior."""
    level = state.gravity if state.options.gravity is None else state.options.gravity
    tilted = _find_gravity(state, choice.terms)
    gravities = {tuple(g): g for g in (level, state.gravity, tilted.gravity)}
    terms = dict.fromkeys((tuple(t for t in choice.terms if t != 'inertia'), choice.terms))
    best, decided, lowest = state, choice, np.inf
    for prior in dict.fromkeys((max(choice.prior, Choice(()).prior), choice.prior)):
        for chosen in terms:
            for gravity in gravities.values():
                candidate = replace(choice, terms=chosen, prior=prior)
                moved = replace(state, gravity=gravity)
                score = _consistent_score(moved, candidate)
                if score < (1.0 - GAIN) * lowest:   # simpler models come first
                    best, decided, lowest = moved, candidate, score
    return best, decided


def _consistent_score(state: _State, choice: Choice) -> float:
    """Score of physically consistent models on blocks of time that were left out."""
    total = state.data.equations(FOLDS if len(state.data.columns) == 1 else 1)
    T = total.selection(state.gravity, state.data.drive.places(choice.terms))
    squares = np.zeros(total.n)
    for block in range(len(total.yy)):
        theta, _ = _consistent(state, total.without(block), choice, state.gravity)
        squares += total.only(block).squares(T @ theta)
    power = total.yy.sum(axis=0)
    joints = np.mean(np.sqrt(squares / power))
    return float(np.sqrt(np.sqrt(squares.sum() / power.sum()) * joints))


def _consistent(state: _State, equations: NormalEquations, choice: Choice,
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


def _finish(state: _State, choice: Choice, clock: _Clock) -> IdentifiedModel:
    data, model = state.data, state.data.training.model
    equations = data.equations(1)
    free = fit(data.problem(state.gravity, state.noise), replace(choice, prior=1e-6))
    theta, _ = _consistent(state, equations, choice, state.gravity)
    clock.lap('consistent model')
    n10 = len(model.parameters)
    measured = np.concatenate([c.y for c in data.columns])
    errors = np.concatenate(data.errors(theta, state.gravity, choice.terms))
    loose = np.concatenate(data.errors(free, state.gravity, choice.terms))
    half = _half_widths(state, equations, choice, errors)
    result = IdentifiedModel(
        model=model.replace(theta[:n10], np.zeros(model.n), state.gravity),
        drive=data.drive.only(choice.terms), coefficients=theta[n10:],
        velocity_delay=data.training.velocity_delay, torque_delay=data.torque_delay,
        cutoff=data.training.cutoff, motion_cutoff=data.motion_cutoff, velocity=data.velocity,
        train=torque_error(measured, measured - errors),
        unconstrained_percent=torque_error(measured, measured - loose).percent,
        cross_validated_percent=choice.percent, nominal=model.parameters,
        intervals=np.stack([theta - half, theta + half], axis=1),
        kept=_kept(state, choice, half),
        notes=data.training.notes, seconds=clock.laps)
    result = replace(result, ripples=fit_ripples(result, data.training.even),
                     notes=(*result.notes, *_remarks(state, choice, result)))
    clock.lap('ripple')
    return result


def _remarks(state: _State, choice: Choice, result: IdentifiedModel) -> list[str]:
    """What looks wrong in the data or in what was told about them."""
    remarks = []
    data, model = state.data, state.data.training.model
    expected = np.concatenate([y.torque(model.parameters, state.gravity) for y in data.rigid])
    measured = np.concatenate([recording.tau for recording in data.training.working])
    ratio = float(np.linalg.norm(measured) / max(float(np.linalg.norm(expected)), 1e-300))
    if not 1.0 / PLAUSIBLE < ratio < PLAUSIBLE:
        remarks.append(f'the torques are {ratio:.2g} times what the nominal masses need: current '
                       'instead of torque? Then give the gains of the drives')
    if state.options.gravity is not None:
        found = _find_gravity(state, choice.terms, search=True).gravity
        turn = np.degrees(np.arccos(np.clip(found @ state.options.gravity / (
            np.linalg.norm(found) * np.linalg.norm(state.options.gravity)), -1.0, 1.0)))
        if turn > LEANING:
            remarks.append(f'the motion fits better with gravity {found.round(2).tolist()} m/s^2, '
                           f'{turn:.0f} degrees from the given one; is the arm mounted otherwise?')
    low, high = state.options.mass_factors
    at_bound = [name for name, factor in zip(model.link_names, result.mass_factors, strict=True)
                if factor < 1.01 * low or factor > 0.99 * high]
    if at_bound:
        remarks.append(f'the mass of {", ".join(at_bound)} lies at its bound')
    return remarks


def _half_widths(state: _State, equations: NormalEquations, choice: Choice,
                 errors: Array) -> Array:
    """Of 95 % intervals, from the noise that is left, correlated samples counted once, (p,)."""
    T = equations.selection(state.gravity, state.data.drive.places(choice.terms))
    noise = np.mean(np.square(errors), axis=0)
    noise = noise * np.array([correlation_factor(column) for column in errors.T])
    model = state.data.training.model
    problem = Problem(equations, model.parameters, state.data.drive, state.noise)
    precision = problem.prior(choice)[1]
    information = T.T @ np.tensordot(1.0 / noise, equations.AA.sum(axis=0), axes=1) @ T
    information += np.diag(precision + 1e-12 * np.diag(information).max())
    return np.asarray(NORMAL_95 * np.sqrt(np.diag(np.linalg.inv(information))))


def _kept(state: _State, choice: Choice, half: Array) -> tuple[str, ...]:
    """Inertial parameters whose interval the data hardly made narrower than the prior's."""
    model = state.data.training.model
    prior = NORMAL_95 * parameter_scale(model.parameters) / np.sqrt(choice.prior)
    blind = half[:len(prior)] > BLIND * prior
    return tuple(name for name, kept in zip(model.parameter_names, blind, strict=True) if kept)


class _Clock:
    """Seconds per step."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._start = self._last = time.perf_counter()

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.laps[name] = round(now - self._last, 4)
        self.laps['total'] = round(now - self._start, 4)
        self._last = now
