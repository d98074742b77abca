"""What is refused before anything moves, and what the generators promise."""

import numpy as np
import pytest

from armsense.errors import ArmsenseError
from armsense.model import Arm
from armsense.trajectory import (
    check_motion,
    Clearance,
    ErrorCode,
    Limits,
    point_to_point,
    QuinticSpline,
    sample_grid,
    ToleranceMonitor,
    Tolerances,
)
from bench.motions import fourier_test, pick_and_place

MODEL = Arm.load('laas4')
LIMITS = Limits.of(MODEL)
HOME = np.array(MODEL.config.home)


def motion(goal, duration, start=HOME):
    rest = np.zeros((2, 4))
    return QuinticSpline([0.0, duration], [start, goal], rest, rest)


@pytest.mark.parametrize(('joint', 'way', 'duration', 'kind'), [
    (1, 1.6, 5.0, 'position'), (0, 2.5, 0.8, 'velocity'), (2, 0.3, 0.12, 'acceleration'),
    (2, 0.02, 0.1, 'jerk')])
def test_each_joint_limit_names_joint_time_and_value(joint, way, duration, kind):
    goal = HOME.copy()
    goal[joint] += way
    found = [v for v in check_motion(motion(goal, duration), LIMITS) if v.kind == kind]
    assert [v.joint for v in found] == [f'joint{joint + 1}']
    assert 0.0 <= found[0].time <= duration
    assert abs(found[0].value) > abs(found[0].limit)
    text = str(found[0])
    assert f'joint{joint + 1}' in text
    assert f'{found[0].value:.4g}' in text


def test_peak_values_are_those_of_the_quintic():
    goal = HOME + np.array([0.0, 0.0, 0.3, 0.0])
    found = {v.kind: v for v in check_motion(motion(goal, 0.1), LIMITS)}
    assert found['velocity'].value == pytest.approx(1.875 * 0.3 / 0.1, rel=0.01)
    assert abs(found['jerk'].value) == pytest.approx(60 * 0.3 / 0.1**3, rel=0.01)


def test_a_payload_makes_a_motion_too_heavy():
    goal = HOME + np.array([0.0, -0.6, 0.0, 0.6])
    slow = motion(goal, 2.0)
    assert not check_motion(slow, LIMITS, MODEL)
    found = check_motion(slow, LIMITS, MODEL.with_payload(1.5))
    assert [v.kind for v in found] == ['torque']
    assert found[0].joint == 'joint2'


def test_goals_exactly_at_the_limit_are_accepted():
    goal = np.array([0.0, LIMITS.upper[1], 0.0, LIMITS.lower[3]])
    assert not check_motion(motion(goal, 4.0), LIMITS)


def test_a_moving_end_is_refused():
    rolling = QuinticSpline([0.0, 1.0], [HOME, HOME + 0.1], [np.zeros(4), np.full(4, 0.2)])
    assert {v.kind for v in check_motion(rolling, LIMITS)} == {'end velocity'}


def test_floor_and_self_distance():
    clearance = Clearance(MODEL, floor=0.0, self_distance=0.02)
    assert not clearance.check(motion(HOME + 0.1, 1.0))
    low = clearance.check(motion(np.array([0.0, -0.6, 0.0, 0.0]), 2.0))
    assert [v.kind for v in low] == ['floor']
    # Rims of the hand's cylinder (urdf: 0.01 to 0.09 m along x, radius 0.018 m).
    pose = MODEL.frame_pose(np.array([0.0, -0.6, 0.0, 0.0]), low[0].joint)
    angles = np.linspace(0.0, 2 * np.pi, 60)
    rims = np.array([[x, 0.018 * np.cos(a), 0.018 * np.sin(a), 1.0]
                     for x in (0.01, 0.09) for a in angles])
    height = (rims @ pose[2]).min()
    assert low[0].joint == 'link4'
    assert height - 0.02 <= low[0].value <= height + 1e-6   # a box around it, so never too high
    tight = Clearance(MODEL, floor=None, self_distance=0.5)
    assert [v.kind for v in tight.check(motion(HOME + 0.1, 1.0))] == ['self-distance']


@pytest.mark.parametrize('arm', ['laas4', 'biorob', 'tudor'])
def test_generators_keep_the_limits(arm):
    model = Arm.load(arm)
    limits = Limits.of(model)
    for generated in (fourier_test(model, seed=2), pick_and_place(model)):
        assert not check_motion(generated, limits, model)
    again = fourier_test(model, seed=2)
    np.testing.assert_array_equal(again.sample(1.0).q, fourier_test(model, seed=2).sample(1.0).q)


def test_point_to_point_is_as_fast_as_the_tightest_limit_allows():
    goal = HOME + np.array([1.5, 0.2, 0.1, 0.0])
    fast = point_to_point(HOME, goal, LIMITS)
    samples = sample_grid(fast, 0.001)
    fill = max(np.abs(samples.dq / LIMITS.velocity).max(),
               np.abs(samples.ddq / LIMITS.acceleration).max(),
               np.abs(samples.jerk / LIMITS.jerk).max())
    assert 0.99 <= fill <= 1.0 + 1e-6
    heavy = MODEL.with_payload(0.6)
    slower = point_to_point(HOME, HOME + np.array([0.0, 0.9, 0.0, 0.0]), LIMITS, heavy)
    assert not [v for v in check_motion(slower, LIMITS, heavy) if v.kind == 'torque']
    with pytest.raises(ArmsenseError, match='torque'):
        point_to_point(HOME, goal, LIMITS, MODEL.with_payload(5.0))


def test_tolerances():
    monitor = ToleranceMonitor(Tolerances(path=np.array([0.1, 0.0]), goal=np.array([0.01, 0.01]),
                                          goal_time=0.5), ('a', 'b'), 1.0)
    assert not monitor.check(0.5, np.array([0.09, 9.0])).done   # 0 means: not watched
    path = monitor.check(0.5, np.array([-0.2, 0.0]))
    assert path.code is ErrorCode.PATH_TOLERANCE_VIOLATED
    assert 'a: path error 0.2 rad' in path.text
    assert not monitor.check(1.2, np.array([0.02, 0.0])).done
    assert monitor.check(1.2, np.array([0.005, 0.0])).code is ErrorCode.SUCCESSFUL
    late = monitor.check(1.6, np.array([0.0, 0.02]))
    assert late.code is ErrorCode.GOAL_TOLERANCE_VIOLATED
