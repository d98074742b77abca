"""The result of an identification as plain data, for programs, with a verdict.

A model is no better than the worst that is known of it. The whole decides by its share of missed
torque, and so does the worst joint: where almost all torque is gravity of one joint, another may
be missed completely. A joint whose torque drowns in the noise of its sensor does not count: nobody
could explain it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from armsense.identify.elastic.actuators import Actuators
from armsense.identify.model import IdentifiedModel
from armsense.identify.signals.recording import Recording

GOOD, USABLE = 5.0, 15.0          # [%] torque error on unseen data
WEAK_JOINT = 25.0                 # [%] of a joint's torque: worth a warning
UNEXPLAINED = 70.0                # [%]: the model says nothing about the joint
ADVICE = {'good': 'Use it', 'usable': 'Use it with wide thresholds', 'poor': 'Do not use it'}
GRADES = tuple(ADVICE)            # from the best


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
                      'torque': _round(1e3 * (model.torque_delay + model.clock_shift))},
        'drive': {term: [_round(c) for c in values]
                  for term, values in model.drive_coefficients().items()},
        'smoothing': model.drive.smoothing,
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


class JointErrors(NamedTuple):
    """Of unseen motion, or of the training where there is none."""

    names: Sequence[str]
    percent: ArrayLike           # of its torque that is missed, (n,)
    rms: ArrayLike               # [Nm], (n,)
    silent: Sequence[str] = ()   # names of those that do not count

    def worst(self) -> tuple[str, float, bool] | None:
        """Name, percent, and whether it also misses more Nm than the joints in the mean."""
        percent, rms = np.array(self.percent, float), np.array(self.rms, float)
        percent[[name in self.silent for name in self.names]] = -1.0
        k = int(np.argmax(percent))
        if percent[k] < 0.0:
            return None
        return self.names[k], float(percent[k]), bool(rms[k] >= np.sqrt(np.mean(rms ** 2)))


def verdict(result: dict[str, Any], errors: JointErrors,
            wiring: Sequence[str] = ()) -> dict[str, str]:
    """Grade (good, usable or poor) and one sentence.

    Args:
        result: Of an identification, see `summary`.
        errors: Joint by joint.
        wiring: What seems to be connected wrongly.
    """
    seen = result['validation_percent']
    percent = result['cross_validated_percent'] if seen is None else seen
    where = ('on parts of the recording that were left out in turn' if seen is None
             else 'on motion that was not used for the fit')
    grade = 'good' if percent <= GOOD else 'usable' if percent <= USABLE else 'poor'
    if grade == 'good' and result['train_percent'] > GOOD:
        grade = 'usable'
        where += f' ({result["train_percent"]:.2g} % on the training)'
    body = ('every link is physically possible' if result['feasible']
            else 'but a link is physically impossible')
    joint, worst = _joint_words(errors, wiring)
    grade = max(grade, worst, 'good' if result['feasible'] else 'poor', key=GRADES.index)
    return {'grade': grade,
            'sentence': f'{ADVICE[grade]}: {joint}the model misses {percent:.2g} % of the torque '
                        f'{where}, and {body}'}


def _joint_words(errors: JointErrors, wiring: Sequence[str]) -> tuple[str, str]:
    """What is said of the worst joint, and the best grade that it allows."""
    worst = errors.worst()
    if wiring:
        return f'it seems that {" and that ".join(wiring)}; ', 'poor'
    if worst is None:
        return '', 'good'
    name, percent, heavy = worst
    if percent >= UNEXPLAINED:
        return (f'{name} is not explained, {percent:.0f} % of its torque is missed (a torque '
                'that is none, or of something else?); '), 'poor'
    if percent >= WEAK_JOINT and heavy:
        return f'{name} misses {percent:.0f} % of its torque; ', 'usable'
    return '', 'good'
