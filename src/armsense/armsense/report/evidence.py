"""What the figures and words of a report rest on: predictions, regressor, correlations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from armsense.identify.estimation.base_parameters import BaseEstimate
from armsense.identify.friction.columns import STATIC
from armsense.identify.model import IdentifiedModel, Prediction
from armsense.identify.signals.filters import (
    correlation_factor,
    Motion,
    torque_error,
    TorqueError,
    whiteness,
)
from armsense.identify.signals.recording import split_at_gaps
from armsense.jobs.identify_job import Identification
from armsense.types import Array


@dataclass(frozen=True)
class Evidence:
    """All of one identification of n joints."""

    train: list[Prediction]
    unseen: list[Prediction]
    train_error: TorqueError
    unseen_error: TorqueError | None
    torque_rms: Array            # of the measured torques [Nm], (n,)
    residual: Array              # errors behind the low-pass, shown motion first, [Nm], (N, n)
    rate: float                  # of the residual [Hz]
    correlation: Array           # samples per independent sample, (n,)
    white: Array                 # probability of white noise within the torque band, (n,)
    motion: Motion               # of the first training recording, up to a gap
    friction: Array              # measured torque minus rigid body and rotor [Nm], (N, n)
    base: BaseEstimate           # of links and drives, from the data alone

    @classmethod
    def of(cls, job: Identification) -> Evidence:
        """Collect."""
        model = job.model
        train = [model.predict(recording) for recording in job.training]
        unseen = [model.predict(recording) for recording in job.unseen]
        measured, _ = _pooled(train, model.cutoff)
        shown = unseen or train
        residual = np.subtract(*shown[0].band(model.cutoff))
        smooth = model.smooth(split_at_gaps(job.training[0]).recordings[0])
        assert model.base is not None
        return cls(
            train=train, unseen=unseen, train_error=model.train,
            unseen_error=torque_error(*_pooled(unseen, model.cutoff)) if unseen else None,
            torque_rms=np.sqrt(np.mean(np.square(measured), axis=0)), residual=residual,
            rate=shown[0].rate,
            correlation=np.array([correlation_factor(column) for column in residual.T]),
            white=_white(residual, shown[0].rate, model.cutoff),
            motion=smooth.motion, base=model.base,
            friction=_friction(model, smooth.motion, smooth.working.tau))

    @property
    def shown(self) -> Prediction:
        """What the torque figures show: a motion that the model has not seen, if there is one."""
        return (self.unseen or self.train)[0]


def _white(residual: Array, rate: float, cutoff: float) -> Array:
    """Probability that the errors are white, from samples at twice the cut-off, (n,)."""
    step = max(1, min(int(rate / (2.0 * cutoff)), len(residual) // 30))
    return np.array([whiteness(column) for column in residual[::step].T])


def _pooled(predictions: list[Prediction], cutoff: float) -> tuple[Array, Array]:
    bands = [prediction.band(cutoff) for prediction in predictions]
    return np.concatenate([m for m, _ in bands]), np.concatenate([p for _, p in bands])


def _friction(model: IdentifiedModel, moving: Motion, tau: Array) -> Array:
    """What the torques hold beside the rigid body and the drives' other terms, (N, n)."""
    link = model.model.inverse_dynamics_batch(moving.q, moving.dq, moving.ddq)
    other = [k for term in model.drive.terms if term not in STATIC
             for k in range(model.drive.count)[model.drive.index(term)]]
    load = link + model.drive.rotor_torque(moving.ddq, model.coefficients)
    columns = model.drive.columns(moving.dq, moving.ddq, load)[:, :, other]
    return np.asarray(tau - link - columns @ model.coefficients[other])


def friction_curve(model: IdentifiedModel, joint: int, speed: Array) -> Array:
    """Friction of a joint that moves alone, terms of the velocity only [Nm], (N,)."""
    dq = np.zeros((len(speed), model.model.n))
    dq[:, joint] = speed
    own = model.drive.only(tuple(term for term in model.drive.terms if term in STATIC))
    place = model.drive.places(own.terms) if own.terms else np.zeros(0, int)
    columns = own.columns(dq, np.zeros_like(dq))[:, joint]
    return np.asarray(columns @ model.coefficients[place])
