"""What looks wrong in the data or in what was told about them."""

from __future__ import annotations

import numpy as np

from armsense.identify.design import NormalEquations
from armsense.identify.identified_model import IdentifiedModel
from armsense.identify.model_selection import Choice, Problem
from armsense.identify.regression import solve_normal
from armsense.identify.state import find_gravity, State
from armsense.types import Array

PLAUSIBLE = 4.0      # factor between measured and nominal torques
LEANING = 10.0       # [deg] from which another gravity is worth a remark
ODD = 5.0            # times the usual error, and
LEAST_ODD = 20.0     # [%] at least: a recording is not of the same arm


def remarks(state: State, choice: Choice, result: IdentifiedModel) -> list[str]:
    """What looks wrong in the data or in what was told about them."""
    found = []
    data, model = state.data, state.data.training.model
    expected = np.concatenate([y.torque(model.parameters, state.gravity) for y in data.rigid])
    measured = np.concatenate([recording.tau for recording in data.training.working])
    ratio = float(np.linalg.norm(measured) / max(float(np.linalg.norm(expected)), 1e-300))
    if not 1.0 / PLAUSIBLE < ratio < PLAUSIBLE:
        found.append(f'the torques are {ratio:.2g} times what the nominal masses need: current '
                       'instead of torque? Then give the gains of the drives')
    if state.options.gravity is not None:
        better = find_gravity(state, choice.terms, search=True).gravity
        turn = np.degrees(np.arccos(np.clip(better @ state.options.gravity / (
            np.linalg.norm(better) * np.linalg.norm(state.options.gravity)), -1.0, 1.0)))
        if turn > LEANING:
            found.append(f'the motion fits better with gravity {better.round(2).tolist()} m/s^2, '
                           f'{turn:.0f} degrees from the given one; is the arm mounted otherwise?')
    low, high = state.options.mass_factors
    at_bound = [name for name, factor in zip(model.link_names, result.mass_factors, strict=True)
                if factor < 1.01 * low or factor > 0.99 * high]
    if at_bound:
        found.append(f'the mass of {", ".join(at_bound)} lies at its bound')
    return [*found, *_odd_recordings(state, choice)]


def _odd_recordings(state: State, choice: Choice) -> list[str]:
    """Recordings that a model of none of the others predicts."""
    data = state.data
    owner = [recording.name for recording in data.training.even]
    names = list(dict.fromkeys(owner))
    if len(names) < 2:
        return []
    total = data.equations(1).select(state.gravity, data.drive.places(choice.terms))
    files = [NormalEquations(total.AA[own], total.Ay[own], total.yy[own], total.rows[own])
             for own in ([k for k, o in enumerate(owner) if o == name] for name in names)]
    models = [_own_model(state, choice, file) for file in files]
    error = np.array([[100.0 * np.sqrt(file.squares(theta).sum() / file.yy.sum())
                       for theta in models] for file in files])
    usual = float(np.median(np.diag(error)))
    others = np.where(np.eye(len(names)) > 0.0, np.inf, error).min(axis=1)
    return [f'{name} does not fit the other recordings ({best:.0f} % error, {usual:.1f} % on '
            'its own): another arm, payload or mounting?'
            for name, best in zip(names, others, strict=True)
            if best > max(LEAST_ODD, ODD * usual)]


def _own_model(state: State, choice: Choice, file: NormalEquations) -> Array:
    """Parameters of one file alone, close to the nominal ones where it says little, (p,)."""
    problem = Problem(file, state.data.training.model.parameters, state.data.drive, state.noise)
    prior, precision = problem.prior(choice)
    w = problem.weights(choice.exponent)
    return solve_normal(np.tensordot(w, file.AA.sum(axis=0), axes=1), w @ file.Ay.sum(axis=0),
                        prior, precision)
