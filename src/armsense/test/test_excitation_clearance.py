"""Capsule distances and chain kinematics against Pinocchio, its exact shapes, and brute force."""

import numpy as np
import pytest

from armsense.errors import ArmsenseError
from armsense.excite.clearance_rows import Chain, ClearanceRows
from armsense.excite.constraints import BaseCylinder, Constraints
from armsense.geometry.capsules import arm_capsules, closest_points
from armsense.model import Arm
from armsense.trajectory import Clearance

ARMS = ('laas4', 'crs_a465', 'tudor')


def random_poses(model, count, seed=0):
    return np.random.default_rng(seed).uniform(-1.5, 1.5, (count, model.n))


@pytest.mark.parametrize('arm', ['laas4', 'biorob', 'crs_a465', 'zeego'])
def test_points_and_their_derivatives_are_those_of_pinocchio(arm):
    model = Arm.load(arm)
    chain, q = Chain(model), random_poses(model, 5)
    place = chain.place(q)
    zero = np.zeros(model.n)
    for k, link in enumerate(model.link_names):
        pose = model.frame_pose(zero, link)
        point = np.array([0.1, -0.2, 0.3])
        at_zero = (pose @ [*point, 1.0])[:3]
        where = chain.points(place, np.array([k + 1]), at_zero[None])[:, 0]
        J = chain.derivative(place, np.arange(5), np.full(5, k + 1), where)
        for i in range(5):
            np.testing.assert_allclose(where[i], (model.frame_pose(q[i], link)
                                                  @ [*point, 1.0])[:3], atol=1e-12)
            np.testing.assert_allclose(J[i], model.point_jacobian(q[i], link, point), atol=1e-12)


def test_closest_points_of_segments_are_those_of_a_search():
    rng = np.random.default_rng(1)
    s = np.linspace(0.0, 1.0, 401)
    for _ in range(30):
        a, b, c, d = rng.normal(size=(4, 3))
        if rng.random() < 0.3:
            d = c + 0.7 * (b - a)                  # parallel
        p, r = closest_points(a, b, c, d)
        on_first = a + s[:, None] * (b - a)
        on_second = c + s[:, None] * (d - c)
        least = np.linalg.norm(on_first[:, None] - on_second[None], axis=2).min()
        found = np.linalg.norm(p - r)
        assert found <= least + 1e-9
        assert found >= least - 0.02


@pytest.mark.parametrize('arm', ARMS)
def test_capsules_are_never_further_apart_than_the_shapes(arm):
    model = Arm.load(arm)
    home, q = np.array(model.config.home), random_poses(model, 60)
    rows = ClearanceRows(model, home, Constraints.of(model, floor=None, self_distance=0.0))
    exact = Clearance(model, floor=None, self_distance=0.0)
    [group] = rows.groups(q)[1]
    distance = np.array([exact.smallest_distance(pose)[0] for pose in q])
    assert group.kind == 'self-distance'
    slack = distance - group.value.min(axis=1)
    assert slack.min() > -1e-6
    # Where shapes intersect, solvers disagree on how deep; apart, capsules are a tight hull.
    apart = distance > 0.05
    radii = sorted(c.radius for c in arm_capsules(model))
    assert np.median(slack[apart]) < radii[-1] + radii[-2]


@pytest.mark.parametrize('arm', ARMS)
def test_heights_are_never_above_those_of_the_shapes(arm):
    model = Arm.load(arm)
    home, q = np.array(model.config.home), random_poses(model, 60)
    floor = -5.0                                    # low enough to keep every link
    rows = ClearanceRows(model, home, Constraints.of(model, floor=floor, self_distance=0.0))
    group = rows.groups(q)[1][0]
    exact = np.array([Clearance(model, floor=None, self_distance=0.0).lowest_point(pose)[0]
                      for pose in q[:20]])
    assert group.kind == 'floor'
    assert np.all(group.value[:20].min(axis=1) + floor <= exact + 1e-9)


def test_gradients_match_finite_differences():
    model = Arm.load('laas4')
    rows = ClearanceRows(model, np.array(model.config.home),
                         Constraints.of(model, base_cylinder=BaseCylinder(0.1)))
    q, h = random_poses(model, 40, seed=2), 1e-6
    place, groups = rows.groups(q)
    assert [g.kind for g in groups] == ['floor', 'self-distance', 'base cylinder']
    rng = np.random.default_rng(3)
    for number, group in enumerate(groups):
        sample, row = np.arange(40), rng.integers(0, group.value.shape[1], 40)
        gradient = rows.gradient(place, group, sample, row)
        for j in range(model.n):
            step = h * np.eye(model.n)[j]
            above, below = (rows.groups(q + sign * step)[1][number].value[sample, row]
                            for sign in (1, -1))
            np.testing.assert_allclose(gradient[:, j], (above - below) / (2 * h), atol=1e-6)


def test_base_cylinder_is_a_radius_about_the_first_axis():
    model = Arm.load('crs_a465')
    away = np.array([0.0, 0.0, -1.0])
    rows = ClearanceRows(model, away, Constraints.of(model, floor=None,
                                                     base_cylinder=BaseCylinder(0.33)))
    q = random_poses(model, 30)
    group = next(g for g in rows.groups(q)[1] if g.kind == 'base cylinder')
    tool = group.names.index('tool-base cylinder')
    radius = np.array([np.hypot(*model.frame_pose(pose)[:2, 3]) for pose in q])
    np.testing.assert_allclose(group.value[:, tool], radius - 0.33, atol=1e-12)
    with pytest.raises(ArmsenseError, match='the tool is within the base cylinder of 2 m'):
        ClearanceRows(model, away, Constraints.of(model, floor=None,
                                                  base_cylinder=BaseCylinder(2.0)))


def test_one_capsule_per_shape_with_its_link():
    capsules = arm_capsules(Arm.load('laas4'))
    assert [(c.name, c.link) for c in capsules] == [
        ('base_link', 0), ('link1', 1), ('link2', 2), ('link3', 3), ('link4', 4)]
    upper = capsules[2]                             # cylinder of 0.30 m and radius 25 mm
    assert upper.radius == pytest.approx(0.025)
    assert np.linalg.norm(upper.b - upper.a) == pytest.approx(0.30)
