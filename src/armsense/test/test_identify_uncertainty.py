"""Intervals that keep their promise, and identifiability in words."""

import numpy as np
import pytest

from armsense.errors import BadValue
from armsense.identify.estimation.base_parameters import estimate_base, structure
from armsense.identify.estimation.equations import Prepared, selection
from armsense.identify.estimation.training import Training
from armsense.identify.identify import Options
from armsense.identify.model import in_words, KINDS
from bench.synthetic import SyntheticArm
from bench.synthetic_elastic import strain_arm

DOWN = np.array([0.0, 0.0, -9.81])
TERMS = ('viscous', 'coulomb', 'inertia')
SEEDS = 8


def seen(arm, noise):
    """Base parameters of one noisy recording, columns and truth."""
    run = arm.record(100, noise, 10.0, 200.0)
    data = Prepared.make(Training.load([run], arm.nominal, Options(cutoff=5.0)), 'position', 1.6)
    drive = data.drive.only(TERMS)
    T = selection(arm.nominal.n, data.columns[0].A.shape[2], DOWN, data.drive.places(TERMS))
    columns = [c.A @ T for c in data.columns]
    weights = [np.ones_like(c.y) / np.square(arm.sensors.torque_noise) for c in data.columns]
    found = estimate_base(structure(arm.nominal, drive), columns, [c.y for c in data.columns],
                          weights)
    theta = np.concatenate([arm.arm.parameters, arm.friction.viscous, arm.friction.coulomb,
                            arm.arm.armature])
    return found, columns, found.base.project(theta)


@pytest.mark.parametrize('arm', [SyntheticArm.make('laas4'), SyntheticArm.make('crs_a465'),
                                 strain_arm('tudor')], ids=lambda arm: arm.nominal.name)
def test_about_95_percent_of_the_truth_lies_in_95_percent_intervals(arm):
    inside = []
    for noise in range(SEEDS):
        found, _, true = seen(arm, noise)
        bounds = found.intervals()
        inside.append((true >= bounds[:, 0]) & (true <= bounds[:, 1]))
    assert 0.90 < np.mean(inside) < 0.99


def test_narrow_intervals_miss_more_often():
    arm = SyntheticArm.make('laas4')
    found, _, true = seen(arm, 0)
    bounds = found.intervals(0.5)
    share = np.mean((true >= bounds[:, 0]) & (true <= bounds[:, 1]))
    assert 0.2 < share < 0.8
    with pytest.raises(BadValue, match='confidence'):
        found.intervals(1.0)


def test_words_tell_what_moves_no_torque_and_what_drowns_in_noise():
    arm = SyntheticArm.make('laas4')
    found, columns, _ = seen(arm, 0)
    quiet = {f.name: f for f in in_words(arm.nominal, columns, arm.sensors.torque_noise, found)}
    assert len(quiet) == 40
    assert {f.kind for f in quiet.values()} <= set(KINDS)
    # Link 1 turns about z only: its mass moves nothing, whatever the motion.
    assert quiet['m1'].kind == 'silent'
    assert quiet['m1'].sentence == ('mass of link1 moves no joint torque whatever the motion: '
                                    'not identifiable, CAD value kept')
    assert quiet['mx4'].kind in ('alone', 'combined')
    loud = {f.name: f for f in in_words(arm.nominal, columns, 50.0 * arm.sensors.torque_noise,
                                        found)}
    assert loud['Ixy2'].kind == 'weak'
    assert 'I_xy of link2 moves the torque by less than the noise' in loud['Ixy2'].sentence
    assert 'CAD value kept' in loud['Ixy2'].sentence
