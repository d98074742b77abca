"""One recording, every estimator: errors in units of their own intervals."""

from dataclasses import replace

import numpy as np
import pytest

from armsense.errors import UnknownName
from armsense.identify import identify as identification
from armsense.identify.estimation.base_parameters import base_parameters
from armsense.identify.estimation.estimators import estimate, Evidence, single_parameters, TABLE
from armsense.identify.estimation.feasible import is_consistent
from armsense.identify.estimation.training import ESTIMATORS
from armsense.identify.identify import identify, Options
from bench.synthetic import SyntheticArm

pytestmark = pytest.mark.slow

TERMS = ('viscous', 'coulomb')
DOWN = np.array([0.0, 0.0, -9.81])


def evidence_of(arm, recording, monkeypatch, cutoff=5.0):
    """What the estimators see at the end of an identification."""
    seen = []
    make = identification._evidence
    monkeypatch.setattr(identification, '_evidence', lambda *a: seen.append(make(*a)) or seen[-1])
    found = identify([recording], arm.nominal, Options(gravity=DOWN, terms=TERMS, cutoff=cutoff))
    return found, seen[-1]


@pytest.fixture(scope='module')
def arm():
    made = SyntheticArm.make('crs_a465')
    return replace(made, sensors=replace(made.sensors,
                                         torque_noise=0.2 * made.sensors.torque_noise))


@pytest.fixture(scope='module')
def clean(arm):
    with pytest.MonkeyPatch.context() as patch:
        return evidence_of(arm, arm.record(100, 0, 8.0, 100.0, 2), patch)


@pytest.fixture(scope='module')
def noisy(arm):
    """Two milliradians of noise on the positions: accelerations become unreliable."""
    run = arm.record(100, 0, 8.0, 100.0, 2)
    q = run.q + 2e-3 * np.random.default_rng(5).standard_normal(run.q.shape)
    with pytest.MonkeyPatch.context() as patch:
        return evidence_of(arm, replace(run, q=q), patch, 12.0)


def truth(arm, evidence):
    theta = np.concatenate([arm.arm.parameters, arm.friction.viscous, arm.friction.coulomb])
    return evidence.base.project(theta)


def test_huber_does_not_take_rejected_samples_back():
    rng = np.random.default_rng(0)
    x = np.stack([np.sin(np.arange(1000) / 20.0), np.ones(1000)], axis=1)[:, None]   # (N, 1, 2)
    y = x @ [2.0, 1.0] + 0.01 * rng.standard_normal((1000, 1))
    trust = np.ones((1000, 1))
    trust[600:], y[600:] = 0.0, y[600:] + 0.03      # at rest, where friction holds something
    evidence = Evidence(
        base=base_parameters(x.reshape(-1, 2), ('a', 'b')), columns=[x], torques=[y],
        trust=[trust], noise=np.array([0.01]),
        **dict.fromkeys(('model', 'drive', 'nominal', 'theta', 'recordings', 'motions', 'cutoff',
                         'options')))
    np.testing.assert_allclose(estimate(evidence, 'huber').values, [2.0, 1.0], atol=2e-3)


@pytest.mark.parametrize('name', sorted(TABLE))
def test_the_truth_lies_in_the_intervals(arm, clean, name):
    _, evidence = clean
    found = estimate(evidence, name)
    true, bounds = truth(arm, evidence), found.intervals()
    inside = np.mean((true >= bounds[:, 0]) & (true <= bounds[:, 1]))
    assert inside > 0.8


@pytest.mark.parametrize('name', sorted(TABLE))
def test_single_parameters_can_exist_and_keep_the_combinations(arm, clean, name):
    _, evidence = clean
    found = estimate(evidence, name)
    theta = single_parameters(found, evidence)
    assert is_consistent(theta[:30])
    gap = (evidence.base.project(theta) - found.values) / found.deviations
    assert np.sqrt(np.mean(gap**2)) < 1.5


def test_noisy_positions_bias_least_squares_but_not_maximum_likelihood(arm, noisy):
    _, evidence = noisy
    true = truth(arm, evidence)
    unit = estimate(evidence, 'wls').deviations

    def error(name):
        return np.sqrt(np.mean(((estimate(evidence, name).values - true) / unit) ** 2))

    squares = error('wls')
    assert error('ml') < 0.6 * squares
    assert error('iv') < 1.1 * squares


def test_ridge_stays_at_cad_where_the_data_are_silent(arm, clean):
    _, evidence = clean
    blind = replace(evidence, noise=1e6 * evidence.noise)
    found = estimate(blind, 'ridge').values
    cad = evidence.base.project(evidence.nominal)
    links = [k for k, name in enumerate(evidence.base.names) if name[0] in 'mI']
    np.testing.assert_allclose(found[links], cad[links], atol=0.02 * np.abs(cad).max())


@pytest.mark.parametrize('name', ['huber', 'iv'])
def test_the_option_reaches_the_model(arm, name):
    found = identify([arm.record(7, 0, 8.0, 100.0)], arm.nominal,
                     Options(gravity=DOWN, terms=TERMS, estimator=name))
    assert found.estimator == name
    assert found.feasible
    assert set(ESTIMATORS) == {'consistent', *TABLE}
    with pytest.raises(UnknownName, match='bayes'):
        Options(estimator='bayes')
