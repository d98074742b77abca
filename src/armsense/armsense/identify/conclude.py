"""The result of an identification: parameters, intervals, what is known and what is not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
import time

import numpy as np

from armsense.identify.design import NormalEquations, selection
from armsense.identify.estimators import estimate, Evidence, single_parameters
from armsense.identify.feasible import parameter_scale
from armsense.identify.identifiability import BLIND, in_words, NORMAL_95
from armsense.identify.identified_model import IdentifiedModel
from armsense.identify.model_selection import Choice, fit, Problem
from armsense.identify.remarks import remarks
from armsense.identify.ripple_fit import fit_ripples
from armsense.identify.state import consistent, State
from armsense.identify.streaming import all_equations
from armsense.identify.uncertainty import structure
from armsense.identify.validation import correlation_factor, torque_error
from armsense.identify.wiring import silent_joints, wrong_wiring
from armsense.types import Array


class Clock:
    """Seconds per step, and who wants to know."""

    def __init__(self, progress: Callable[[str, float], None]) -> None:
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
        self._progress(step or 'done', share)

    def within(self, share: float) -> None:
        """The step goes on."""
        self._progress(self._step, share)


def conclude(state: State, choice: Choice, clock: Clock) -> IdentifiedModel:
    """Final estimate under the chosen structure."""
    clock.next('equations', 0.8)
    data, model = state.data, state.data.training.model
    equations = all_equations(state, lambda share: clock.within(0.8 + 0.1 * share))
    clock.next('consistent model', 0.9)
    theta, _ = consistent(state, equations, choice, state.gravity)
    clock.next('intervals', 0.91)
    free = fit(data.problem(state.gravity, state.noise), replace(choice, prior=1e-6))
    evidence = _evidence(state, choice, theta)
    name = state.options.estimator
    base = estimate(evidence, 'wls' if name == 'consistent' else name)
    if name != 'consistent':
        theta = single_parameters(base, evidence)
    n10 = len(model.parameters)
    measured = np.concatenate([c.y for c in data.columns])
    errors = np.concatenate(data.errors(theta, state.gravity, choice.terms))
    loose = np.concatenate(data.errors(free, state.gravity, choice.terms))
    half = _half_widths(state, equations, choice, errors)
    train = torque_error(measured, measured - errors)
    result = IdentifiedModel(
        model=model.replace(theta[:n10], np.zeros(model.n), state.gravity),
        drive=data.drive.only(choice.terms), coefficients=theta[n10:],
        velocity_delay=data.training.velocity_delay,
        torque_delay=data.torque_delay + data.training.shift,
        cutoff=data.training.cutoff, motion_cutoff=data.motion_cutoff, velocity=data.velocity,
        train=train,
        unconstrained_percent=torque_error(measured, measured - loose).percent,
        # Left-out blocks judge the consistent fit; another one misses what it misses in training.
        cross_validated_percent=(choice.percent if name == 'consistent'
                                 else max(choice.percent, train.percent)),
        nominal=model.parameters,
        intervals=np.stack([theta - half, theta + half], axis=1),
        base=base, estimator=name, residual_mean=errors.mean(axis=0),
        residual_sigma=errors.std(axis=0), kept=_kept(state, choice, half),
        findings=tuple(in_words(model, evidence.columns, state.noise, base)),
        notes=data.training.notes, lost=data.training.lost)
    clock.next('ripple', 0.95)
    ripples = fit_ripples(result, data.training.even)
    notes = (*result.notes, *remarks(state, choice, result))
    clock.next('wiring', 0.98)
    wiring, silent = _connections(state)
    clock.next('', 1.0)
    return replace(result, ripples=ripples, notes=notes, wiring=wiring, silent=silent,
                   seconds=clock.laps)


def _connections(state: State) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What seems to be connected wrongly, and joints that are not heard."""
    data, model = state.data, state.data.training.model.replace(gravity=state.gravity)
    torques = [recording.tau for recording in data.delayed_recordings()]
    nominal = np.concatenate([y.torque(model.parameters, state.gravity) for y in data.rigid])
    silent = silent_joints(data.training.even, np.sqrt(np.mean(np.square(nominal), axis=0)),
                           data.training.cutoff)
    return (wrong_wiring(model, data.motions, torques, data.training.cutoff),
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
        cutoff=data.training.cutoff, options=state.options, top_speed=data.training.top_speed)


def _half_widths(state: State, equations: NormalEquations, choice: Choice,
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


def _kept(state: State, choice: Choice, half: Array) -> tuple[str, ...]:
    """Inertial parameters whose interval the data hardly made narrower than the prior's."""
    model = state.data.training.model
    prior = NORMAL_95 * parameter_scale(model.parameters) / np.sqrt(choice.prior)
    blind = half[:len(prior)] > BLIND * prior
    return tuple(name for name, kept in zip(model.parameter_names, blind, strict=True) if kept)
