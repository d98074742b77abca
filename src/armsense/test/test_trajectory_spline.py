"""Splines, time scaling, chains and stops against their boundary conditions and derivatives."""

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest

from armsense.errors import ArmsenseError
from armsense.model import Arm
from armsense.trajectory import (
    Brake,
    Chain,
    Fourier,
    Limits,
    QuinticSpline,
    ramped,
    stop_on_path,
    TimeScaled,
)
from armsense.types import Reference

RNG = np.random.default_rng(5)
TIMES = np.array([0.0, 0.7, 1.1, 2.5, 3.0])
POINTS = RNG.normal(size=(5, 3))


def derivatives_agree(trajectory, times, h=1e-5, tolerance=1e-4):
    for t in times:
        before, now, after = (trajectory.sample(t + s) for s in (-h, 0.0, h))
        for k in range(4):
            slope = (after[k] - before[k]) / (2 * h)
            np.testing.assert_allclose(now[k + 1], slope, rtol=tolerance, atol=tolerance)


def spline():
    return QuinticSpline(TIMES, POINTS)


def test_waypoints_are_met_with_their_derivatives():
    velocities, accelerations = RNG.normal(size=(2, 5, 3))
    motion = QuinticSpline(TIMES, POINTS, velocities, accelerations)
    for k, t in enumerate(TIMES):
        q, dq, ddq, *_ = motion.sample(t)
        np.testing.assert_allclose(q, POINTS[k], atol=1e-12)
        np.testing.assert_allclose(dq, velocities[k], atol=1e-10)
        np.testing.assert_allclose(ddq, accelerations[k], atol=1e-9)


def test_positions_alone_never_swing_past_the_waypoints_and_rest_at_the_ends():
    motion = QuinticSpline(TIMES, POINTS)
    for k in range(len(TIMES) - 1):
        low = np.minimum(POINTS[k], POINTS[k + 1])
        high = np.maximum(POINTS[k], POINTS[k + 1])
        room = 0.05 * (high - low) + 1e-12
        for t in np.linspace(TIMES[k], TIMES[k + 1], 50) - TIMES[0]:
            q = motion.sample(t).q
            assert (q >= low - room).all()
            assert (q <= high + room).all()
    for t in (0.0, motion.duration):
        np.testing.assert_allclose(motion.sample(t).dq, 0.0, atol=1e-12)
        np.testing.assert_allclose(motion.sample(t).ddq, 0.0, atol=1e-9)


@pytest.mark.parametrize('velocities', [None, np.zeros((4, 2))])
def test_equal_waypoints_mean_rest(velocities):
    points = np.array([[0.0, 1.0], [0.0, 1.0], [1.2, 0.5], [1.2, 0.5]])
    motion = QuinticSpline([0.0, 3.9, 5.1, 9.0], points, velocities)
    for t in (*np.linspace(0.0, 3.9, 20), *np.linspace(5.1, 9.0, 20)):
        expected = points[0] if t < 4.0 else points[-1]
        np.testing.assert_allclose(motion.sample(t).q, expected, atol=1e-12)


def test_it_rests_before_and_after():
    motion = spline()
    assert not motion.sample(-1.0).dq.any()
    np.testing.assert_array_equal(motion.sample(99.0).q, POINTS[-1])
    assert not motion.sample(99.0).dq.any()


@pytest.mark.parametrize('make', [
    spline,
    lambda: Fourier(np.zeros(2), RNG.normal(size=(3, 2)), RNG.normal(size=(3, 2)), 0.3, 4.0),
    lambda: TimeScaled(spline(), start=0.2, speed_from=0.0, speed_to=0.6, ramp=0.9),
    lambda: TimeScaled(spline(), start=2.8, speed_from=0.0, speed_to=-0.7, ramp=0.5),
])
def test_derivatives_are_derivatives(make):
    motion = make()
    derivatives_agree(motion, np.linspace(0.05, motion.duration - 0.05, 7))


@pytest.mark.parametrize(('times', 'rows'), [
    ([0.0], np.zeros((1, 2))),
    ([0.0, 0.0], np.zeros((2, 2))),
    ([0.0, 1.0], np.zeros((3, 2))),
    ([0.0, float('nan')], np.zeros((2, 2))),
    ([0.0, 1.0], np.array([[0.0, 0.0], [np.inf, 0.0]])),
])
def test_bad_waypoints_are_refused(times, rows):
    with pytest.raises(ArmsenseError):
        QuinticSpline(times, rows)


def test_a_ramped_motion_rests_at_both_ends_and_reaches_the_end():
    inner = Fourier(np.zeros(2), np.ones((2, 2)), np.ones((2, 2)), 0.5, 2.0)
    motion = ramped(inner, ramp=0.4, speed=0.5, start=0.3)
    np.testing.assert_allclose(motion.sample(0.0).q, inner.sample(0.3).q)
    np.testing.assert_allclose(motion.sample(motion.duration).q, inner.sample(2.0).q, atol=1e-9)
    for t in (0.0, motion.duration):
        np.testing.assert_allclose(motion.sample(t).dq, 0.0, atol=1e-9)
    middle = motion.duration / 2
    before, after = motion.sample(middle - 1e-6), motion.sample(middle + 1e-6)
    np.testing.assert_allclose(before.q, after.q, atol=1e-4)


def test_a_short_way_is_still_ramped_to_its_end():
    inner = spline()
    motion = ramped(inner, ramp=5.0, start=2.9)
    np.testing.assert_allclose(motion.sample(motion.duration).q, POINTS[-1], atol=1e-9)


def test_a_chain_runs_its_parts_in_order():
    first, second = spline(), QuinticSpline([0.0, 1.0], np.vstack([POINTS[-1], POINTS[0]]))
    chain = Chain([first, second])
    assert chain.duration == pytest.approx(4.0)
    np.testing.assert_allclose(chain.sample(3.5).q, second.sample(0.5).q)
    np.testing.assert_allclose(chain.sample(9.0).q, POINTS[0])


def limits():
    return Limits.of(Arm.load('laas4'))


def test_a_stop_on_the_path_stays_on_it_and_within_the_limits():
    bounds = limits()
    path = QuinticSpline([0.0, 1.0, 2.0, 3.0], RNG.uniform(-0.7, 0.7, size=(4, 4)))
    for t in np.linspace(0.1, 2.9, 9):
        stop = stop_on_path(path, t, bounds)
        first = stop.sample(0.0)
        np.testing.assert_allclose(first.dq, path.sample(t).dq, atol=1e-9)
        np.testing.assert_allclose(stop.sample(stop.duration).dq, 0.0, atol=1e-9)
        for u in np.linspace(0.0, stop.duration, 50):
            now, s = stop.sample(u), stop.path_time(u)
            np.testing.assert_allclose(now.q, path.sample(s).q, atol=1e-12)
            assert (np.abs(now.ddq) <= 1.02 * bounds.acceleration).all()
            assert (np.abs(now.jerk) <= 1.05 * np.maximum(
                bounds.jerk, np.abs(path.sample(s).jerk))).all()


@settings(max_examples=60, deadline=None)
@given(v=st.floats(-5, 5), a=st.floats(-39, 39))
def test_a_brake_ends_at_rest_within_the_limits(v, a):
    bounds = limits()
    start = Reference(np.zeros(4), np.full(4, v), np.full(4, a))
    brake = Brake(start, bounds)
    np.testing.assert_allclose(brake.sample(0.0).dq, v, atol=1e-12)
    last = brake.sample(brake.duration - 1e-9)
    np.testing.assert_allclose(last.dq, 0.0, atol=1e-5)
    np.testing.assert_allclose(last.ddq, 0.0, atol=1e-3)
    q, dt = np.zeros(4), brake.duration / 2000
    for k in range(2000):
        now = brake.sample((k + 0.5) * dt)
        assert (np.abs(now.ddq) <= bounds.acceleration + 1e-9).all()
        assert (np.abs(now.jerk) <= bounds.jerk + 1e-9).all()
        q = q + now.dq * dt
    np.testing.assert_allclose(brake.sample(brake.duration).q, q, atol=1e-5)


def test_the_brake_is_the_shortest_one():
    # From constant velocity the time-optimal stop is v/a + a/j, or 2 sqrt(v/j) for small v.
    bounds = limits()
    for v in (0.5, 3.0):
        start = Reference(np.zeros(4), np.array([v, 0, 0, 0]), np.zeros(4))
        a, j = bounds.acceleration[0], bounds.jerk[0]
        expected = v / a + a / j if v >= a * a / j else 2 * np.sqrt(v / j)
        assert Brake(start, bounds).duration == pytest.approx(expected, rel=1e-9)
    brake = Brake(Reference(np.zeros(4), np.array([3.0, 0.0, 0.0, 0.0]), np.zeros(4)), bounds)
    way = brake.sample(brake.duration).q
    assert way[0] == pytest.approx(3.0 * Brake(start, bounds).duration / 2, rel=1e-9)
