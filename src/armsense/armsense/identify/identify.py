"""From recordings to a physically consistent model.

Steps: regular clock; torque band from the motion; source, filter and delays of the signals;
gravity; terms of the drives; weights; estimator; ripple. Every choice is made by cross-validation
within the training recordings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from armsense.errors import BadValue
from armsense.identify.conclude import Clock, conclude
from armsense.identify.friction_columns import NEEDS_LOAD, TERMS
from armsense.identify.identified_model import IdentifiedModel
from armsense.identify.model_selection import (
    Choice,
    choose_terms,
    choose_weights,
    cross_validate,
    GAIN,
)
from armsense.identify.options import Options
from armsense.identify.recording import check_enough, check_excited, Recording
from armsense.identify.state import cross_validate_consistent, find_gravity, robust, State
from armsense.identify.training import Prepared, Training
from armsense.model.arm_model import ArmModel
from armsense.types import Array

__all__ = ['identify', 'Options']

SMOOTHINGS = (0.003, 0.01, 0.03)      # [rad/s] over which friction changes its sign
NARROW_BANDS = (0.6, 1.0)             # motion filter over torque filter
WIDE_BAND = 1.6
DELAYS = (-0.004, 0.004, 0.008, 0.012, 0.016)   # [s] of the torques behind the motion
FINE_DELAYS = (0.002, 0.001)          # [s]
FIRST = tuple(term for term in TERMS if term not in (*NEEDS_LOAD, 'stribeck'))
Progress = Callable[[str, float], None]      # step, share of the whole


def identify(recordings: Sequence[Recording], model: ArmModel, options: Options | None = None,
             progress: Progress = lambda step, share: None) -> IdentifiedModel:
    """Identify an arm from recorded motions.

    Args:
        recordings: Training data; torque on the link side.
        model: Kinematics and nominal inertias (URDF).
        options: What shall not be chosen from the data.
        progress: Told the next step and the share that is done, 0 to 1.
    """
    options = options or Options()
    _check(recordings, model, options)
    clock = Clock(progress)
    clock.next('preprocess', 0.0)
    training = Training.load(recordings, model, options)
    clock.next('motion filter and gravity', 0.1)
    first = model.gravity if options.gravity is None else options.gravity
    state = _choose_motion(training, options, first)
    clock.next('structure', 0.5)
    state, choice = _choose_structure(state)
    return conclude(state, choice, clock)


def _check(recordings: Sequence[Recording], model: ArmModel, options: Options) -> None:
    if not recordings:
        raise BadValue('number of recordings', 0, '>= 1')
    for recording in recordings:
        if recording.n != model.n:
            raise BadValue(f'{recording.name}: number of joints', recording.n, f'{model.n}')
    check_excited(recordings, model.joint_names)
    if options.axes is not None and options.axes.shape[1] != model.n:
        raise BadValue('shape of the drive axes', options.axes.shape, f'(k, {model.n})')
    check_enough(recordings, len(model.parameters) + 2 * model.n)


def _choose_motion(training: Training, options: Options, gravity: Array) -> State:
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


def _choose_structure(state: State) -> tuple[State, Choice]:
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
