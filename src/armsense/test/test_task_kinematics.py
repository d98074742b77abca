"""Inverse kinematics against finite differences, and against the geometry of laas4.

The tool of laas4 is 0.095 m beside the end of an upper arm of 0.65 m, which joint 4 turns about
that end: it reaches a shell of 0.555 to 0.745 m around its shoulder, 0.167 m above the base.
"""

import numpy as np
import pinocchio as pin
import pytest

from armsense.errors import ArmsenseError
from armsense.model import Arm
from armsense.task import DIRECTIONS, Pose, TaskKinematics
from armsense.task.inverse_kinematics import follow_poses, solutions, solve_near, Unreachable
from armsense.task.kinematics import damped_solve, LENGTH
from armsense.task.pose import pose_of_row, pose_rows
from armsense.trajectory import Limits

LAAS4, SEVEN = Arm.load('laas4'), Arm.load('seven')
SHOULDER = np.array([0.0, 0.0, 0.167])


def places(model, count, seed, share=0.8):
    limits = Limits.of(model)
    return np.random.default_rng(seed).uniform(share * limits.lower, share * limits.upper,
                                               (count, model.n))


@pytest.mark.parametrize('directions', [DIRECTIONS, ('x', 'y', 'z'), ('z', 'rx', 'ry'), ('rz',)])
def test_the_jacobian_is_the_derivative_of_the_error(directions):
    kinematics = TaskKinematics(SEVEN, directions)
    for q, other in zip(places(SEVEN, 5, 1), places(SEVEN, 5, 2), strict=True):
        goal = kinematics.pose(q + 0.3 * (other - q))
        J = kinematics.error(q, goal)[1]
        step = 1e-6
        for j in range(SEVEN.n):
            dq = step * np.eye(SEVEN.n)[j]
            slope = (kinematics.error(q + dq, goal)[0] - kinematics.error(q - dq, goal)[0])
            np.testing.assert_allclose(-slope / (2 * step), J[:, j], atol=1e-6)


def test_rates_are_those_of_the_moving_tool():
    kinematics = TaskKinematics(SEVEN, ('x', 'rz', 'ry'))
    q, dq = places(SEVEN, 2, 3)
    J, axes = kinematics.jacobian(q)
    before, after = kinematics.pose(q - 1e-6 * dq), kinematics.pose(q + 1e-6 * dq)
    turned = pin.log3(before.rotation.T @ after.rotation) / 2e-6
    moved = (after.position - before.position) / 2e-6
    expected = [moved[0], LENGTH * turned[2], LENGTH * turned[1]]
    np.testing.assert_allclose(J @ dq, expected, atol=1e-6)
    twist = np.concatenate([moved, axes @ turned])
    np.testing.assert_allclose(kinematics.rates(twist, axes), expected, atol=1e-6)


@pytest.mark.parametrize('model', [LAAS4, SEVEN], ids=['laas4', 'seven'])
def test_what_some_joint_angles_reach_is_found(model):
    kinematics, limits = TaskKinematics(model), Limits.of(model)
    for q in places(model, 20, 4):
        goal = kinematics.pose(q)
        found = next(solutions(kinematics, goal, np.array(model.config.home), limits))
        assert (found >= limits.lower).all()
        assert (found <= limits.upper).all()
        pose = kinematics.pose(found)
        np.testing.assert_allclose(pose.position, goal.position, atol=1e-5)
        if model is SEVEN:
            np.testing.assert_allclose(pose.rotation, goal.rotation, atol=1e-4)


def test_laas4_reaches_its_shell_and_nothing_else():
    kinematics, limits = TaskKinematics(LAAS4), Limits.of(LAAS4)
    rng = np.random.default_rng(5)
    for radius, reached in ((0.50, False), (0.55, False), (0.56, True), (0.65, True),
                            (0.74, True), (0.75, False), (0.9, False)):
        for _ in range(4):
            direction = rng.normal(size=3)
            goal = Pose.of(SHOULDER + radius * direction / np.linalg.norm(direction))
            if reached:
                assert len(next(solutions(kinematics, goal, np.zeros(4), limits))) == 4
            else:
                missing = max(0.555 - radius, radius - 0.745)
                with pytest.raises(Unreachable, match='stays') as refusal:
                    list(solutions(kinematics, goal, np.zeros(4), limits))
                told = float(str(refusal.value).split('stays ')[1].split()[0])
                assert missing - 0.001 <= told <= missing + 0.01      # the nearest, about


def test_a_joint_limit_is_named():
    kinematics, limits = TaskKinematics(LAAS4, ('x', 'y', 'z', 'rx')), Limits.of(LAAS4)
    q = np.array([0.0, 0.6, 0.0, limits.upper[3] + 0.1])
    found = solve_near(kinematics, kinematics.pose(q), np.array([0.0, 0.6, 0.0, 1.9]), limits)
    assert (found.q <= limits.upper).all()


def test_a_free_joint_goes_to_its_posture_and_the_tool_stays_on_its_path():
    kinematics, limits = TaskKinematics(SEVEN), Limits.of(SEVEN)
    posture = np.array(SEVEN.config.home)
    first = kinematics.pose(posture)
    start = solve_near(kinematics, first, posture + [0.5, 0.0, -0.5, 0.0, 0.0, 0.0, 0.0],
                       limits).q                      # the same pose, with another elbow
    aside = 0.15 * np.sin(np.linspace(0.0, 2 * np.pi, 120))
    line = [Pose(first.position + [0.0, y, 0.0], first.rotation) for y in aside]
    rows = follow_poses(kinematics, line, start, posture, limits)
    for q, pose in zip(rows, line, strict=True):
        np.testing.assert_allclose(kinematics.pose(q).position, pose.position, atol=1e-5)
    assert np.linalg.norm(start - posture) > 0.2
    # After 0.6 m of tool motion exp(-3) of the distance is left.
    assert np.linalg.norm(rows[-1] - posture) < 0.15 * np.linalg.norm(start - posture)
    np.testing.assert_allclose(follow_poses(kinematics, [first] * 3, start, posture, limits)[2],
                               start, atol=1e-6)      # an arm that rests stays where it is


def test_damped_solution_is_exact_far_from_and_bounded_at_singularities():
    rng = np.random.default_rng(0)
    for m in (2, 3, 4):
        J, v = rng.normal(size=(m, 4)), rng.normal(size=m)
        np.testing.assert_allclose(damped_solve(J, v, 0.01, 0.05), np.linalg.pinv(J) @ v,
                                   atol=1e-9)
    J = rng.normal(size=(3, 4))
    U, _, V = np.linalg.svd(J, full_matrices=False)
    for sigma in (0.09, 0.05, 1e-2, 1e-4, 0.0):
        near = U @ np.diag([1.0, 0.5, sigma]) @ V
        lost = damped_solve(near, U[:, 2], 0.1, 0.05)
        damping2 = 0.05**2 * (1 - sigma**2 / 0.1**2)
        assert np.linalg.norm(lost) == pytest.approx(sigma / (sigma**2 + damping2), abs=1e-9)
        assert np.linalg.norm(lost) <= 1 / 0.05


@pytest.mark.parametrize(('directions', 'text'), [
    (('x', 'w'), "'w'"), (('x', 'x'), 'each once'), (('x', 'y', 'z', 'rx', 'ry'), '4 joints')])
def test_directions_that_make_no_sense(directions, text):
    with pytest.raises(ArmsenseError, match=text):
        TaskKinematics(LAAS4, directions)


def test_poses():
    with pytest.raises(ArmsenseError, match='length 1'):
        Pose.of([0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0])
    half = np.sqrt(0.5)
    turned = Pose.of([1.0, 0.0, 0.0], [0.0, 0.0, half, half])          # a quarter about z
    inside = Pose.of([0.1, 0.0, 0.0]).within(turned)
    np.testing.assert_allclose(inside.position, [1.0, 0.1, 0.0], atol=1e-12)
    # Between two rows the tool turns by the half, and the short way round.
    rows = pose_rows([Pose.of([0.0] * 3), Pose.of([0.0] * 3, [0.0, 0.0, -half, -half])])
    middle = pose_of_row(rows.mean(axis=0)).rotation
    np.testing.assert_allclose(pin.log3(middle), [0.0, 0.0, np.pi / 4], atol=1e-9)
