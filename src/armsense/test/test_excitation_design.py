"""Designs: better than chance, feasible on a fine grid, repeatable, interruptible."""

from dataclasses import replace

import numpy as np
import pytest

from armsense.errors import ArmsenseError, BadValue
from armsense.excite import (
    BaseCylinder,
    Constraints,
    design_excitation,
    DesignOptions,
    make_criterion,
)
from armsense.excite.families import FourierSeries
from armsense.excite.information import RigidInformation
from armsense.excite.problem import Problem
from armsense.excite.search import first_guess, Verifier
from armsense.excite.sqp import Minimiser
from armsense.model import Arm
from armsense.trajectory import check_motion, Clearance, Limits

pytestmark = pytest.mark.slow

SHORT = DesignOptions(starts=1, guesses=6, iterations=25, time_limit=0.0, seed=3)


@pytest.fixture(scope='module')
def laas4():
    return Arm.load('laas4')


@pytest.fixture(scope='module')
def design(laas4):
    return design_excitation(laas4, SHORT)


def make_problem(model, constraints=None, criterion='d_optimal'):
    shape = FourierSeries(np.array(model.config.home), 10.0, 5)
    return Problem(model, shape, constraints or Constraints.of(model), RigidInformation(model),
                   make_criterion(criterion), 1000.0)


def test_optimised_is_far_better_than_random_feasible_motions(laas4, design):
    rng = np.random.default_rng(11)
    problem = make_problem(laas4)
    random = [first_guess(problem, rng).objective for _ in range(15)]
    # 32 parameters: 30 nats are a factor of 1.6 in every standard deviation.
    assert design.objective < min(random) - 30.0
    assert design.objective < design.first_objective


def test_limits_torque_and_shapes_hold_on_a_fine_grid(laas4, design):
    motion = design.excitation.trajectory(1)
    limits = Limits.of(laas4)                        # the full ones; the design used 90 %
    used = design.excitation.limits
    tight = replace(limits, **{name: np.array(getattr(used, name)) for name in
                               ('lower', 'upper', 'velocity', 'acceleration', 'jerk', 'torque')})
    np.testing.assert_allclose(tight.velocity, 0.9 * limits.velocity)
    assert check_motion(motion, tight, laas4, step=0.003) == []
    assert Clearance(laas4, floor=0.0, self_distance=0.02).check(motion, step=0.02) == []


def test_design_uses_what_the_limits_allow(design):
    t = np.linspace(0.0, 10.0, 2001)
    motion = design.excitation.shape.motion(design.excitation.coefficient_matrix, t)
    used = design.excitation.limits
    fill = np.maximum(np.abs(motion.dq).max(axis=0) / used.velocity,
                      motion.q.max(axis=0) / used.upper)
    assert fill.max() > 0.98
    assert fill.min() > 0.6


def test_same_seed_same_motion_other_seed_other_motion(laas4):
    options = replace(SHORT, iterations=4, guesses=2)
    one, two = (design_excitation(laas4, options).excitation for _ in range(2))
    other = design_excitation(laas4, replace(options, seed=4)).excitation
    assert one.coefficients == two.coefficients
    assert one.coefficients != other.coefficients


def test_cancel_keeps_the_best_feasible_motion(laas4):
    told = []

    def cancelled():
        return len(told) >= 5

    result = design_excitation(laas4, SHORT, progress=told.append, cancelled=cancelled)
    assert result.interrupted
    assert len(told) == 5
    assert result.objective <= result.first_objective + 1e-9
    assert_feasible(laas4, result)


def test_control_c_keeps_the_best_feasible_motion(laas4):
    def interrupt(progress):
        if progress.iteration >= 6:
            raise KeyboardInterrupt

    result = design_excitation(laas4, SHORT, progress=interrupt)
    assert result.interrupted
    assert result.objective < result.first_objective
    assert_feasible(laas4, result)


def test_a_cancel_before_the_start_still_gives_a_feasible_motion(laas4):
    result = design_excitation(laas4, SHORT, cancelled=lambda: True)
    assert result.interrupted
    assert result.iterations == 0
    assert_feasible(laas4, result)


def test_progress_is_told_and_never_gets_worse(laas4):
    told = []
    design_excitation(laas4, replace(SHORT, starts=2, iterations=5), progress=told.append)
    assert all(a.objective >= b.objective for a, b in zip(told, told[1:], strict=False))
    assert 0.0 < told[0].fraction < told[-1].fraction <= 1.0
    assert {p.start for p in told} == {0, 1}


def test_base_cylinder_and_high_floor_are_kept(laas4):
    constraints = Constraints.of(laas4, floor=0.02, base_cylinder=BaseCylinder(0.12))
    result = design_excitation(laas4, replace(SHORT, iterations=12), constraints)
    t = np.linspace(0.0, 10.0, 1201)
    q = result.excitation.shape.motion(result.excitation.coefficient_matrix, t).q
    tool = np.array([laas4.frame_pose(pose)[:3, 3] for pose in q])
    assert np.hypot(tool[:, 0], tool[:, 1]).min() > 0.12
    lowest = min(Clearance(laas4, floor=None, self_distance=0.0).lowest_point(pose)[0]
                 for pose in q[::10])
    assert lowest > 0.02


def test_a_tight_torque_limit_binds(laas4):
    constraints = Constraints.of(laas4)
    hold = np.abs(laas4.gravity_torque(np.array(laas4.config.home)))
    limits = replace(constraints.limits, torque=np.maximum(1.05 * hold + 0.4, 0.6))
    result = design_excitation(laas4, replace(SHORT, iterations=12),
                               replace(constraints, limits=limits))
    motion = result.excitation.trajectory(1)
    assert check_motion(motion, limits, laas4, step=0.005) == []


@pytest.mark.parametrize(('arm', 'options'), [
    ('crs_a465', {'kind': 'cosine_polynomial'}),
    ('crs_a465', {'kind': 'polynomial', 'criterion': 'a_optimal'}),
    ('crs_a465', {'kind': 'aprbs', 'period': 20.0}),
    ('crs_a465', {'criterion': 'condition'}),
    ('biorob', {}),
    ('tudor', {'criterion': 'e_optimal'}),
])
def test_every_kind_and_criterion_improves_on_its_guess(arm, options):
    model = Arm.load(arm)
    result = design_excitation(model, replace(SHORT, guesses=3, iterations=8, **options))
    assert result.objective < result.first_objective
    assert_feasible(model, result)


def test_a_motion_between_two_poses_stays_feasible():
    model = Arm.load('crs_a465')
    start, end = np.array([-1.0, 0.8, -0.8]), np.array([1.0, 0.9, -0.6])
    result = design_excitation(model, replace(SHORT, kind='cosine_polynomial', iterations=6),
                               start=start, end=end)
    motion = result.excitation.trajectory(2)         # there and back
    np.testing.assert_allclose(motion.sample(10.0).q, end, atol=1e-9)
    np.testing.assert_allclose(motion.sample(20.0).q, start, atol=1e-9)
    assert check_motion(motion, Limits.of(model), model, step=0.02) == []


def test_an_arm_known_by_its_urdf_alone_starts_in_the_middle_of_its_range(laas4):
    bare = Arm(laas4.urdf, laas4.joint_names, tool_frame='tool', name='bare')
    result = design_excitation(bare, replace(SHORT, guesses=3, iterations=6))
    assert result.excitation.start == (0.0, 0.0, 0.0, 0.0)
    assert result.excitation.quality.torque_noise == pytest.approx(0.01 * bare.effort_limits)
    assert_feasible(bare, result)


def test_sqp_keeps_linear_limits_at_every_step_and_restores_nonlinear_ones(laas4):
    problem = make_problem(laas4)
    rng, still = np.random.default_rng(2), np.zeros(problem.size)
    y = still
    while max(problem.value(y)[1].values()) < 1.0:   # until 0.1 m through the floor or itself
        y = 100.0 * rng.normal(size=problem.size)
        y *= 0.9 * problem.longest_step(still, y)
    seen = []
    Minimiser(problem, y).run(25, seen.append, lambda: False)
    assert all(np.abs(problem.linear_values(point.y)).max() <= 1.0 + 1e-9 for point in seen)
    assert seen[-1].violation < 2e-3


def test_problem_gradient_and_rows_match_finite_differences(laas4):
    problem = make_problem(laas4)
    y = first_guess(problem, np.random.default_rng(0)).y
    step = problem.step_data(y)
    d = np.random.default_rng(1).normal(size=problem.size)
    d *= 1e-5 / np.linalg.norm(d)
    slope = (problem.value(y + d)[0] - problem.value(y - d)[0]) / 2
    assert step.gradient @ d == pytest.approx(slope, rel=1e-3, abs=1e-8)
    kinds = {rows.kind for rows in step.rows}
    assert kinds >= {'floor', 'self-distance'}
    for rows in step.rows:
        worst = int(rows.c.argmax())
        ahead, behind = (problem.value(y + sign * d)[1][rows.kind] for sign in (1, -1))
        assert rows.c[worst] == pytest.approx(problem.value(y)[1][rows.kind], abs=1e-9)
        assert rows.J[worst] @ d == pytest.approx((ahead - behind) / 2, rel=1e-2, abs=1e-8)


def test_repair_shrinks_a_motion_that_breaks_between_the_samples(laas4):
    constraints = Constraints.of(laas4)
    problem = make_problem(laas4, constraints)
    verifier = Verifier(laas4, constraints, problem.shape.start)
    y = first_guess(problem, np.random.default_rng(0)).y
    assert verifier.repair(problem, y) == 1.0
    too_large = 1.3 * y
    count = 10 * len(problem.times)
    assert verifier.violations(problem.shape, problem.coefficients(too_large), count)
    scale = verifier.repair(problem, too_large)
    assert scale < 1.0
    assert not verifier.violations(problem.shape, problem.coefficients(scale * too_large), count)


def test_errors_say_what_to_change(laas4):
    with pytest.raises(ArmsenseError, match='start pose: joint2 at 1.9 rad is outside of -1.8'):
        design_excitation(laas4, SHORT, start=np.array([0.0, 1.9, 0.0, 0.0]))
    with pytest.raises(ArmsenseError, match='link1 is at 0.025 m in the start pose, below'):
        design_excitation(laas4, SHORT, Constraints.of(laas4, floor=0.05))
    with pytest.raises(BadValue, match=r'use of the limits is 1\.5'):
        Constraints.of(laas4, 1.5)
    with pytest.raises(BadValue, match=r'shape of the start pose is \(3,\)'):
        design_excitation(laas4, SHORT, start=np.zeros(3))
    limits = replace(Limits.of(laas4), torque=np.zeros(4))
    with pytest.raises(BadValue, match='torque limit of joint1 is 0.0'):
        Constraints(limits=limits)


def assert_feasible(model, result):
    excitation = result.excitation
    used = excitation.limits
    names = ('lower', 'upper', 'velocity', 'acceleration', 'jerk', 'torque')
    limits = replace(Limits.of(model), **{name: np.array(getattr(used, name)) for name in names})
    motion = excitation.trajectory(1)
    assert check_motion(motion, limits, model, step=0.013) == []
    assert Clearance(model, floor=0.0, self_distance=0.02).check(motion, 0.07) == []


def test_motors_behind_springs_have_room_to_be_faster_than_their_links():
    limits = Limits.of(Arm.load('biorob'))
    for use, share in ((0.9, 0.7), (0.5, 0.5)):
        kept = Constraints.of(Arm.load('biorob'), use).limits
        np.testing.assert_allclose(kept.velocity, share * limits.velocity)
        np.testing.assert_allclose(kept.torque, use * limits.torque)
