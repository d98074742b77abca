"""What may happen to a monitor beside collisions: clocks, pauses, motors off, files that lie."""

from dataclasses import replace

import numpy as np
import pytest

from armsense.detector import fixed_thresholds, Thresholds
from armsense.errors import ArmsenseError, BadValue
from armsense.model import Arm
from armsense.watch.collision_monitor import CollisionMonitor, DetectionConfig

MODEL = Arm.load('laas4')
PHASE = np.array([0.0, 0.5, 1.0, 1.5])


def swing(monitor, t):
    """Positions and torques of an arm that swings freely, at the time t [s]."""
    q, dq = 0.4 * np.sin(2.0 * t + PHASE), 0.8 * np.cos(2.0 * t + PHASE)
    return q, MODEL.inverse_dynamics(q, dq, -4.0 * q) + monitor.drive.friction.torque(dq)


def step(monitor, t, dt=1e-3, enabled=True):
    return monitor.step(*swing(monitor, t), [], [], enabled, dt)


def largest(results):
    """Largest residual over its threshold in valid results."""
    return max((np.abs(r.filtered) / r.threshold).max() for r in results if r.valid)


def test_stamps_that_start_over_are_no_collision():
    """A bag that is played in a loop: the arm is where it was, the clock too."""
    monitor = CollisionMonitor(MODEL)
    times = np.tile(1e-3 * np.arange(300), 2)
    results = [step(monitor, t, dt) for t, dt in
               zip(times, np.diff(times, prepend=times[0]), strict=True)]
    assert not any(r.detection for r in results)
    assert largest(results[100:]) < 0.3
    assert all(r.valid for r in results[320:])
    truth = 0.8 * np.cos(2.0 * times[-1] + PHASE)
    np.testing.assert_allclose(results[-1].dq, truth, atol=0.02)


def test_a_reset_in_motion_forgets_everything_and_is_no_collision():
    monitor = CollisionMonitor(MODEL)
    for k in range(150):
        step(monitor, 1e-3 * k)
    monitor.reset()
    first = step(monitor, 0.150)
    np.testing.assert_array_equal(first.dq, 0.0)      # of one sample nothing can be told
    results = [step(monitor, 1e-3 * k) for k in range(151, 300)]
    assert largest(results) < 0.3
    assert all(r.valid for r in results[10:])


def test_nobody_watches_while_the_motors_are_off():
    monitor = CollisionMonitor(MODEL)
    for k in range(5):
        result = step(monitor, 1e-3 * k, enabled=False)
    assert not result.valid
    assert not monitor.valid
    for k in range(5, 8):
        result = step(monitor, 1e-3 * k)
    assert result.valid
    assert monitor.valid


def resting(monitor, seconds, push=(0.0, 0.0, 0.0, 0.0)):
    """Results of an arm at rest at home, under external torques [Nm], (4,)."""
    q = np.array(MODEL.config.home)
    torque = MODEL.gravity_torque(q) - np.array(push)
    return [monitor.step(q, torque, [], [], True, 1e-3) for _ in range(round(seconds * 1e3))]


def events(results):
    return [r for r in results if r.detection is not None]


def test_a_payload_that_is_told_leaves_an_intended_contact_announced():
    monitor = CollisionMonitor(MODEL)
    resting(monitor, 0.5)
    monitor.detector.allow_contact(1.0)
    resting(monitor, 0.2)
    monitor.set_model(MODEL.with_payload(0.0))
    assert not events(resting(monitor, 0.7, (0.0, 5.0, 0.0, 0.0)))
    assert len(events(resting(monitor, 0.3, (0.0, 5.0, 0.0, 0.0)))) == 1


def test_an_intended_contact_does_not_wait_for_the_motors():
    monitor = CollisionMonitor(MODEL)
    resting(monitor, 0.5)
    monitor.detector.allow_contact(1.0)
    for k in range(1200):
        step(monitor, 1e-3 * k, enabled=False)
    assert len(events(resting(monitor, 0.3, (0.0, 5.0, 0.0, 0.0)))) == 1


def test_a_further_contact_is_isolated_without_the_one_that_lasts():
    monitor = CollisionMonitor(MODEL)
    resting(monitor, 0.5)
    outer, inner = np.array([0.0, 0.0, 0.6, 0.6]), np.array([4.0, 0.0, 0.0, 0.0])
    first, = events(resting(monitor, 1.0, outer))
    assert first.isolation.loaded == 3
    result = resting(monitor, 1.0, outer)[-1]
    assert result.lasting.tolist() == [False, False, True, True]
    assert result.lasts_for == pytest.approx(2.0, abs=0.05)
    second, = events(resting(monitor, 0.5, outer + inner))
    assert second.isolation.loaded == 0


def test_nothing_lasts_where_nobody_watches():
    monitor = CollisionMonitor(MODEL)
    resting(monitor, 0.5)
    assert resting(monitor, 0.5, (0.0, 5.0, 0.0, 0.0))[-1].lasting.any()
    result = step(monitor, 0.0, enabled=False)
    assert not result.lasting.any()
    assert result.lasts_for == 0.0


@pytest.mark.parametrize('number', [1, 3])
def test_every_joint_needs_a_threshold(number):
    with pytest.raises(BadValue, match=f'number of thresholds is {number}; it must be 4'):
        CollisionMonitor(MODEL, thresholds=fixed_thresholds([1.0] * number))
    with pytest.raises(BadValue, match=f'number of thresholds is {number}; it must be 4'):
        CollisionMonitor(MODEL, DetectionConfig(threshold=(1.0,) * number))


def test_thresholds_that_need_an_acceleration_are_refused():
    part = (0.1,) * 4
    with pytest.raises(BadValue, match=r'thresholds.acceleration is .* it must be left out'):
        CollisionMonitor(MODEL, thresholds=Thresholds(kind='motion', constant=(1.0,) * 4,
                                                      velocity=part, acceleration=part))
    CollisionMonitor(MODEL, thresholds=Thresholds(kind='motion', constant=(1.0,) * 4,
                                                  velocity=part))


def test_a_contact_without_a_pose_is_not_estimated():
    monitor = CollisionMonitor(MODEL)
    ones = np.ones(4)
    assert monitor.contact(ones, ones, np.array([0.1, 0.2, 0.1, 0.1]), 3) is not None
    assert monitor.contact(ones, ones, np.array([0.1, np.nan, 0.1, 0.1]), 3) is None


@pytest.mark.parametrize('rate', [50.0, 40.0, 10.0])
def test_a_slow_arm_is_watched_in_every_state(rate):
    model = Arm.load(replace(MODEL.config, rate=rate))
    monitor = CollisionMonitor(model)
    dts = (1.0 + 0.01 * np.random.default_rng(0).standard_normal(40)) / rate
    dts[20] *= 2.0                                    # one state is lost
    valid = [step(monitor, t, dt).valid for t, dt in zip(np.cumsum(dts), dts, strict=True)]
    assert valid == [False] + [True] * 39


def test_elastic_joints_cannot_be_watched_from_the_motors_alone():
    model = Arm.load('biorob')
    home = np.array(model.config.home)
    with pytest.raises(ArmsenseError, match='the states have no joint_position'):
        CollisionMonitor(model).step(home, np.zeros(4), [], [], True, 0.0)
    rows, nothing = np.tile(home, (3, 1)), np.zeros((3, 0))
    with pytest.raises(ArmsenseError, match='the states have no joint_position'):
        CollisionMonitor(model).estimator.batch(rows, rows, nothing, nothing)


@pytest.mark.parametrize(('rate', 'gain', 'window'),
                         [(1000.0, 100.0, 12), (500.0, 100.0, 12), (250.0, 75.0, 6),
                          (100.0, 30.0, 6), (30.0, 9.0, 6)])
def test_defaults_of_an_unknown_arm_follow_its_rate(rate, gain, window):
    model = Arm.load('laas4').with_rate(rate)
    model.name = 'unknown'
    config = DetectionConfig.of(model)
    assert (config.gain, config.velocity.window) == (pytest.approx(gain), window)
