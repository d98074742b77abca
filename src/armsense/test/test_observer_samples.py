"""Which samples an observer works with, and which torque it takes for the time between two."""

import numpy as np
import pytest

from armsense.errors import BadValue
from armsense.model import Arm
from armsense.observer import make_observer, ObserverOptions
from armsense.observer.observers import MomentumObserver
from armsense.observer.residual_filter import FirstOrderFilter

PERIOD = 0.001
GAIN = 100.0


@pytest.fixture(scope='module')
def arm():
    return Arm.load('laas4')


def at_rest(arm):
    q = np.array([0.1, 0.4, -0.3, 0.2])
    return q, np.zeros(4), arm.inverse_dynamics(q, np.zeros(4), np.zeros(4))


def raw_after(arm, first, second, dt, **options):
    """External torque that the observer sees over one step of a resting arm."""
    q, still, gravity = at_rest(arm)
    observer = make_observer('first_order', arm, GAIN, ObserverOptions(period=PERIOD, **options))
    observer.step(q, still, gravity + first, PERIOD)
    observer.step(q, still, gravity + second, dt)
    assert observer.valid
    return observer.raw


@pytest.mark.parametrize(('dt', 'share'), [(PERIOD, 1.0), (1.4 * PERIOD, 1.0),
                                           (1.6 * PERIOD, 0.5), (5 * PERIOD, 0.5)])
def test_a_held_torque_is_the_newest_a_bridged_one_the_mean(arm, dt, share):
    first, second = np.array([0.5, 0.0, -0.25, 0.0]), np.array([0.0, 1.0, 0.0, -0.5])
    raw = raw_after(arm, first, second, dt, torque='held')
    np.testing.assert_allclose(raw, -(share * second + (1.0 - share) * first), atol=1e-12)


def test_a_sampled_torque_is_always_the_mean(arm):
    first, second = np.array([0.5, 0.0, -0.25, 0.0]), np.array([0.0, 1.0, 0.0, -0.5])
    raw = raw_after(arm, first, second, PERIOD, torque='sampled')
    np.testing.assert_allclose(raw, -0.5 * (first + second), atol=1e-12)


def test_nothing_is_valid_before_two_samples(arm):
    q, still, gravity = at_rest(arm)
    observer = make_observer('first_order', arm, GAIN, ObserverOptions(period=PERIOD))
    assert not observer.valid
    observer.step(q, still, gravity, PERIOD)
    assert not observer.valid
    observer.step(q, still, gravity, PERIOD)
    assert observer.valid
    observer.reset()
    assert not observer.valid


def test_the_first_sample_is_the_anchor_whatever_was_before(arm):
    q, still, gravity = at_rest(arm)
    observer = make_observer('first_order', arm, GAIN, ObserverOptions(period=PERIOD))
    observer.step(q, still, gravity, 0.0)           # nothing was: no time has passed
    observer.step(q, still, gravity, PERIOD)
    assert observer.valid


@pytest.mark.parametrize('dt', [-PERIOD, np.nan, np.inf])
def test_a_time_that_does_not_pass_is_no_anchor(arm, dt):
    q, still, gravity = at_rest(arm)
    observer = make_observer('first_order', arm, GAIN, ObserverOptions(period=PERIOD))
    observer.step(q, still, gravity, PERIOD)
    observer.step(q, still, gravity, dt)
    observer.step(q, still, gravity, PERIOD)
    assert not observer.valid          # this one is the anchor
    observer.step(q, still, gravity, PERIOD)
    assert observer.valid


@pytest.mark.parametrize('torque', ['held', 'sampled'])
def test_a_repeated_sample_changes_nothing(arm, torque):
    q, still, gravity = at_rest(arm)
    push = np.array([1.0, 0.0, 0.0, 0.0])
    observer = make_observer('first_order', arm, GAIN,
                             ObserverOptions(period=PERIOD, torque=torque))
    for _ in range(20):
        observer.step(q, still, gravity - push, PERIOD)
    before = observer.residual.copy()
    observer.step(q, still, gravity + 7.0, 0.0)
    np.testing.assert_array_equal(observer.residual, before)
    assert not observer.valid
    observer.step(q, still, gravity - push, PERIOD)
    assert observer.valid
    expected = push + (before - push) * np.exp(-GAIN * PERIOD)
    np.testing.assert_allclose(observer.residual, expected, atol=1e-12)


def test_torques_of_another_arm_are_refused(arm):
    q, still, _ = at_rest(arm)
    observer = make_observer('first_order', arm, GAIN, ObserverOptions(period=PERIOD))
    with pytest.raises(BadValue, match=r'shape of tau_link is \(5,\)'):
        observer.step(q, still, np.zeros(5), PERIOD)


@pytest.mark.parametrize('joints', [3, 5])
def test_a_filter_of_another_arm_is_refused(arm, joints):
    with pytest.raises(BadValue, match='number of gains'):
        MomentumObserver(arm, FirstOrderFilter([GAIN] * joints))
    with pytest.raises(BadValue, match='shape of gain'):
        make_observer('first_order', arm, [GAIN] * joints)


def test_a_reset_at_a_known_state_is_the_anchor(arm):
    q, still, gravity = at_rest(arm)
    observer = make_observer('first_order', arm, GAIN, ObserverOptions(period=PERIOD))
    observer.reset(q, still)
    push = np.array([0.0, 1.0, 0.0, 0.0])
    observer.step(q, still, gravity - push, PERIOD)
    assert observer.valid
    np.testing.assert_allclose(observer.raw, push, atol=1e-12)   # of the one torque that is known
    observer.reset(np.full(4, np.nan), still)
    observer.step(q, still, gravity, PERIOD)
    assert not observer.valid


@pytest.mark.parametrize(('gap', 'bridged'), [(0.02, True), (0.0201, False)])
def test_the_longest_gap_is_just_bridged(arm, gap, bridged):
    q, still, gravity = at_rest(arm)
    observer = make_observer('first_order', arm, GAIN,
                             ObserverOptions(period=PERIOD, max_gap=0.02))
    observer.step(q, still, gravity, PERIOD)
    observer.step(q, still, gravity, gap)
    assert observer.valid is bridged
