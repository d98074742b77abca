"""The result of an identification as plain data, for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from armsense.identify.actuator import Actuators
from armsense.identify.identified_model import IdentifiedModel
from armsense.identify.recording import Recording
from armsense.jobs.verdict import JointErrors, verdict


def summary(model: IdentifiedModel, unseen: Sequence[Recording], notes: Sequence[str],
            seconds: float) -> dict[str, Any]:
    """What programs read."""
    joints = model.model.joint_names
    result: dict[str, Any] = {
        'train_percent': _round(model.train.percent),
        'validation_percent': None,
        'cross_validated_percent': _round(model.cross_validated_percent),
        'unconstrained_train_percent': _round(model.unconstrained_percent),
        'gravity': [_round(g) for g in model.gravity],
        'masses_kg': dict(zip(model.model.link_names, map(_round, model.masses), strict=True)),
        'mass_factors': [_round(f) for f in model.mass_factors],
        'feasible': model.feasible,
        'estimator': model.estimator,
        'seconds': _round(seconds),
        'cutoff_hz': _round(model.cutoff),
        'motion_cutoff_hz': _round(model.motion_cutoff),
        'velocity': model.velocity,
        'delays_ms': {'velocity': _round(1e3 * model.velocity_delay),
                      'torque': _round(1e3 * model.torque_delay)},
        'drive': {term: [_round(c) for c in values]
                  for term, values in model.drive_coefficients().items()},
        'smoothing': model.drive.smoothing,
        'ripple': [{'joint': joints[r.line.torque], 'with': joints[r.line.source],
                    'waves_per_turn': _round(2.0 * np.pi * r.line.waves)} for r in model.ripples],
        'kept_nominal': list(model.kept),
        'lost_seconds': _round(model.lost),
        'silent_joints': list(model.silent),
        'notes': [*notes, *model.notes],
        'step_seconds': model.seconds}
    train = JointErrors(joints, model.train.joint_percent, model.train.rms, model.silent)
    errors = train
    if unseen:
        result |= pooled(model, unseen)
        errors = train._replace(percent=result['validation_joint_percent'],
                                rms=result['validation_joint_rms'])
    said = verdict(result, errors, model.wiring)
    return result | {'grade': said['grade'], 'verdict': said['sentence']}


def pooled(model: IdentifiedModel, recordings: Sequence[Recording]) -> dict[str, Any]:
    """Errors over several recordings together."""
    predictions = [model.predict(recording) for recording in recordings]
    error, power = _squares([p.band(model.cutoff) for p in predictions])
    count = sum(len(p.band_times(model.cutoff)) for p in predictions)
    error_raw, power_raw = _squares([(p.measured, p.predicted) for p in predictions])
    return {'validation_percent': _round(100.0 * np.sqrt(error.sum() / power.sum())),
            'validation_joint_percent': [_round(x) for x in 100.0 * np.sqrt(error / power)],
            'validation_joint_rms': [_round(x) for x in np.sqrt(error / count)],
            'validation_raw_percent': _round(100.0 * np.sqrt(error_raw.sum() / power_raw.sum())),
            'validation_lost_seconds': _round(sum(p.lost for p in predictions))}


def _squares(pairs: list[tuple[Any, Any]]) -> tuple[Any, Any]:
    """Sums of squares of error and torque by joint, (n,) each."""
    return (sum(np.sum(np.square(m - p), axis=0) for m, p in pairs),
            sum(np.sum(np.square(m), axis=0) for m, _ in pairs))


def spring_values(found: Actuators, joints: Sequence[str]) -> list[dict[str, Any]]:
    """Stiffness and damping of every joint with 95 % intervals."""
    rows = []
    for k, joint in enumerate(joints):
        row: dict[str, Any] = {'joint': joint}
        for term in ('stiffness', 'damping'):
            row[term] = _round(getattr(found, term)[k])
            row[f'{term}_interval'] = [_round(x) for x in found.interval(f'{term}{k + 1}')]
        rows.append(row)
    return rows


def _round(value: float) -> float:
    return float(f'{float(value):.6g}')
