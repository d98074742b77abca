"""Torque constants of the drives from runs without and with a known payload.

    Y pi + D c - g_j i_j = -tau_load        tau_load = 0 without the payload

Currents alone tell an arm's parameters only up to a scale per joint; a payload of known weight
moves every joint that carries it by a known torque and so tells the scale. The noise of the
currents is part of the unknown's column, so the currents that the fit expects serve as
instruments.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from armsense.errors import ArmsenseError, BadValue
from armsense.identify.estimation.base_parameters import (
    base_parameters,
    BaseEstimate,
    estimate_base,
    regrouped,
)
from armsense.identify.friction.columns import DriveColumns
from armsense.identify.signals.filters import decimate, low_pass, motion, thinned, torque_band
from armsense.identify.signals.recording import Recording, regular, split_at_gaps
from armsense.model.arm import Arm
from armsense.types import Array

TERMS = ('viscous', 'coulomb', 'inertia', 'offset')
RATE_FACTOR = 20.0
LEAST = 0.01       # of the joint's torque that the payload must move


class TorqueConstants(NamedTuple):
    """Joint torque per current."""

    values: Array        # [Nm/A], (n,)
    intervals: Array     # 95 % [Nm/A], (n, 2)
    estimate: BaseEstimate


def identify_torque_constants(empty: Sequence[Recording], loaded: Sequence[Recording],
                              model: Arm, mass: float,
                              center: Sequence[float] = (0.0, 0.0, 0.0)) -> TorqueConstants:
    """Torque constants of all joints.

    Args:
        empty: Runs without payload; `tau` holds currents [A].
        loaded: Runs with it.
        model: Kinematics and gravity.
        mass: Of the payload [kg].
        center: Of the payload in the tool frame [m].
    """
    if not mass > 0.0:
        raise BadValue('payload mass', mass, '> 0 kg')
    carrying = model.with_payload(mass, center)
    parts = [_part(part, model, load) for runs, load in ((empty, None), (loaded, carrying))
             for run in runs for part in split_at_gaps(run).recordings]
    names = _names(model)
    columns, sides = [p[0] for p in parts], [p[1] for p in parts]
    _check_load(sides, columns, model)
    base = base_parameters(np.concatenate([A.reshape(-1, len(names)) for A in columns]), names,
                           prefer=(*names[-model.n:], *names[10 * model.n:-model.n],
                                   *regrouped(model.parameter_names)))
    weights = [np.ones_like(y) for y in sides]
    found = estimate_base(base, columns, sides, weights)
    for _ in range(3):
        error = np.concatenate([y - base_columns(A, base.independent) @ found.values
                                for A, y in zip(columns, sides, strict=True)])
        weights = [np.broadcast_to(1.0 / np.mean(error**2, axis=0), y.shape) for y in sides]
        ghosts = [_expected(A, y, base.independent, found.values, model.n)
                  for A, y in zip(columns, sides, strict=True)]
        found = estimate_base(base, columns, sides, weights, instruments=ghosts)
    place = [found.names.index(name) for name in names[-model.n:]]
    return TorqueConstants(found.values[place], found.intervals()[place], found)


def base_columns(A: Array, keep: tuple[int, ...]) -> Array:
    """Columns of the base parameters, (N, n, r)."""
    return np.asarray(A[:, :, list(keep)])


def _names(model: Arm) -> tuple[str, ...]:
    drive = DriveColumns(np.eye(model.n), TERMS)
    return (*model.parameter_names, *drive.names, *(f'gain{k + 1}' for k in range(model.n)))


def _part(run: Recording, model: Arm, carrying: Arm | None) -> tuple[Array, Array]:
    """Filtered columns [Y | D | -i], (N, n, p), and minus the payload's torque, (N, n)."""
    even, _ = regular(run)
    band = torque_band(even)
    work = decimate(even, RATE_FACTOR * band)
    moving = motion(work, 1.6 * band)
    N, n = work.q.shape
    Y = model.torque_regressor_batch(moving.q, moving.dq, moving.ddq).reshape(N, n, -1)
    D = DriveColumns(np.eye(n), TERMS).columns(moving.dq, moving.ddq)
    A = np.concatenate([Y, D, -work.tau[:, :, None] * np.eye(n)], axis=2)
    load = np.zeros((N, n))
    if carrying is not None:
        state = moving.q, moving.dq, moving.ddq
        load = carrying.inverse_dynamics_batch(*state) - model.inverse_dynamics_batch(*state)
    keep = thinned(N, band, work.rate)
    flat = low_pass(np.concatenate([A.reshape(N, -1), -load], axis=1), band, work.rate)[keep]
    return flat[:, :-n].reshape(len(flat), n, -1), flat[:, -n:]


def _expected(A: Array, y: Array, keep: tuple[int, ...], beta: Array, n: int) -> Array:
    """Columns with the currents that the fit expects in place of the measured ones."""
    out = A.copy()
    full = np.zeros(A.shape[2])
    full[list(keep)] = beta
    gains = full[-n:]
    torque = A[:, :, :-n] @ full[:-n] - y                      # (N, n)
    for joint in range(n):
        out[:, joint, A.shape[2] - n + joint] = -torque[:, joint] / gains[joint]
    return out


def _check_load(sides: Sequence[Array], columns: Sequence[Array], model: Arm) -> None:
    load = np.sqrt(np.mean(np.square(np.concatenate(sides)), axis=0))
    nominal = np.sqrt(np.mean(np.square(np.concatenate(
        [A[:, :, :10 * model.n] @ model.parameters for A in columns])), axis=0))
    blind = [name for name, l, t in zip(model.joint_names, load, nominal, strict=True)
             if l < LEAST * max(t, 1e-9)]
    if blind:
        raise ArmsenseError(f'the payload moves the torque of {", ".join(blind)} by less than '
                            f'{100.0 * LEAST:.0f} %: its torque constant cannot be told')
