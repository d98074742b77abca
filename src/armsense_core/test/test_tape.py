"""A tape gives the numbers of the live run, bit for bit."""

from types import SimpleNamespace

import numpy as np
import pytest

from armsense_core.collision_monitor import CollisionMonitor
from armsense_core.errors import BadValue
from armsense_core.model import ArmModel
from armsense_core.model.base_motion import BaseMotion
from armsense_core.simulate import Tape, watch, watch_all
from armsense_core.simulate.tape import watch as watch_every_sample

MODEL = ArmModel.load('laas4')
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


def tape_of(rows, gap=None):
    stamps = [PERIOD * (k + (0 if gap is None or k < gap else 30)) for k in range(len(rows))]
    return Tape.of(stamps, rows, [True] * len(rows))


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


def test_a_pause_in_the_tape_is_no_collision():
    trace = watch(CollisionMonitor(MODEL), tape_of(readings(600)[:300], gap=200))
    assert not trace.detections
    assert not trace.valid[200]
    assert trace.time[200] - trace.time[199] == pytest.approx(0.031)


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
    model = ArmModel.load(arm)
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
    for name in ('time', 'q', 'dq', 'raw', 'filtered', 'threshold', 'exceeded', 'valid'):
        np.testing.assert_array_equal(getattr(fast, name), getattr(slow, name), err_msg=name)
    assert fast.links == slow.links
    assert repr(fast.detections) == repr(slow.detections)
    assert fast.detections
