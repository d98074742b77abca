"""A guided motion with tremor and noise becomes a trajectory within all limits."""

import numpy as np
import pytest

from armsense.errors import ArmsenseError
from armsense.model import Arm
from armsense.trajectory import check_motion, Clearance, Limits, QuinticSpline
from armsense.trajectory.lesson import clean, CleanOptions, Lesson

MODEL = Arm.load('laas4')
LIMITS = Limits.of(MODEL)
HOME = np.array(MODEL.config.home)


def hand(duration=3.0, seed=1, noise=2e-3, tremor=3e-3, rest=0.7):
    """Recording of a hand that leads the arm along a known path, and that path."""
    rng = np.random.default_rng(seed)
    points = HOME + rng.uniform(-0.3, 0.3, (4, 4)) * [1.0, 0.5, 1.0, 1.0]
    points[0] = HOME
    path = QuinticSpline(np.linspace(0.0, duration, 4), points)
    t = np.arange(0.0, duration + 2.0 * rest, 1e-3) + rng.uniform(0.0, 3e-4)
    q = np.array([path.sample(s - rest).q for s in t])
    shaking = tremor * np.sin(2 * np.pi * 9.0 * t)[:, None]
    return t, q + shaking + noise * rng.standard_normal(q.shape), path


def nearest(path, q, duration):
    ways = np.array([path.sample(s).q for s in np.linspace(0.0, duration, 3000)])
    return np.abs(ways - q).max(axis=1).min()


def test_the_path_of_the_hand_is_kept_without_its_tremor():
    t, q, path = hand()
    lesson = clean(t, q, MODEL, CleanOptions(tolerance=0.005))
    motion = lesson.trajectory
    worst = max(nearest(path, motion.sample(s).q, 3.0)
                for s in np.linspace(0.0, motion.duration, 60))
    assert worst < 0.012                             # tolerance, and what the filter rounds
    assert lesson.deviation <= 0.005
    assert len(lesson.times) < 60                    # of 4400 samples
    np.testing.assert_allclose(lesson.positions[0], HOME, atol=0.01)
    np.testing.assert_allclose(lesson.positions[-1], path.sample(3.0).q, atol=0.01)


def test_rest_at_both_ends_is_cut_off():
    t, q, _ = hand(rest=2.0, noise=0.0, tremor=0.0)
    assert clean(t, q, MODEL).trajectory.duration == pytest.approx(3.0, abs=0.4)


@pytest.mark.parametrize('arm', ['laas4', 'biorob', 'tudor'])
@pytest.mark.parametrize('duration', [0.5, 3.0])
def test_every_limit_is_kept_however_fast_the_hand_was(arm, duration):
    model = Arm.load(arm)
    limits, home = Limits.of(model), np.array(model.config.home)
    way = 0.4 * np.ones(model.n)
    path = QuinticSpline([0.0, duration / 2, duration], [home, home + way, home])
    t = np.arange(0.0, duration, 2e-3)
    lesson = clean(t, [path.sample(s).q for s in t], model, CleanOptions(cutoff=20.0))
    assert not check_motion(lesson.trajectory, limits, model)
    assert lesson.stretch >= 1.0
    if duration < 1.0:
        assert lesson.stretch > 1.05
    ends = [lesson.trajectory.sample(s) for s in (0.0, lesson.trajectory.duration)]
    np.testing.assert_allclose([end.dq for end in ends], 0.0, atol=1e-6)


def test_half_the_limits_on_request():
    t, q, _ = hand(duration=1.0)
    slow = clean(t, q, MODEL, CleanOptions(speed=0.5))
    assert not check_motion(slow.trajectory, LIMITS.scaled(0.5), MODEL)


def test_a_hand_at_the_stop_stays_inside_the_range():
    t = np.arange(0.0, 2.0, 1e-3)
    q = np.tile(HOME, (len(t), 1))
    q[:, 2] = np.clip(3.0 * t, 0.0, LIMITS.upper[2] + 0.04)
    lesson = clean(t, q, MODEL)
    assert lesson.positions[:, 2].max() < LIMITS.upper[2]
    assert not Clearance(MODEL, floor=None, self_distance=0.0).check(lesson.trajectory)


def test_lost_samples_do_no_harm():
    t, q, path = hand()
    keep = np.random.default_rng(3).random(len(t)) > 0.5
    lesson = clean(t[keep], q[keep], MODEL)
    assert nearest(path, lesson.trajectory.sample(0.5 * lesson.trajectory.duration).q, 3.0) < 0.02


def test_a_lesson_survives_its_file(tmp_path):
    t, q, _ = hand()
    lesson = clean(t, q, MODEL)
    lesson.write(tmp_path / 'lesson.yaml')
    again = Lesson.read(tmp_path / 'lesson.yaml')
    assert (again.arm, again.joints) == ('laas4', MODEL.joint_names)
    for s in np.linspace(0.0, lesson.trajectory.duration, 20):
        np.testing.assert_allclose(again.trajectory.sample(s).q, lesson.trajectory.sample(s).q,
                                   atol=1e-5)
    (tmp_path / 'bad.yaml').write_text('arm: laas4\n')
    with pytest.raises(ArmsenseError, match='not a lesson'):
        Lesson.read(tmp_path / 'bad.yaml')


@pytest.mark.parametrize(('times', 'rows', 'text'), [
    ([0.0, 1.0], [HOME, HOME], 'not moved'),
    ([0.0, 1.0], [HOME[:3], HOME[:3]], 'shape'),
    ([0.0], [HOME], 'at least two'),
    ([0.0, 1.0], [HOME, HOME * np.nan], 'finite'),
    ([1.0, 0.0], [HOME, HOME + 0.5], 'ascending'),
])
def test_recordings_that_teach_nothing_say_why(times, rows, text):
    with pytest.raises(ArmsenseError, match=text):
        clean(times, rows, MODEL)
