"""Identification of simulated arms with the noise of their yaml: intervals and new motions.

    python -m bench.bench_simulated [--arms laas4 biorob tudor crs_a465] [--seeds 5] [--json]

Links weigh up to 20 % more or less than the nominal model says. Counted are: how many true base
parameters lie in their own 95 % intervals, and the torque error on a motion that was not used for
the fit, over the noise floor: the error of the true model on the same readings and in the same
band. Drive terms are chosen by the identification.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
import sys
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from armsense.identify.estimation.base_parameters import BaseEstimate
from armsense.identify.friction.columns import DriveColumns
from armsense.identify.identify import identify, Options
from armsense.identify.model import IdentifiedModel
from armsense.identify.signals.filters import in_band
from armsense.types import Array
from bench.both_sides import identify_together, motor_torque
from bench.report import emit
from bench.synthetic import SyntheticArm
from bench.synthetic_elastic import strain_arm, SyntheticElasticArm

Torque = Callable[[Array, Array, Array], Array]
RATIO = 1.1          # goal of the error over the noise floor
TRAIN, NEW = 100, 200    # seeds of the motions


class Run(NamedTuple):
    """One identification against the truth."""

    inside: NDArray[np.bool_]    # base parameters within their intervals
    ratio: float                 # error on a new motion over the noise floor
    feasible: bool


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or '').splitlines()[0])
    parser.add_argument('--arms', nargs='+', choices=sorted(ARMS), default=sorted(ARMS))
    parser.add_argument('--seeds', type=int, default=5)
    parser.add_argument('--json', action='store_true')
    arguments = parser.parse_args()
    result: dict[str, Any] = {}
    rows = []
    for name in arguments.arms:
        runs = [ARMS[name](seed) for seed in range(arguments.seeds)]
        inside = np.concatenate([run.inside for run in runs])
        worst = max(run.ratio for run in runs)
        result[name] = {'coverage_percent': round(100.0 * float(inside.mean()), 1),
                        'worst_error_over_floor': round(worst, 3),
                        'feasible': all(run.feasible for run in runs)}
        rows.append((name, 100.0 * float(inside.mean()), worst, RATIO,
                     f'{len(inside)} intervals, consistent {result[name]["feasible"]}'))
    emit('Simulated arms', ('arm', 'in 95 % intervals [%]', 'error over floor', 'goal', ''), rows,
         result, arguments.json)
    good = all(arm['feasible'] and arm['worst_error_over_floor'] <= RATIO
               for arm in result.values())
    return 0 if good else 1


def _rigid(make: Callable[[], SyntheticArm]) -> Callable[[int], Run]:
    def run(seed: int) -> Run:
        arm = make()
        found = identify([arm.record(TRAIN, seed)], arm.nominal,
                         Options(gravity=arm.nominal.gravity))
        new, n = arm.record(NEW + seed), arm.nominal.n
        # The true model predicts from the same encoder readings as the identified one.
        true = replace(found, model=arm.arm.replace(armature=np.zeros(n)),
                       drive=DriveColumns(np.eye(n), ('viscous', 'coulomb', 'inertia')),
                       coefficients=np.concatenate([arm.friction.viscous, arm.friction.coulomb,
                                                    arm.arm.armature]))
        error, floor = (float(np.linalg.norm(model.validate(new).rms)) for model in (found, true))
        assert found.base is not None
        return Run(_inside(found.base, true_base(found, arm.torque)), error / floor,
                   found.feasible)
    return run


def _elastic(seed: int) -> Run:
    """Both sides at once; the error is that of the motor torques."""
    arm = SyntheticElasticArm.make('biorob')
    found, both = identify_together([arm.record(TRAIN, seed, 20.0, periods=1)], arm.nominal,
                                    Options(gravity=arm.nominal.gravity))
    new, n = arm.record(NEW + seed, None, 20.0, periods=1), arm.nominal.n
    actuators = replace(found.actuators, stiffness=arm.springs.stiffness,
                        damping=arm.springs.damping, viscous=arm.friction.viscous,
                        coulomb=arm.friction.coulomb, offset=np.zeros(n),
                        coupling=arm.springs.coupling)
    true = replace(found, actuators=actuators, links=replace(
        found.links, model=arm.arm.replace(armature=np.zeros(n)),
        coefficients=arm.springs.link_damping))
    cutoff = found.links.cutoff
    measured = in_band(new.tau, cutoff, new.rate)
    error, floor = (float(np.linalg.norm(measured - in_band(
        motor_torque(model, new, found.links.motion_cutoff), cutoff, new.rate)))
        for model in (found, true))
    parts = (arm.springs.stiffness, arm.springs.damping, arm.friction.viscous,
             arm.friction.coulomb, np.zeros(n), arm.arm.parameters, arm.springs.link_damping)
    return Run(_inside(both, both.base.project(np.concatenate(parts))), error / floor,
               found.links.feasible)


def _inside(estimate: BaseEstimate, true: Array) -> NDArray[np.bool_]:
    """Which true base parameters lie in their 95 % intervals, (r,)."""
    low, high = estimate.intervals().T
    return np.asarray((true >= low) & (true <= high))


def true_base(found: IdentifiedModel, torque: Torque, samples: int = 400) -> Array:
    """Base parameters that give the true torques at random states, (r,)."""
    assert found.base is not None
    model = found.model
    q, dq, ddq = np.random.default_rng(0).uniform(-2.0, 2.0, (3, samples, model.n))
    link = model.inverse_dynamics_batch(q, dq, ddq)
    Y = model.torque_regressor_batch(q, dq, ddq).reshape(samples, model.n, -1)
    columns = np.concatenate([Y, found.drive.columns(dq, ddq, link)], axis=2)
    X = columns[:, :, list(found.base.base.independent)].reshape(samples * model.n, -1)
    return np.asarray(np.linalg.lstsq(X, torque(q, dq, ddq).ravel(), rcond=None)[0])


ARMS: dict[str, Callable[[int], Run]] = {
    'laas4': _rigid(lambda: SyntheticArm.make('laas4')),
    'crs_a465': _rigid(lambda: SyntheticArm.make('crs_a465')),
    'tudor': _rigid(lambda: strain_arm('tudor')), 'biorob': _elastic}


if __name__ == '__main__':
    sys.exit(main())
