"""Goals: driven, refused, cancelled, aborted."""

import math

from motion_loop import DT, GOAL, HOME, IdealLoop, LIMITS, Loop, MODEL, NONE, path
import numpy as np
import pytest

from armsense.control.goal import GoalRefused
from armsense.control.motion_controller import MotionController
from armsense.errors import ArmsenseError
from armsense.reaction import Phase
from armsense.trajectory import ErrorCode, point_to_point, QuinticSpline, Tolerances


def test_a_trajectory_is_driven_to_its_goal():
    loop = Loop()
    status = loop.controller.follow(path())
    loop.run(0.6)
    assert 0.4 < status.progress < 0.6
    assert loop.controller.moving
    loop.run(1.0)
    assert status.succeeded
    assert status.progress == 1.0
    np.testing.assert_allclose(loop.q, GOAL, atol=5e-3)


def test_waypoints_are_joined_to_the_present_motion_without_a_jump():
    loop = Loop()
    first = loop.controller.follow(path())
    loop.run(0.5)
    second = loop.controller.follow_waypoints([0.8, 1.6], [HOME + 0.1, HOME])
    for _ in range(200):                             # it begins in a moment
        before = loop.controller.reference
        loop.run(DT)
        after = loop.controller.reference
        np.testing.assert_allclose(after.dq, before.dq, atol=0.05)
        np.testing.assert_allclose(after.q, before.q + before.dq * DT, atol=1e-4)
    assert first.preempted
    loop.run(2.0)
    assert second.succeeded
    np.testing.assert_allclose(loop.q, HOME, atol=5e-3)


@pytest.mark.parametrize(('times', 'rows', 'text'), [
    ([0.2], [GOAL], 'joint1: acceleration 72'),
    ([2.0], [HOME + [0, 1.6, 0, 0]], 'joint2: position'),
    ([3.0], [np.array([0.0, -0.6, 0.0, 0.0])], 'floor'),
    ([1.0, 0.5], [GOAL, HOME], 'ascending'),
    ([1.0], [[float('nan')] * 4], 'finite'),
    ([0.0, 1.0], [GOAL, HOME], 'away from where'),
    ([1.0], [[0.0, 0.0]], '2 joints'),
    ([1.0], [0.0, 0.0], '0 joints'),
])
def test_what_would_break_a_limit_is_refused_before_anything_moves(times, rows, text):
    loop = Loop()
    with pytest.raises(GoalRefused, match=text):
        loop.controller.follow_waypoints(times, rows)
    loop.run(0.2)
    assert not loop.controller.moving
    np.testing.assert_allclose(loop.q, HOME, atol=1e-6)


def away(duration):
    """Waypoints that begin and end beside the arm."""
    beside = HOME + [0.049, 0.0, 0.0, 0.0]
    return [0.0, duration], [beside, beside]


def moving(speed):
    """Waypoints that begin where the arm is, but in motion [rad/s]."""
    return ([0.0, 0.5, 1.2],
            [HOME, HOME + [0.3 * speed, 0, 0, 0], HOME + [0.35 * speed + 0.3, 0, 0, 0]],
            [[speed, 0, 0, 0], [0.4 * speed, 0, 0, 0], NONE])


@pytest.mark.parametrize(('waypoints', 'gentle'), [
    (away(0.001), True), (away(0.05), True), (away(0.5), True), (moving(0.2), True),
    (moving(2.5), False), (moving(3.5), False), (moving(4.5), False)])
def test_the_way_onto_a_trajectory_keeps_the_limits_or_is_refused(waypoints, gentle):
    loop = IdealLoop()
    try:
        status = loop.controller.follow_waypoints(*waypoints)
    except GoalRefused:
        assert not gentle
        return
    loop.log, driven = [HOME], []

    def watch():
        driven.append(loop.controller.reference[1:4])
        return not status.active
    loop.run(2.5, until=watch)
    assert status.succeeded
    np.testing.assert_allclose(loop.q, waypoints[1][-1], atol=1e-9)
    assert (loop.speeds() <= LIMITS.velocity).all()
    for k, limit in enumerate((LIMITS.velocity, LIMITS.acceleration, LIMITS.jerk)):
        values = np.array([NONE if row[k] is None else row[k] for row in driven])
        assert (np.abs(values) <= 1.01 * limit).all()   # the check looks every 4 ms


def test_a_short_trajectory_that_ends_in_motion_is_refused_also_from_beside_it():
    q = np.array([HOME, HOME + [0.01, 0, 0, 0]]) + [0.02, 0, 0, 0]
    with pytest.raises(GoalRefused, match='end velocity'):
        IdealLoop().controller.follow_waypoints([0.0, 0.1], q, [NONE, [0.2, 0, 0, 0]])


@pytest.mark.parametrize('terms', [
    lambda nan: {'tolerances': Tolerances(path=np.full(4, nan), goal=np.zeros(4))},
    lambda nan: {'tolerances': Tolerances(path=np.zeros(4), goal=np.full(4, nan))},
    lambda nan: {'tolerances': Tolerances(path=np.zeros(4), goal=np.zeros(4), goal_time=nan)},
    lambda nan: {'start': nan}])
def test_terms_that_are_no_numbers_are_refused(terms):
    loop = IdealLoop()
    with pytest.raises(ArmsenseError, match='nan'):
        loop.controller.follow_waypoints([1.2], [GOAL], **terms(math.nan))
    loop.run(0.1)
    assert not loop.controller.moving


def test_refusals_carry_code_and_violation():
    loop = Loop()
    with pytest.raises(GoalRefused) as caught:
        loop.controller.follow(path(0.15))
    assert caught.value.code is ErrorCode.INVALID_GOAL
    assert caught.value.violations[0].joint == 'joint1'
    with pytest.raises(GoalRefused) as caught:
        loop.controller.follow(QuinticSpline([0, 1], np.zeros((2, 3))))
    assert caught.value.code is ErrorCode.INVALID_JOINTS
    with pytest.raises(GoalRefused, match='no state'):
        MotionController(MODEL).follow(path())


def test_cancel_stops_smoothly_on_the_path():
    loop = Loop()
    status = loop.controller.follow(path())
    loop.run(0.5)
    loop.controller.cancel()
    accelerations = []
    for _ in range(600):
        loop.run(DT)
        accelerations.append(np.abs(loop.controller.reference.ddq))
    assert status.cancelled
    assert not loop.controller.moving
    assert (np.max(accelerations, axis=0) <= 1.02 * LIMITS.acceleration).all()
    here, way = loop.controller.reference.q, path()
    assert min(np.abs(way.sample(t).q - here).max() for t in np.linspace(0.4, 0.9, 800)) < 1e-3
    np.testing.assert_allclose(loop.arm.state.dq, 0.0, atol=1e-2)


def test_home_and_hold():
    loop = Loop(q=GOAL)
    status = loop.controller.home()
    loop.run(6.0, until=lambda: not status.active)
    assert status.succeeded
    np.testing.assert_allclose(loop.q, HOME, atol=0.05)
    loop.controller.hold()
    loop.run(0.1)
    assert loop.controller.phase is Phase.TRACKING


def test_path_tolerance_aborts_and_brakes():
    loop = Loop(law='joint_impedance')
    tight = Tolerances(path=np.full(4, 1e-4), goal=np.full(4, 0.1))
    status = loop.controller.follow(path(), tight)
    loop.run(1.0, external=np.array([2.0, 0, 0, 0]))
    assert status.code is ErrorCode.PATH_TOLERANCE_VIOLATED
    assert 'joint1: path error' in status.text
    assert not loop.controller.reference.dq.any()


@pytest.mark.parametrize('law', ['pi_velocity', 'pid_position', 'kinematic_joint', 'pd_gravity',
                                 'computed_torque', 'joint_impedance'])
def test_an_arm_pushed_aside_at_rest_comes_back_within_its_velocity_limits(law):
    loop = Loop(law)
    loop.run(1.0)                                    # until the law carries the arm
    before = loop.q
    push = 1.1 * LIMITS.torque * [1, 0, 0, 0]
    loop.run(1.0, external=push, until=lambda: loop.q[0] - before[0] > 0.3)
    assert loop.q[0] - before[0] > 0.2
    for _ in range(60):                              # somebody holds it there
        loop.run(0.05, external=push * np.clip(10 * (0.3 + before[0] - loop.q[0]), -1, 1))
    speeds = []

    def watch():
        speeds.append(loop.arm.state.dq)
        return False
    loop.run(3.0, until=watch)
    assert (np.abs(speeds).max(axis=0) <= LIMITS.velocity).all()
    np.testing.assert_allclose(loop.q, before, atol=0.02)


def test_goal_at_the_joint_limit_is_reached():
    limit = HOME.copy()
    limit[3] = LIMITS.lower[3]
    loop = Loop()
    status = loop.controller.follow(point_to_point(HOME, limit, LIMITS, speed=0.5))
    loop.run(4.0, until=lambda: not status.active)
    assert status.succeeded
    assert (loop.controller.reference.q >= LIMITS.lower - 1e-9).all()


@pytest.mark.parametrize('ahead', [1e9, math.inf])
def test_a_goal_that_begins_in_the_far_future_is_refused(ahead):
    loop = IdealLoop()
    with pytest.raises(GoalRefused, match='from now; at most 600 s'):
        loop.controller.follow_waypoints([1.2], [GOAL], start=loop.controller.time + ahead)


def test_nobody_waits_for_a_goal_that_was_cancelled_before_its_time():
    loop = IdealLoop()
    later = loop.controller.follow_waypoints([1.2], [GOAL], start=loop.controller.time + 500.0)
    loop.run(0.1)
    loop.controller.cancel(later)
    loop.run(0.0)
    assert not loop.controller.moving
    assert loop.controller.home().active
    loop.run(1.0)
    assert loop.controller.status.succeeded
