"""Goals for the tool: on the line, on the curve, within the limits, or refused with the reason."""

from motion_loop import DT, HIT, HOME, LIMITS, Loop, MODEL
import numpy as np
import pytest
from reference_checker import ReferenceChecker

from armsense.control.goal import GoalRefused
from armsense.errors import ArmsenseError
from armsense.model import Arm
from armsense.task import Pose, TaskGoal
from armsense.trajectory import check_motion, Clearance, Limits
from armsense.types import Reference

TOOL = Pose.of_matrix(MODEL.frame_pose(HOME))
SIDE = np.array([0.0, 1.0, 0.0])
OUT = (TOOL.position - [0.0, 0.0, 0.167]) / np.linalg.norm(TOOL.position - [0.0, 0.0, 0.167])
UP = np.cross(OUT, SIDE)


def moved(*ways):
    return [Pose(TOOL.position + np.asarray(way), TOOL.rotation) for way in ways]


def tool(q):
    return MODEL.frame_pose(q)[:3, 3]


def plan(start=HOME, floor=0.0, **goal):
    return TaskGoal(**goal).plan(MODEL, LIMITS, Clearance(MODEL, floor=floor, self_distance=0.01),
                                 Reference.at_rest(np.array(start)))


def away_from_line(points, a, b):
    along = (b - a) / np.linalg.norm(b - a)
    rest = points - a
    return np.linalg.norm(rest - np.outer(rest @ along, along), axis=1).max()


def test_a_line_is_straight_fast_and_within_the_limits():
    goal = moved(0.1 * SIDE + 0.05 * UP)
    fast, slow = plan(poses=goal, speed=1.0), plan(poses=goal, speed=0.5)
    assert slow.duration == pytest.approx(2 * fast.duration, rel=0.15)
    for motion in (fast, slow):
        assert not check_motion(motion, LIMITS, MODEL)
        times = np.linspace(0.0, motion.duration, 200)
        points = np.array([tool(motion.sample(t).q) for t in times])
        assert away_from_line(points, TOOL.position, goal[0].position) < 1e-5
    grid = np.linspace(0.0, fast.duration, 2000)
    used = max(np.abs([fast.sample(t).dq for t in grid] / LIMITS.velocity).max(),
               np.abs([fast.sample(t).ddq for t in grid] / LIMITS.acceleration).max(),
               np.abs([fast.sample(t).jerk for t in grid] / LIMITS.jerk).max())
    assert used > 0.8


def test_corners_are_met_or_rounded():
    corner = moved(0.1 * SIDE, 0.1 * SIDE + 0.1 * UP)
    for blend, nearest in ((0.0, 1e-5), (0.03, 0.02)):
        motion = plan(poses=corner, blend=blend)
        grid = np.linspace(0.0, motion.duration, 2000)
        points = np.array([tool(motion.sample(t).q) for t in grid])
        passed = np.linalg.norm(points - corner[0].position, axis=1)
        assert passed.min() < nearest
        speed = np.linalg.norm(np.diff(points, axis=0), axis=1) / np.diff(grid)
        assert (speed[passed[:-1].argmin()] > 0.02) == (blend > 0.0)
        assert not check_motion(motion, LIMITS, MODEL)
        np.testing.assert_allclose(points[-1], corner[1].position, atol=1e-5)


def test_poses_with_times_are_passed_in_time():
    turn = np.linspace(0.0, 2 * np.pi, 33)
    times = 1.0 + 3.0 * np.linspace(0.0, 1.0, 33)
    angle = turn - np.sin(turn)                                  # at rest at both ends
    circle = moved(*(0.08 * (np.sin(a) * SIDE + (np.cos(a) - 1.0) * UP) for a in angle))
    motion = plan(poses=circle, times=times)
    assert motion.duration == pytest.approx(4.0)
    assert not check_motion(motion, LIMITS, MODEL)
    for pose, t in zip(circle, times, strict=True):
        np.testing.assert_allclose(tool(motion.sample(t).q), pose.position, atol=1e-5)
    center = TOOL.position - 0.08 * UP
    between = np.array([tool(motion.sample(t).q) for t in np.linspace(1.0, 4.0, 301)])
    np.testing.assert_allclose(np.linalg.norm(between - center, axis=1), 0.08, atol=2e-4)


def test_seven_joints_turn_their_tool_as_asked():
    model = Arm.load('seven')
    limits, home = Limits.of(model), np.array(model.config.home)
    first = Pose.of_matrix(model.frame_pose(home))
    half = np.sin(0.25), np.cos(0.25)
    goal = Pose(first.position + [0.0, 0.1, 0.0],
                first.rotation @ Pose.of([0.0] * 3, [half[0], 0.0, 0.0, half[1]]).rotation)
    clearance = Clearance(model, floor=None, self_distance=0.0)
    for straight in (True, False):
        motion = TaskGoal(poses=[goal], straight=straight).plan(model, limits, clearance,
                                                                Reference.at_rest(home))
        end = model.frame_pose(motion.sample(motion.duration).q)
        np.testing.assert_allclose(end[:3, 3], goal.position, atol=1e-5)
        np.testing.assert_allclose(end[:3, :3], goal.rotation, atol=1e-4)
        assert not check_motion(motion, limits, model)


@pytest.mark.parametrize(('goal', 'text'), [
    ({'poses': moved(0.3 * OUT)}, 'stays .* away'),                           # out of reach
    ({'poses': moved(0.3 * OUT), 'straight': False}, 'stays 0.[0-9]* m away'),
    ({'poses': [Pose.of(TOOL.position * [-1.0, 1.0, 1.0])]}, 'on the way'),   # through itself
    ({'poses': [Pose.of([0.6, 0.0, 0.0])], 'straight': False}, 'floor'),
    ({'poses': moved(0.1 * SIDE), 'times': [0.1]}, 'beyond'),                 # too fast
    ({'poses': moved(0.1 * SIDE, 0.1 * UP), 'times': [1.0, 1.0]}, 'ascending')])
def test_what_cannot_be_driven_is_refused_before_anything_moves(goal, text):
    loop = Loop()
    with pytest.raises(GoalRefused, match=text):
        loop.controller.follow_task_path(TaskGoal(**goal))
    loop.run(0.05)
    np.testing.assert_allclose(loop.q, HOME, atol=1e-6)


@pytest.mark.parametrize('goal', [
    {'poses': []}, {'poses': moved(SIDE), 'times': [1.0, 2.0]},
    {'poses': moved(SIDE), 'speed': 0.0}, {'poses': moved(SIDE), 'blend': -0.1},
    {'poses': moved(SIDE, UP), 'straight': False},
    {'poses': moved([np.nan, 0.0, 0.0])}, {'poses': moved(SIDE), 'directions': ('w',)}])
def test_goals_that_make_no_sense(goal):
    with pytest.raises(ArmsenseError):
        plan(**goal)


def test_goals_for_the_tool_replace_each_other_without_a_jump():
    loop = Loop()
    checker = ReferenceChecker(loop.controller, DT)
    first = loop.controller.follow_task_path(TaskGoal(poses=moved(0.15 * SIDE)))
    loop.run(0.3)
    second = loop.controller.follow_task_path(TaskGoal(poses=moved(0.1 * UP)))
    for _ in range(2500):
        loop.run(DT)
        checker.note()
    assert first.preempted
    assert second.succeeded
    np.testing.assert_allclose(tool(loop.q), moved(0.1 * UP)[0].position, atol=1e-4)
    checker.expect_kept()


def test_a_collision_interrupts_a_goal_for_the_tool():
    loop = Loop()
    status = loop.controller.follow_task_path(TaskGoal(poses=moved(0.15 * SIDE)), reaction='stop')
    loop.run(0.3)
    loop.run(1.5, hit=HIT)
    assert not status.active
    assert 'contact' in status.text
    assert np.linalg.norm(tool(loop.q) - moved(0.15 * SIDE)[0].position) > 0.03
