"""From recordings to a physically consistent model.

Steps: regular clock; torque band from the motion; source, filter and delays of the signals;
gravity; terms of the drives; weights; estimator; what is known and what is not. Every choice is
made by cross-validation within the training recordings.
"""

from collections.abc import Sequence
from dataclasses import replace
import time

import numpy as np

from armsense.errors import BadValue
from armsense.identify.estimation.base_parameters import estimate_base, structure
from armsense.identify.estimation.equations import NormalEquations, selection, solve_normal
from armsense.identify.estimation.estimators import estimate, Evidence, single_parameters
from armsense.identify.estimation.feasible import parameter_scale
from armsense.identify.estimation.search import (
    all_equations,
    Choice,
    choose_motion,
    choose_structure,
    consistent,
    cross_validated_percent,
    find_gravity,
    Problem,
    State,
)
from armsense.identify.estimation.training import (
    Options,
    sensor_noise,
    silent_joints,
    Training,
)
from armsense.identify.estimation.wiring import Wiring
from armsense.identify.model import BLIND, IdentifiedModel, in_words, NORMAL_95
from armsense.identify.signals.filters import correlation_factor, folded, thinned, torque_error
from armsense.identify.signals.recording import check_enough, check_excited, Recording
from armsense.model.arm import Arm
from armsense.types import Array, Progress

__all__ = ['identify', 'Options']

PLAUSIBLE = 4.0      # factor between measured and nominal torques
LEANING = 3.0        # [deg] from which another gravity is worth a remark
TOUCH = 8.0          # times the usual error: something else acted on the arm
LEAST_TOUCH = 0.1    # of a joint's torque: smaller errors are the model's
APART = 0.5          # [s] between two stretches
ODD = 5.0            # times the usual error, and
LEAST_ODD = 20.0     # [%] at least: a recording is not of the same arm


def identify(recordings: Sequence[Recording], model: Arm, options: Options | None = None,
             progress: Progress = lambda share, step: None) -> IdentifiedModel:
    """Identify an arm from recorded motions.

    Args:
        recordings: Training data; torque on the link side.
        model: Kinematics and nominal inertias (URDF).
        options: What shall not be chosen from the data.
        progress: Told at every step.
    """
    options = options or Options()
    _check(recordings, model, options)
    clock = Clock(progress)
    clock.next('preprocess', 0.0)
    training = Training.load(recordings, model, options)
    clock.next('motion filter and gravity', 0.1)
    first = model.gravity if options.gravity is None else options.gravity
    state = choose_motion(training, options, first)
    clock.next('structure', 0.5)
    state, choice = choose_structure(state)
    return conclude(state, choice, clock)


def _check(recordings: Sequence[Recording], model: Arm, options: Options) -> None:
    if not recordings:
        raise BadValue('number of recordings', 0, '>= 1')
    for recording in recordings:
        if recording.n != model.n:
            raise BadValue(f'{recording.name}: number of joints', recording.n, f'{model.n}')
    check_excited(recordings, model.joint_names)
    if options.axes is not None and options.axes.shape[1] != model.n:
        raise BadValue('shape of the drive axes', options.axes.shape, f'(k, {model.n})')
    check_enough(recordings, len(model.parameters) + 2 * model.n)


class Clock:
    """Seconds per step, and who wants to know."""

    def __init__(self, progress: Progress) -> None:
        self.laps: dict[str, float] = {}
        self._progress = progress
        self._step = ''
        self._start = self._last = time.perf_counter()

    def next(self, step: str, share: float) -> None:
        """A step begins; '' ends the last one."""
        now = time.perf_counter()
        if self._step:
            self.laps[self._step] = round(now - self._last, 4)
        self.laps['total'] = round(now - self._start, 4)
        self._step, self._last = step, now
        self._progress(share, step or 'done')

    def within(self, share: float) -> None:
        """The step goes on."""
        self._progress(share, self._step)


def conclude(state: State, choice: Choice, clock: Clock) -> IdentifiedModel:
    """Final estimate under the chosen structure."""
    clock.next('equations', 0.8)
    data, model = state.data, state.data.training.model
    equations = all_equations(state, lambda share: clock.within(0.8 + 0.1 * share))
    clock.next('consistent model', 0.9)
    theta, _ = consistent(state, equations, choice, state.gravity)
    clock.next('intervals', 0.91)
    free = Problem(state).fit(replace(choice, prior=1e-6))
    evidence = _evidence(state, choice, theta)
    name = state.options.estimator
    if name == 'consistent':
        weights = [trust / np.square(state.noise) for trust in evidence.trust]
        base = estimate_base(evidence.base, evidence.columns, evidence.torques, weights,
                             slopes=evidence.slopes, periods=evidence.periods)
    else:
        base = estimate(evidence, name)
        theta = single_parameters(base, evidence)
    n10 = len(model.parameters)
    measured = np.concatenate([c.y for c in data.columns])
    errors = data.errors(theta, state.gravity, choice.terms)
    loose = np.concatenate(data.errors(free, state.gravity, choice.terms))
    half = _half_widths(state, equations, choice, errors)
    train = torque_error(measured, measured - np.concatenate(errors))
    result = IdentifiedModel(
        model=model.replace(theta[:n10], np.zeros(model.n), state.gravity),
        drive=data.drive.only(choice.terms), coefficients=theta[n10:],
        velocity_delay=data.training.velocity_delay,
        torque_delay=data.torque_delay, clock_shift=data.training.shift,
        cutoff=data.training.cutoff, motion_cutoff=data.motion_cutoff, velocity=data.velocity,
        train=train,
        unconstrained_percent=torque_error(measured, measured - loose).percent,
        # The choices have seen every block, so the figure is no better than that of the training.
        cross_validated_percent=max(cross_validated_percent(state, choice), train.percent),
        nominal=model.parameters,
        intervals=np.stack([theta - half, theta + half], axis=1),
        base=base, estimator=name, kept=_kept(state, choice, half),
        findings=tuple(in_words(model, evidence.columns, state.noise, base)),
        notes=data.training.notes, lost=data.training.lost)
    clock.next('errors', 0.95)
    result = _as_run(result, data.training.even)
    notes = (*result.notes, *remarks(state, choice, result))
    clock.next('wiring', 0.98)
    wiring, silent = _connections(state)
    clock.next('', 1.0)
    notes += tuple(f'the torque of {name} drowns in the noise of its sensor: it is not explained, '
                   'and not judged' for name in silent)
    return replace(result, notes=notes, wiring=wiring, silent=silent,
                   sensor_noise=sensor_noise(data.training.even, data.training.cutoff),
                   seconds=clock.laps)


def _as_run(fit: IdentifiedModel, recordings: Sequence[Recording]) -> IdentifiedModel:
    """With errors of the model that the nodes run, which has less than the fit: see `predict`."""
    bands = [fit.predict(recording).band(fit.cutoff) for recording in recordings]
    train = torque_error(*(np.concatenate(part) for part in zip(*bands, strict=True)))
    lost = train.percent ** 2 - fit.train.percent ** 2

    def as_run(percent: float) -> float:
        return float(np.sqrt(max(percent ** 2 + lost, 0.0)))

    return replace(fit, train=train, unconstrained_percent=as_run(fit.unconstrained_percent),
                   cross_validated_percent=as_run(fit.cross_validated_percent))


def _connections(state: State) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What seems to be connected wrongly, and joints that are not heard."""
    data, model = state.data, state.data.training.model.replace(gravity=state.gravity)
    torques = [recording.tau for recording in data.delayed_recordings()]
    nominal = np.concatenate([y.torque(model.parameters, state.gravity) for y in data.rigid])
    silent = silent_joints(data.training.even, np.sqrt(np.mean(np.square(nominal), axis=0)),
                           data.training.cutoff)
    wiring = Wiring(model, data.motions, torques, data.training.cutoff)
    return (wiring.faults(state.gravity, data.training.model.gravity),
            tuple(name for name, quiet in zip(model.joint_names, silent, strict=True) if quiet))


def _evidence(state: State, choice: Choice, theta: Array) -> Evidence:
    """What the estimators see: columns of the chosen structure."""
    data = state.data
    model = data.training.model.replace(gravity=state.gravity)
    drive = data.drive.only(choice.terms)
    T = selection(model.n, data.columns[0].A.shape[2], state.gravity,
                  data.drive.places(choice.terms))
    return Evidence(
        model=model, drive=drive, base=structure(model, drive),
        columns=[c.A @ T for c in data.columns], torques=[c.y for c in data.columns],
        trust=data.weights or [np.ones_like(c.y) for c in data.columns], noise=state.noise,
        nominal=np.concatenate([model.parameters, np.zeros(drive.count)]), theta=theta,
        recordings=data.delayed_recordings(), motions=data.motions,
        cutoff=data.training.cutoff, options=state.options,
        slopes=data.slopes(), periods=data.periods)


def _half_widths(state: State, equations: NormalEquations, choice: Choice,
                 errors: list[Array]) -> Array:
    """Of 95 % intervals, from the noise that is left, correlated samples counted once, (p,)."""
    T = equations.selection(state.gravity, state.data.drive.places(choice.terms))
    left = np.concatenate(list(map(folded, errors, state.data.periods)))
    noise = np.mean(np.square(left), axis=0)
    noise = noise * np.array([correlation_factor(column) for column in left.T])
    precision = state.prior(choice)[1]
    information = T.T @ np.tensordot(1.0 / noise, equations.AA.sum(axis=0), axes=1) @ T
    information += np.diag(precision + 1e-12 * np.diag(information).max())
    return np.asarray(NORMAL_95 * np.sqrt(np.diag(np.linalg.inv(information))))


def _kept(state: State, choice: Choice, half: Array) -> tuple[str, ...]:
    """Inertial parameters whose interval the data hardly made narrower than the prior's."""
    model = state.data.training.model
    prior = NORMAL_95 * parameter_scale(model.parameters) / np.sqrt(choice.prior)
    blind = half[:len(prior)] > BLIND * prior
    return tuple(name for name, kept in zip(model.parameter_names, blind, strict=True) if kept)


def remarks(state: State, choice: Choice, result: IdentifiedModel) -> list[str]:
    """What looks wrong in the data or in what was told about them."""
    found = []
    data, model = state.data, state.data.training.model
    expected = np.concatenate([y.torque(model.parameters, state.gravity) for y in data.rigid])
    measured = np.concatenate([recording.tau for recording in data.training.working])
    ratio = float(np.linalg.norm(measured) / max(float(np.linalg.norm(expected)), 1e-300))
    if not 1.0 / PLAUSIBLE < ratio < PLAUSIBLE:
        milli = 1000.0 / PLAUSIBLE < ratio < 1000.0 * PLAUSIBLE
        found.append(f'the torques are {ratio:.2g} times what the nominal masses need: '
                     + ('mA or mNm? Then say so in source.units' if milli else
                        'current instead of torque? Then give the gains of the drives'))
    if state.options.gravity is not None:
        better = find_gravity(state, choice.terms, search=True).gravity
        turn = np.degrees(np.arccos(np.clip(better @ state.options.gravity / (
            np.linalg.norm(better) * np.linalg.norm(state.options.gravity)), -1.0, 1.0)))
        if turn > LEANING:
            found.append(f'the motion fits better with gravity {better.round(2).tolist()} m/s^2, '
                         f'{turn:.0f} degrees from the given one, which is kept; is the arm '
                         'mounted otherwise? Then say gravity: auto')
    low, high = state.options.mass_factors
    at_bound = [name for name, factor in zip(model.link_names, result.mass_factors, strict=True)
                if factor < 1.01 * low or factor > 0.99 * high]
    if at_bound:
        found.append(f'the mass of {", ".join(at_bound)} lies at its bound')
    return [*found, *_touched(state), *_odd_recordings(state, choice)]


def _touched(state: State) -> list[str]:
    """Stretches that no arm alone explains: they were left out of the fit."""
    data, model, found = state.data, state.data.training.model, []
    errors = data.errors(state.theta, state.gravity, state.terms)
    torque = np.concatenate([columns.y for columns in data.columns])
    for recording, motion, error in zip(data.training.even, data.motions, errors, strict=True):
        t = motion.t[thinned(len(motion.t), data.training.cutoff, motion.rate)]
        ratio = np.abs(error) / np.maximum(_usual(error), LEAST_TOUCH / TOUCH * _rms(torque))
        loud = np.flatnonzero(ratio.max(axis=1) > TOUCH)
        if not len(loud):
            continue
        stretches = np.split(loud, np.flatnonzero(np.diff(t[loud]) > APART) + 1)
        longest = max(stretches, key=lambda rows: float(ratio[rows].max()) * len(rows))
        j = int(np.argmax(ratio[longest].max(axis=0)))
        size = float(np.abs(error[longest, j]).max())
        first = recording.t[0]
        found.append(f'{recording.name}: at {t[longest[0]] - first:.1f} to '
                     f'{t[longest[-1]] - first:.1f} s {model.joint_names[j]} misses {size:.2g} '
                     f'Nm, {ratio[longest, j].max():.0f} times the usual: a '
                     'contact? It is left out of the fit')
    return found


def _rms(x: Array) -> Array:
    return np.asarray(np.sqrt(np.mean(np.square(x), axis=0)))


def _usual(error: Array) -> Array:
    """Standard deviation of all but outliers, (n,)."""
    return np.asarray(1.4826 * np.median(np.abs(error), axis=0))


def _odd_recordings(state: State, choice: Choice) -> list[str]:
    """Recordings that a model of none of the others predicts."""
    data = state.data
    owner = [recording.name for recording in data.training.even]
    names = list(dict.fromkeys(owner))
    if len(names) < 2:
        return []
    total = data.equations(1).select(state.gravity, data.drive.places(choice.terms))
    files = [total.only([k for k, own in enumerate(owner) if own == name]) for name in names]
    # Parameters of one file alone, close to the nominal ones where it says little.
    models = [solve_normal(*file.weighted(state.weights(choice.exponent)), *state.prior(choice))
              for file in files]
    error = np.array([[100.0 * np.sqrt(file.squares(theta).sum() / file.yy.sum())
                       for theta in models] for file in files])
    usual = float(np.median(np.diag(error)))
    others = np.where(np.eye(len(names)) > 0.0, np.inf, error).min(axis=1)
    return [f'{name} does not fit the other recordings ({best:.0f} % error, {usual:.1f} % on '
            'its own): another arm, payload or mounting?'
            for name, best in zip(names, others, strict=True)
            if best > max(LEAST_ODD, ODD * usual)]
