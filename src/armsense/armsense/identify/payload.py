"""Payload from a run with and a run without it.

The model of the empty arm predicts both runs; what it misses with the load and not without it is
the load: more mass on the last link. Errors of the model itself cancel as far as the runs are
alike.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from armsense.errors import ArmsenseError
from armsense.identify.estimation.equations import rigid_columns
from armsense.identify.estimation.feasible import parameter_scale
from armsense.identify.estimation.training import RATE_FACTOR
from armsense.identify.model import IdentifiedModel
from armsense.identify.signals.filters import (
    correlation_factor,
    decimate,
    low_pass,
    motion,
    settled,
)
from armsense.identify.signals.recording import (
    Recording,
    regular,
    shift,
    split_at_gaps,
    without_delay,
)
from armsense.types import Array

STATIC_PARAMETERS = 4   # m, mx, my, mz: what weighs
PRIOR = 0.01         # weight of no load at all; 1: believed to the size of the last link
ITERATIONS = 3       # of the noise
WIDEST = 1.5         # interval over mass: a wider one tells nothing
REST = 0.01          # [rad/s] slower counts as rest
LEAST_STILL = 50     # samples


@dataclass(frozen=True)
class Payload:
    """Mass and first moments of what the last link carries more."""

    mass: float                     # [kg]
    interval: tuple[float, float]   # 95 % [kg]
    moment: Array                   # mass times centre, in the frame of the last link [kg m], (3,)
    explained: float = 0.0          # share of the squared error of the loaded run

    @property
    def told(self) -> bool:
        """Whether the data tell that there is a load, and how heavy it is."""
        low, high = self.interval
        return low > 0.0 and high - low < WIDEST * self.mass

    @property
    def center(self) -> Array:
        """Centre of mass in the frame of the last link [m], (3,)."""
        return np.asarray(self.moment / self.mass)

    @property
    def plain(self) -> dict[str, Any]:
        """For programs."""
        interval = [round(x, 4) for x in self.interval]
        if not self.told:
            return {'error': f'the data do not tell it: anything from {interval[0]:.2g} to '
                             f'{interval[1]:.2g} kg fits', 'interval_kg': interval}
        return {'mass_kg': round(self.mass, 4), 'interval_kg': interval,
                'center_m': [round(float(x), 4) for x in self.center]}


def identify_payload(model: IdentifiedModel, loaded: Recording, empty: Recording,
                     static: bool = False) -> Payload:
    """Payload of `loaded` against `empty`, with the model of the empty arm.

    Static: only what the arm weighs at rest counts; the load may sway or be alive.
    """
    A, y, speed = difference(model, loaded)
    if static:
        A, y = _at_rest(A, y, speed, loaded.name)
    A0, y0, _ = difference(model, empty)
    count = STATIC_PARAMETERS if static else A.shape[2]
    A, A0 = A[:, :, :count], A0[:, :, :count]
    # What the empty arm's model misses is linear in the last link's parameters too: a second set.
    columns = np.concatenate([np.concatenate([A, A], axis=2),
                              np.concatenate([np.zeros_like(A0), A0], axis=2)])
    error = np.concatenate([y, y0])
    scale = np.tile(parameter_scale(model.nominal[-10:])[:count], 2)
    x, deviation, left = _solve(columns * scale, error, (len(y), len(y0)))
    x = x * scale
    reach = float(stats.norm.ppf(0.975) * deviation[0] * scale[0])
    before, after = (float(np.sum(np.square(part[:len(y)]))) for part in (error, left))
    return Payload(float(x[0]), (float(x[0] - reach), float(x[0] + reach)), x[1:4],
                   1.0 - after / max(before, 1e-300))


def _solve(columns: Array, error: Array, lengths: tuple[int, int]) -> tuple[Array, Array, Array]:
    """Parameters in their scale and their deviations, (p,) each, and what is left, (N, n).

    Joints count by the noise that is left of them; correlated samples of it count once.
    """
    noise = np.sqrt(np.mean(np.square(error), axis=0))
    for _ in range(ITERATIONS):
        W = (columns / noise[:, None]).reshape(-1, columns.shape[2])
        information = W.T @ W + PRIOR * np.eye(W.shape[1])
        x = np.linalg.solve(information, W.T @ (error / noise).ravel())
        left = error - columns @ x
        parts = np.split(left, [lengths[0]])
        factor = np.max([[correlation_factor(column) for column in part.T] for part in parts
                         if len(part) > 1], axis=0)
        noise = np.sqrt(np.mean(np.square(left), axis=0) * factor)
    return x, np.sqrt(np.diag(np.linalg.inv(information))), left


def _at_rest(columns: Array, error: Array, speed: Array, name: str) -> tuple[Array, Array]:
    """Only samples of an arm that rests."""
    still = speed < REST
    if still.sum() < LEAST_STILL:
        raise ArmsenseError(f'{name}: the arm rests in {int(still.sum())} samples only; hold '
                            f'several poses (slower than {REST} rad/s)')
    return columns[still], error[still]


def difference(model: IdentifiedModel,
                recording: Recording) -> tuple[Array, Array, Array]:
    """Columns of the last link's parameters, (N, n, 10), error (N, n), top speed (N,)."""
    parts = [_part(model, part) for part in split_at_gaps(recording).recordings]
    columns, error, speed = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return columns, error, speed


def _part(model: IdentifiedModel, recording: Recording) -> tuple[Array, Array, Array]:
    """The same of a recording without gaps."""
    even, _ = regular(recording)
    work = without_delay(decimate(even, RATE_FACTOR * model.cutoff), model.velocity_delay)
    velocity = model.velocity if work.dq is not None else 'position'
    moving = motion(work, model.motion_cutoff, velocity)
    rigid = rigid_columns(model.model, moving)
    static = np.tensordot(model.gravity, rigid.static[..., -4:], axes=1)
    last = rigid.dynamic[:, :, -10:].copy()
    last[:, :, :STATIC_PARAMETERS] += static
    tau = shift(work.tau, work.t, model.torque_delay + model.clock_shift)
    keep = settled(len(work.t), model.cutoff, work.rate)
    N, n, k = last.shape
    columns = low_pass(last.reshape(N, n * k), model.cutoff, work.rate).reshape(N, n, k)
    error = low_pass(tau - model.torque(moving), model.cutoff, work.rate)
    return columns[keep], error[keep], np.abs(moving.dq).max(axis=1)[keep]


def find_payload(model: IdentifiedModel, loaded: Recording, empty: Recording) -> dict[str, Any]:
    """Mass and centre, from all of the motion and, where the arm rests, from the poses alone."""
    found = {'dynamic': identify_payload(model, loaded, empty).plain}
    try:
        found['static'] = identify_payload(model, loaded, empty, static=True).plain
    except ArmsenseError as error:
        found['static'] = {'error': str(error)}
    return found


def payload_words(found: dict[str, Any]) -> str:
    """What `find_payload` found, for the terminal."""
    sentences = []
    for kind, what in (('dynamic', 'the motion'), ('static', 'poses at rest')):
        data = found[kind]
        if 'error' in data:
            sentences.append(f'payload from {what}: not found, {data["error"]}')
            continue
        low, high = data['interval_kg']
        x, y, z = data['center_m']
        sentences.append(
            f'payload from {what}: {data["mass_kg"]:.3f} kg (95 % in {low:.3f} to {high:.3f} kg), '
            f'centre ({x:.3f}, {y:.3f}, {z:.3f}) m in the frame of the last link, as far as the '
            'gains of the drives are right')
    return '\n'.join(sentences)
