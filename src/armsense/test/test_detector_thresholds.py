"""Thresholds against recordings whose statistics are known, and unseen hours of the same kind.

Synthetic residuals: autoregressive noise (30 ms, normal or with Student's heavy tails) plus
sinusoids, as model errors of a moving arm give them. 100 Hz keeps many hours within seconds.
"""

from functools import lru_cache

import numpy as np
import pytest
import scipy.signal

from armsense import schema
from armsense.detector import (
    alarm_statistic,
    cluster_maxima,
    fit_false_alarm_threshold,
    fixed_thresholds,
    Thresholds,
)
from armsense.detector.extreme_value import fit_tail, tail_maxima
from armsense.detector.thresholds import motion_thresholds, sigma_thresholds
from armsense.errors import ArmsenseError

pytestmark = pytest.mark.slow

DT = 0.01  # [s]
SEPARATION = 0.5  # [s]
UNSEEN_HOURS = 30  # one alarm an hour gives 30 +- 5


def synthetic(hours, seed, kind='normal', joints=2):
    rng = np.random.default_rng(seed)
    shape = (int(hours * 3600 / DT), joints)
    noise = rng.normal(size=shape) if kind == 'normal' else rng.standard_t(5, shape)
    decay = np.exp(-DT / 0.03)
    colored = scipy.signal.lfilter([np.sqrt(1.0 - decay**2)], [1.0, -decay], noise, axis=0)
    t = 1000.0 * seed + DT * np.arange(shape[0])
    motion = 0.15 * np.sin(2 * np.pi * 0.31 * t + 1.0) + 0.1 * np.sin(2 * np.pi * 0.83 * t)
    return (0.1 * colored + motion[:, None]) * (1.0 + np.arange(joints))


@lru_cache(maxsize=2)
def recorded(kind):
    return synthetic(6.0, 1, kind)


@lru_cache(maxsize=2)
def unseen(kind):
    """Samples of the unseen hours above a low level: (hour, index, joint) kept as sparse lists."""
    floor = 0.35 * (1.0 + np.arange(2))
    hours = []
    for k in range(UNSEEN_HOURS):
        size = np.abs(synthetic(1.0, 100 + k, kind))
        rows = np.flatnonzero((size > floor).any(axis=1))
        hours.append((rows, size[rows]))
    return hours


def observed_rate(kind, threshold):
    """Alarms per hour of the arm: exceedances of any joint closer than SEPARATION are one."""
    alarms = 0
    for rows, size in unseen(kind):
        over = rows[(size > threshold).any(axis=1)]
        alarms += int(len(over) > 0) + int((np.diff(over) >= SEPARATION / DT).sum())
    return alarms / UNSEEN_HOURS


@pytest.mark.parametrize('kind', ['normal', 'student'])
@pytest.mark.parametrize('rate', [10.0, 1.0])
def test_the_asked_rate_is_the_observed_one_within_a_factor_of_two(kind, rate):
    """Best estimate from six hours, judged on thirty others."""
    thresholds = fit_false_alarm_threshold(recorded(kind), DT, rate, confidence=0.5)
    assert thresholds.warnings == ()
    assert thresholds.minutes == pytest.approx(360.0)
    assert rate / 2.0 < observed_rate(kind, np.array(thresholds.constant)) < rate * 2.0


@pytest.mark.parametrize('kind', ['normal', 'student'])
def test_the_confidence_bound_holds(kind):
    """From half an hour each, 9 of 10 recordings must stay below the asked rate."""
    kept = 0
    for seed in range(10):
        thresholds = fit_false_alarm_threshold(synthetic(0.5, 20 + seed, kind), DT, 4.0,
                                               confidence=0.9)
        kept += observed_rate(kind, np.array(thresholds.constant)) <= 4.0
    assert kept >= 7  # binomial(10, 0.9) is below 7 once in 80


def test_more_confidence_and_fewer_alarms_raise_the_threshold():
    data = recorded('normal')[:180_000]
    best = fit_false_alarm_threshold(data, DT, 10.0, 0.5).constant
    sure = fit_false_alarm_threshold(data, DT, 10.0, 0.95).constant
    rare = fit_false_alarm_threshold(data, DT, 1.0, 0.5).constant
    assert all(b < s for b, s in zip(best, sure, strict=True))
    assert all(b < r for b, r in zip(best, rare, strict=True))
    assert sure == fit_false_alarm_threshold(data, DT, 10.0, 0.95).constant  # deterministic


def test_extrapolating_too_far_warns():
    short = synthetic(0.1, 3)
    assert 'extrapolated' in ' '.join(fit_false_alarm_threshold(short, DT, 0.1).warnings)
    tiny = fit_false_alarm_threshold(short[:600], DT, 10.0)
    assert 'peaks' in ' '.join(tiny.warnings)


def test_debouncing_is_part_of_the_rate():
    """Two of three samples: a lower threshold for the same rate, and the rate still holds."""
    data = recorded('normal')
    single = fit_false_alarm_threshold(data, DT, 10.0, 0.5).constant
    double = fit_false_alarm_threshold(data, DT, 10.0, 0.5, debounce=(2, 3)).constant
    assert all(d < s for d, s in zip(double, single, strict=True))
    alarms = 0
    for k in range(8):
        statistic = np.stack([alarm_statistic(np.abs(column), 2, 3)
                              for column in synthetic(1.0, 300 + k).T], axis=1)
        relative = (statistic / np.array(double)).max(axis=1)
        alarms += len(cluster_maxima(relative, 1.0, round(SEPARATION / DT)))
    assert 0.5 < alarms / 8 / 10.0 < 2.0


@pytest.mark.parametrize(('count', 'window'), [(1, 1), (1, 3), (2, 3), (3, 3), (2, 5)])
def test_alarm_statistic_is_that_of_counting(count, window):
    x = np.random.default_rng(0).normal(size=200)
    statistic = alarm_statistic(x, count, window)
    for level in (-1.0, 0.0, 1.0):
        counted = [np.sum(x[k:k + window] > level) >= count for k in range(200 - window + 1)]
        np.testing.assert_array_equal(statistic > level, counted)


@pytest.mark.parametrize('shape', [-0.2, 0.0, 0.25])
def test_pareto_tail_is_recovered(shape):
    rng = np.random.default_rng(4)
    u = rng.random(5000)
    excess = 0.3 * (-np.log(u) if shape == 0.0 else (u**-shape - 1.0) / shape)
    tail = fit_tail(2.0 + excess, 2.0, hours=10.0)
    assert tail.shape == pytest.approx(shape, abs=0.04)
    # Level of one alarm per hour: survival 1 / 500 of the true distribution.
    true = 0.3 * (np.log(500) if shape == 0.0 else (500.0**shape - 1.0) / shape) + 2.0
    assert tail.level_for(1.0) == pytest.approx(true, rel=0.04)
    assert tail.level_for(1.0, 0.05) < true < tail.level_for(1.0, 0.95)


@pytest.mark.parametrize('shape', [-0.15, 0.0, 0.15])
def test_quantiles_of_the_level_cover_the_truth_as_often_as_they_say(shape):
    """120 recordings of 80 peaks in one hour each; asked for one alarm an hour at 80 %."""
    rng = np.random.default_rng(6)
    true = np.log(80) if shape == 0.0 else (80.0**shape - 1.0) / shape
    covered = 0
    for _ in range(120):
        u = rng.random(rng.poisson(80))
        excess = -np.log(u) if shape == 0.0 else (u**-shape - 1.0) / shape
        covered += fit_tail(excess, 0.0, 1.0).level_for(1.0, 0.8) > true
    # The prior favours shape zero: light tails are covered more often, heavy ones less.
    assert 0.70 < covered / 120 < 0.95


def test_clusters_are_separated():
    x = np.zeros(100)
    x[[10, 12, 30, 31, 60]] = 2.0, 5.0, 3.0, 1.0, 4.0
    np.testing.assert_array_equal(cluster_maxima(x, 0.5, 5), [5.0, 3.0, 4.0])
    np.testing.assert_array_equal(cluster_maxima(x, 0.5, 25), [5.0, 4.0])


def test_clusters_that_merge_on_the_way_down_do_not_end_the_search():
    """A loud second of 20 peaks is one cluster a little lower; 40 others lie below it."""
    x = np.random.default_rng(3).uniform(0.0, 0.1, 20_000)
    x[1000:2000] = 3.0
    x[1000:2000:50] = 4.0 + 0.01 * np.arange(20)
    x[3000:19_000:400] = 2.0 + 0.01 * np.arange(40)
    maxima, level = tail_maxima(x, separation=10, clusters=30)
    assert len(maxima) >= 30
    assert 0.1 < level < 2.4
    assert maxima.max() == pytest.approx(4.19)


def test_sigma_is_mean_plus_deviations():
    data = np.random.default_rng(1).normal([0.5, -0.2], [0.1, 0.3], (50_000, 2))
    thresholds = sigma_thresholds(data, 1e-3)
    np.testing.assert_allclose(thresholds.constant, [0.5 + 0.6, 0.2 + 1.8], rtol=0.03)
    assert thresholds.minutes == pytest.approx(50 / 60)


def test_motion_thresholds_cover_and_recover_the_plane():
    rng = np.random.default_rng(2)
    dq, ddq = rng.uniform(-3, 3, (40_000, 1)), rng.uniform(-20, 20, (40_000, 1))
    bound = 0.2 + 0.1 * np.abs(dq) + 0.02 * np.abs(ddq)
    residual = bound * rng.uniform(-1.0, 1.0, bound.shape)
    thresholds = motion_thresholds(residual, dq, DT, ddq, margin=1.0)
    assert (np.abs(residual) <= thresholds.at(dq, ddq) + 1e-12).all()
    np.testing.assert_allclose(thresholds.constant, 0.2, atol=0.03)
    np.testing.assert_allclose(thresholds.velocity, 0.1, atol=0.02)
    np.testing.assert_allclose(thresholds.acceleration, 0.02, atol=0.004)
    with pytest.raises(ArmsenseError, match='ddq'):
        thresholds.at(dq)


def test_speed_dependent_thresholds_meet_the_rate_and_are_lower_at_rest():
    def moving(seed, hours):
        rng = np.random.default_rng(seed)
        n = int(hours * 3600 / DT)
        dq = np.sin(2 * np.pi * 0.1 * DT * np.arange(n) + seed)[:, None]
        noise = scipy.signal.lfilter([0.3], [1.0, -0.7], rng.normal(size=(n, 1)), axis=0)
        return (0.05 + 0.3 * np.abs(dq)) * noise, dq
    residual, dq = moving(0, 3.0)
    shape = motion_thresholds(residual, dq, DT)
    fitted = fit_false_alarm_threshold(residual, DT, 10.0, 0.5, shape=shape, dq=dq)
    flat = fit_false_alarm_threshold(residual, DT, 10.0, 0.5)
    assert fitted.constant[0] < 0.6 * flat.constant[0]
    other, speed = moving(9, 8.0)
    relative = np.abs(other[:, 0]) / fitted.at(speed)[:, 0]
    rate = len(cluster_maxima(relative, 1.0, round(SEPARATION / DT))) / 8.0
    assert 5.0 < rate < 20.0


def test_thresholds_survive_the_file():
    fitted = fit_false_alarm_threshold(synthetic(0.1, 3), DT, 10.0)
    assert schema.load(Thresholds, schema.dump(fitted), 'model.yaml') == fitted
    assert fixed_thresholds([1.0, 2.0]).scaled(2.0).constant == (2.0, 4.0)


def test_bad_arguments_are_named():
    data = synthetic(0.01, 0)
    with pytest.raises(ArmsenseError, match='rate_per_hour'):
        fit_false_alarm_threshold(data, DT, 0.0)
    with pytest.raises(ArmsenseError, match='confidence'):
        fit_false_alarm_threshold(data, DT, 1.0, confidence=1.0)
    with pytest.raises(ArmsenseError, match='finite'):
        fit_false_alarm_threshold(data * np.nan, DT, 1.0)
    with pytest.raises(ArmsenseError, match='debounce'):
        fit_false_alarm_threshold(data, DT, 1.0, debounce=(3, 2))
    with pytest.raises(ArmsenseError, match='thresholds'):
        fixed_thresholds([1.0, 0.0])
