"""Intervals that keep their promise, and identifiability in words."""

import numpy as np
import pytest

from armsense.errors import BadValue
from armsense.identify.estimation.base_parameters import (
    base_parameters,
    estimate_base,
    structure,
)
from armsense.identify.estimation.equations import Prepared, selection
from armsense.identify.estimation.training import Training
from armsense.identify.identify import Options
from armsense.identify.model import in_words, KINDS
from armsense.identify.signals.filters import folded
from bench.bench_dart import inside_intervals, sides
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


def smooth(rng, shape):
    """Noise behind a circular low-pass with five samples per period of its cut-off."""
    spectrum = np.fft.rfft(rng.standard_normal(shape), axis=0)
    spectrum[shape[0] // 5:] = 0.0
    return np.fft.irfft(spectrum, shape[0], axis=0)


def covered(period, repeated=0.0, late=0.0, told=(), draws=200, rows=1200):
    """Share of true values in 95 % intervals: torques of a motion that repeats after `period`.

    Behind the filter all noise is correlated. A part of it repeats with the motion, all torques
    are late. `told` says which of the two the estimate is told of.
    """
    inside, times = [], rows // period
    for draw in range(draws):
        rng = np.random.default_rng([draw, period])
        x, beta = np.tile(smooth(rng, (period, 4)), (times, 1))[:, None], rng.normal(size=4)
        x[:, :, 1] = np.gradient(x[:, :, 0], axis=0)     # a delay looks like friction
        tau, slope = x @ beta, np.gradient(x @ beta, axis=0)
        error = 0.1 * smooth(rng, (rows, 1)) + np.tile(
            repeated * smooth(rng, (period, 1)), (times, 1))
        found = estimate_base(
            base_parameters(x[:, 0], tuple('abcd')), [x], [tau - late * slope + error],
            [np.ones((rows, 1))], slopes=[slope] if 'late' in told else None,
            periods=[float(period)] if 'repeated' in told else None)
        low, high = found.intervals().T
        inside.append((low <= beta) & (beta <= high))
    return np.mean(inside)


@pytest.mark.parametrize(('period', 'repeated'), [(1200, 0.0), (150, 0.0), (150, 0.1)])
def test_95_percent_are_95_percent_of_correlated_and_of_repeated_errors(period, repeated):
    told = ('repeated',) if period < 1200 else ()
    assert 0.91 < covered(period, repeated, told=told) < 0.985


def test_who_forgets_the_period_or_the_delay_promises_too_much():
    assert covered(150, repeated=0.1) < 0.75
    assert covered(1200, late=0.1) < 0.85
    assert 0.91 < covered(1200, late=0.1, told=('late',)) < 0.985


def test_errors_of_every_period_count_once_and_noise_as_often_as_it_comes():
    rng = np.random.default_rng(0)
    noise, once = rng.standard_normal((1000, 2)), rng.standard_normal((50, 2))
    np.testing.assert_array_equal(folded(noise, np.inf), noise)
    power = [np.mean(np.square(folded(x, 50.0))) for x in (noise, np.tile(once, (20, 1)))]
    np.testing.assert_allclose(power, [1.0, 20.0 * np.mean(np.square(once))], rtol=0.3)


@pytest.mark.slow
def test_a_simulated_arm_whose_torques_are_late_lies_in_its_intervals():
    # Twenty equal periods, friction that sticks, torques of the step before: in MuJoCo.
    share, outside = inside_intervals(sides('laas4')[1], motions=1)
    assert share > 0.9, outside


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
