"""What the steps of an identification hand on, and the fits that all of them use."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from armsense.identify.design import NormalEquations
from armsense.identify.feasible import link_bounds, solve_feasible
from armsense.identify.gravity import refine_gravity, search_gravity
from armsense.identify.model_selection import (
    Choice,
    cross_validate,
    fit,
    GAIN,
    judged,
    Problem,
)
from armsense.identify.options import Options
from armsense.identify.regression import huber_weights
from armsense.identify.training import Prepared
from armsense.types import Array

OUTLIER = (5.0, 10.0)     # robust deviations from which a sample counts less, and not at all
LEAST_NOISE = 0.02        # of the torque: smaller errors are never outliers
LEAST_TILT = 5e-4         # [rad] a base that leans less stands level
FOLDS = 4                 # of the final choice among consistent models


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
