"""The drift monitor: silent on a sound model, loud on an outdated one, patient with a contact."""

import numpy as np
import pytest

from armsense.errors import BadValue
from armsense.identify.drift import DriftMonitor, DriftOptions

JOINTS = ('joint1', 'joint2')
OPTIONS = DriftOptions(window=1.0, windows=3)
SIGMA = np.array([0.1, 0.2])
DT = 0.01


def feed(monitor, seconds, scale, rng, usable=True):
    for _ in range(round(seconds / DT)):
        monitor.step(scale * SIGMA * rng.standard_normal(2), DT, usable)


def test_sound_model_is_left_alone():
    rng = np.random.default_rng(1)
    monitor = DriftMonitor(JOINTS, SIGMA, OPTIONS)
    assert 'watching' in monitor.verdict().text
    feed(monitor, 20.0, 1.0, rng)
    verdict = monitor.verdict()
    assert not verdict.outdated
    np.testing.assert_allclose(verdict.error, SIGMA, rtol=0.25)


def test_outdated_model_is_named_with_its_joint():
    rng = np.random.default_rng(2)
    monitor = DriftMonitor(JOINTS, SIGMA, OPTIONS)
    feed(monitor, 5.0, 1.0, rng)
    feed(monitor, 5.0, np.array([1.0, 3.0]), rng)
    verdict = monitor.verdict()
    assert verdict.outdated
    assert verdict.text.startswith('the model no longer fits: joint2')
    assert verdict.text.endswith('re-identify')


def test_one_contact_decides_nothing():
    rng = np.random.default_rng(3)
    monitor = DriftMonitor(JOINTS, SIGMA, OPTIONS)
    feed(monitor, 3.0, 1.0, rng)
    feed(monitor, 1.0, 50.0, rng)
    assert not monitor.verdict().outdated


def test_unusable_samples_do_not_count():
    rng = np.random.default_rng(4)
    monitor = DriftMonitor(JOINTS, SIGMA, OPTIONS)
    feed(monitor, 5.0, 1.0, rng)
    feed(monitor, 20.0, 50.0, rng, usable=False)
    assert not monitor.verdict().outdated


def test_baseline_is_learned_where_none_is_known():
    rng = np.random.default_rng(5)
    monitor = DriftMonitor(JOINTS, None, OPTIONS)
    assert 'learning' in monitor.verdict().text
    feed(monitor, 3.0, 1.0, rng)
    feed(monitor, 4.0, 1.0, rng)
    assert not monitor.verdict().outdated
    feed(monitor, 4.0, 4.0, rng)
    assert monitor.verdict().outdated


def test_tiny_errors_never_count():
    monitor = DriftMonitor(JOINTS, 1e-5 * SIGMA, OPTIONS)
    feed(monitor, 5.0, 0.01, np.random.default_rng(6))
    assert not monitor.verdict().outdated


def test_wrong_shape():
    with pytest.raises(BadValue, match='baseline'):
        DriftMonitor(JOINTS, np.ones(3))
