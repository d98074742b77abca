"""A tape gives the numbers of the live run, bit for bit."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from armsense.errors import BadValue
from armsense.model import Arm
from armsense.model.base_motion import BaseMotion
from armsense.watch import Tape, watch, watch_all
from armsense.watch.collision_monitor import CollisionMonitor, DetectionConfig
from armsense.watch.state_estimator import VelocityOptions
from armsense.watch.tape import watch_every_sample

MODEL = Arm.load('laas4')
PERIOD = 1_000_000   # [ns]


def readings(count, seed=0):
    """A resting arm with noise in its torque, pushed at joint 2 after half the time."""
    rng = np.random.default_rng(seed)
    q = np.array(MODEL.config.home)
    gravity = MODEL.gravity_torque(q)
    push = np.array([0.0, 5.0, 0.0, 0.0])
    return [SimpleNamespace(
        position=q.tolist(), joint_position=[], strain=[],
        torque=(gravity + 0.02 * rng.standard_normal(4) - push * (k > count // 2)).tolist())
        for k in range(count)]


def tape_of(rows):
    return Tape.of([PERIOD * k for k in range(len(rows))], rows, [True] * len(rows))


def swinging(monitor, times):
    """A tape of an arm that swings freely, all joints at up to 0.8 rad/s."""
    phase = np.array([0.0, 0.5, 1.0, 1.5])
    q = 0.4 * np.sin(2.0 * times[:, None] + phase)
    dq = 0.8 * np.cos(2.0 * times[:, None] + phase)
    torque = np.array([MODEL.inverse_dynamics(*row) for row in zip(q, dq, -4.0 * q, strict=True)])
    nothing = np.zeros((len(times), 0))
    return Tape(np.round(times * 1e9).astype(np.int64), q,
                torque + [monitor.drive.friction.torque(row) for row in dq], nothing, nothing,
                np.ones(len(times), bool))


@pytest.mark.parametrize('observer', ['first_order', 'second_order', 'kalman', 'direct'])
def test_watching_equals_stepping(observer):
    rows = readings(600)
    live = CollisionMonitor(MODEL, observer=observer)
    expected, hits = [], []
    for k, row in enumerate(rows):
        result = live.step(row.position, row.torque, [], [], True, 1e-3 if k else 0.0)
        expected.append(result.filtered.copy())
        if result.detection is not None:
            hits.append(k)
    trace = watch(CollisionMonitor(MODEL, observer=observer), tape_of(rows))
    np.testing.assert_array_equal(trace.filtered, expected)
    assert [k for k, _ in trace.detections] == hits
    assert len(hits) == 1


def test_observers_that_share_the_dynamics_say_what_they_say_alone():
    names = ('kalman', 'first_order', 'direct', 'third_order')
    tape = tape_of(readings(600))
    together = watch_all([CollisionMonitor(MODEL, observer=name) for name in names], tape)
    for name, trace in zip(names, together, strict=True):
        alone = watch_every_sample(CollisionMonitor(MODEL, observer=name), tape)
        np.testing.assert_array_equal(trace.filtered, alone.filtered)
        np.testing.assert_array_equal(trace.raw, alone.raw)
        assert [k for k, _ in trace.detections] == [k for k, _ in alone.detections]


def test_a_push_is_found_soon_and_named():
    trace = watch(CollisionMonitor(MODEL), tape_of(readings(600)))
    (number, detection), = trace.detections
    assert 300 < number < 310
    # Less motor torque than gravity needs, and the arm stays: somebody holds it up.
    assert (detection.joint, detection.direction) == (1, 1)
    assert trace.links == ('link2',)
    assert trace.ratio[:300].max() < 1.0 < trace.ratio[310:].max()


@pytest.mark.parametrize('degree', [1, 2])
@pytest.mark.parametrize('gap', [0.03, 0.1, 0.5, 6.0])
def test_a_pause_in_motion_is_no_collision(gap, degree):
    window = 8
    config = replace(DetectionConfig.of(MODEL),
                     velocity=VelocityOptions(window=window, degree=degree))
    monitor = CollisionMonitor(MODEL, config)
    times = 1e-3 * np.arange(400)
    times[250:] += gap - 1e-3
    trace = watch(monitor, swinging(monitor, times))
    assert trace.time[250] - trace.time[249] == pytest.approx(gap)
    assert not trace.detections
    assert np.isfinite(trace.dq).all()
    assert trace.ratio[100:].max() < 0.3
    # One sample more than the window: the observer's anchor.
    assert np.flatnonzero(~trace.valid[1:]).tolist() == list(range(249, 249 + window))


def test_an_encoder_that_fails_for_a_while_in_motion_is_no_collision():
    monitor = CollisionMonitor(MODEL)
    tape = swinging(monitor, 1e-3 * np.arange(500))
    tape.position[250:350, 3] = np.nan
    trace = watch(monitor, tape)
    assert not trace.detections
    assert not trace.valid[250:350].any()
    assert trace.valid[360:].all()
    assert trace.ratio[100:].max() < 0.3


def test_parts_and_length():
    tape = tape_of(readings(100))
    assert tape.seconds == pytest.approx(0.099)
    part = tape.part(10, 30)
    assert len(part.stamp) == 20
    np.testing.assert_array_equal(part.torque[0], tape.torque[10])
    with pytest.raises(BadValue, match='length of a tape'):
        Tape.of([], [], [])


def test_a_tape_of_a_moving_base():
    """A lift that accelerates upwards carries more weight; the tape knows why."""
    lifted = MODEL.replace(gravity=(0.0, 0.0, -11.0))
    rows = readings(200)
    for row in rows:
        row.torque = lifted.gravity_torque(np.array(row.position)).tolist()
    standing = tape_of(rows)
    motion = BaseMotion(np.array([0.0, 0.0, 11.0]), np.zeros(3), np.zeros(3))
    moving = standing._replace(base_motion=np.tile(np.array(motion), (200, 1, 1)))
    assert np.abs(watch(CollisionMonitor(MODEL), moving).filtered).max() < 1e-9
    assert np.abs(watch(CollisionMonitor(MODEL), standing).filtered).max() > 0.3
    assert moving.part(10, 30).base_motion.shape == (20, 3, 3)
    moving.base_motion[100:] = np.nan         # the unit falls silent
    valid = watch(CollisionMonitor(MODEL), moving).valid
    assert valid[99]
    assert not valid[100:].any()


@pytest.mark.parametrize('arm', ['laas4', 'biorob', 'tudor'])
@pytest.mark.parametrize('observer', ['first_order', 'kalman', 'direct'])
def test_the_short_way_is_the_long_one_bit_for_bit(arm, observer):
    """Random readings, motors off and on, collisions that come and go."""
    model = Arm.load(arm)
    rng = np.random.default_rng(7)
    count, n = 900, model.n
    wander = np.cumsum(rng.normal(0.0, 1e-4, (count, n)), axis=0)
    position = np.round((np.array(model.config.home) + wander) / 1e-4) * 1e-4
    torque = np.array([model.gravity_torque(q) for q in position])
    torque[300:340] += 3.0
    torque[600:640] -= 2.0
    kinds = {joint.drive for joint in model.config.joints.values()}
    link_side = position.copy() if 'elastic_joint' in kinds else np.zeros((count, 0))
    gauges = 1e-5 * rng.normal(size=(count, n)) if 'strain_link' in kinds else np.zeros((count, 0))
    enabled = np.ones(count, bool)
    enabled[:50] = enabled[450:500] = False
    tape = Tape(PERIOD * np.arange(count), position, torque, link_side, gauges, enabled)
    fast = watch(CollisionMonitor(model, observer=observer), tape)
    slow = watch_every_sample(CollisionMonitor(model, observer=observer), tape)
    for name in ('time', 'q', 'dq', 'raw', 'filtered', 'threshold', 'exceeded', 'lasting',
                 'lasts_for', 'valid'):
        np.testing.assert_array_equal(getattr(fast, name), getattr(slow, name), err_msg=name)
    assert fast.links == slow.links
    assert repr(fast.detections) == repr(slow.detections)
    assert fast.detections
    assert fast.lasting.any()
