"""Isolation and contact estimate against forces applied through the point Jacobian."""

from functools import lru_cache

import numpy as np
import pytest

from armsense.detector import ContactOptions
from armsense.detector.contact import estimate_contact, isolate, touchable
from armsense.errors import ArmsenseError, BadValue
from armsense.geometry.capsules import LinkCapsule
from armsense.model import Arm

ZERO = (0.0, 0.0, 0.0)


@lru_cache(maxsize=1)
def seven() -> Arm:
    """Seven joints, alternately along the arm and across it; links 0.15 to 0.25 m long."""
    lengths = (0.20, 0.20, 0.25, 0.20, 0.22, 0.15, 0.15)
    parts, parent, offset = ['<link name="base"/>'], 'base', 0.0
    for k, length in enumerate(lengths, 1):
        axis = '0 0 1' if k % 2 else '0 1 0'
        parts.append(
            f'<link name="link{k}"><inertial><origin xyz="0 0 {length / 2}"/><mass value="1"/>'
            '<inertia ixx="0.01" iyy="0.01" izz="0.002" ixy="0" ixz="0" iyz="0"/></inertial>'
            '</link>'
            f'<joint name="joint{k}" type="revolute"><parent link="{parent}"/>'
            f'<child link="link{k}"/><origin xyz="0 0 {offset}"/><axis xyz="{axis}"/>'
            '<limit lower="-3" upper="3" velocity="3" effort="100"/></joint>')
        parent, offset = f'link{k}', length
    return Arm(f'<robot name="seven">{"".join(parts)}</robot>', tool_frame='link7')


SEVEN_CAPSULES = [LinkCapsule(f'link{k}', ZERO, (0.0, 0.0, length), 0.0)
                  for k, length in enumerate((0.20, 0.20, 0.25, 0.20, 0.22, 0.15, 0.15), 1)]
LAAS_CAPSULES = [
    LinkCapsule('link1', (0.0, 0.0, 0.03), (0.0, 0.0, 0.12), 0.0),
    LinkCapsule('link2', (0.03, 0.0, 0.0), (0.32, 0.0, 0.0), 0.0),
    LinkCapsule('link3', (0.0, 0.0, 0.02), (0.0, 0.0, 0.28), 0.0),
    LinkCapsule('link4', (0.02, 0.0, 0.0), (0.095, 0.0, 0.0), 0.0)]


@lru_cache(maxsize=1)
def laas() -> Arm:
    return Arm.load('laas4')


ARMS = pytest.mark.parametrize(
    ('arm', 'capsules'), [(laas, LAAS_CAPSULES), (seven, SEVEN_CAPSULES)], ids=['laas4', 'seven'])


def torque(model, q, capsule, s, force):
    """Joint torques of a force at the axis of a capsule, and the point in the base frame."""
    local = np.array(capsule.start) + s * (np.array(capsule.end) - np.array(capsule.start))
    T = model.frame_pose(q, capsule.link)
    return model.point_jacobian(q, capsule.link, local).T @ force, T[:3, :3] @ local + T[:3, 3]


@ARMS
def test_the_last_loaded_joint_gives_the_link(arm, capsules):
    model, rng = arm(), np.random.default_rng(0)
    threshold = np.full(model.n, 0.02)
    for joint, capsule in enumerate(capsules):
        for _ in range(20):
            q, force = rng.uniform(-1.5, 1.5, model.n), rng.normal(0.0, 20.0, 3)
            tau, _ = torque(model, q, capsule, 0.7, force)
            found = isolate(model, tau, threshold)
            loaded = np.flatnonzero(np.abs(tau) > 0.02)
            if len(loaded) == 0:
                assert found is None
                continue
            assert found.joint == loaded[-1] <= joint
            assert found.link == model.link_names[loaded[-1]]
            assert found.direction == np.sign(tau[loaded[-1]])


def test_a_link_along_its_own_axis_cannot_load_its_joint():
    """Joints 1 and 3 of laas4 turn links about themselves: a load there comes from further out."""
    links = touchable(laas(), LAAS_CAPSULES)
    assert links == (1, 1, 3, 3)
    q, threshold = np.array([0.3, 0.7, 0.4, -0.5]), np.full(4, 0.2)
    # At the hand, along the direction that joint 4 cannot feel.
    axis = laas().jacobian(q, 'link4')[3:, 3]
    tau, _ = torque(laas(), q, LAAS_CAPSULES[3], 0.9, 20.0 * axis)
    assert abs(tau[3]) < 1e-9
    assert abs(tau[2]) > 0.2
    assert isolate(laas(), tau, threshold).link == 'link3'
    found = isolate(laas(), tau, threshold, links=links)
    assert (found.link, found.joint, found.loaded) == ('link4', 3, 2)


def test_every_link_across_its_axis_stands_for_itself():
    assert touchable(seven(), SEVEN_CAPSULES) == (1, 1, 3, 3, 5, 5, 6)


def test_a_force_through_the_axes_is_not_felt():
    q = np.zeros(4)  # the first axis is vertical, the arm hangs in its plane
    tau, _ = torque(laas(), q, LAAS_CAPSULES[0], 0.5, np.array([30.0, 0.0, 0.0]))
    assert isolate(laas(), tau, np.full(4, 1e-6)) is None


def test_a_lower_ratio_names_the_outer_link_sooner():
    residual, threshold = np.array([3.0, 2.0, 0.2, 0.6]), np.ones(4)
    assert isolate(laas(), residual, threshold).joint == 1
    assert isolate(laas(), residual, threshold).runner_up == pytest.approx(0.6)
    assert isolate(laas(), residual, threshold, ratio=0.5).link == 'link4'


@pytest.mark.parametrize('s', [0.0, 0.31, 0.8, 1.0])
@pytest.mark.parametrize('number', [5, 6, 7])
def test_seven_joints_give_force_and_point(s, number):
    """With little noise both are found on the outer links, up to their stated covariance."""
    model, rng, capsule = seven(), np.random.default_rng(number), SEVEN_CAPSULES[number - 1]
    known = 0
    for _ in range(8):
        q, force = rng.uniform(-1.2, 1.2, 7), rng.normal(0.0, 15.0, 3)
        tau, point = torque(model, q, capsule, s, force)
        noise = np.full(7, 1e-3)
        residual = tau + rng.normal(0.0, noise)
        found = estimate_contact(model, q, residual, noise, SEVEN_CAPSULES, number - 1)
        if found.force_observable:
            known += 1
            error = found.force - force
            distance = error @ np.linalg.solve(found.force_covariance + 1e-6 * np.eye(3), error)
            assert distance < 25.0  # chi^2 of three: one in 65000
        if found.point_observable:
            spread = np.sqrt(np.trace(found.point_covariance))
            assert np.linalg.norm(found.point - point) < 4.5 * spread + 1e-3
    assert known >= 6


@ARMS
def test_the_covariances_are_honest(arm, capsules):
    """Drawn from the prior, errors squared average to the stated variances.

    400 draws: the ratio scatters by some 10 %.
    """
    model, rng = arm(), np.random.default_rng(7)
    noise = np.linspace(0.02, 0.01, model.n)
    options = ContactOptions(force_prior=20.0)
    force_error, force_variance, point_error, point_variance = 0.0, 0.0, 0.0, 0.0
    for _ in range(400):
        q = rng.uniform(-1.5, 1.5, model.n)
        joint = int(rng.integers(model.n // 2, model.n))
        force, s = rng.normal(0.0, 20.0, 3), rng.random()
        tau, point = torque(model, q, capsules[joint], s, force)
        outer = capsules[model.n // 2:]
        found = estimate_contact(model, q, tau + rng.normal(0.0, noise), noise, outer, joint,
                                 options)
        force_error += np.sum((found.force - force) ** 2)
        force_variance += np.trace(found.force_covariance)
        point_error += np.sum((found.point - point) ** 2)
        point_variance += np.trace(found.point_covariance)
    assert force_error / force_variance == pytest.approx(1.0, abs=0.3)
    assert point_error / point_variance == pytest.approx(1.0, abs=0.3)


@ARMS
def test_confidence_is_a_probability(arm, capsules):
    """Of the contacts called 'on the last link' with probability p, the share p is there."""
    model, rng = arm(), np.random.default_rng(8)
    noise, options = np.full(model.n, 0.02), ContactOptions(force_prior=20.0)
    pair, claims, true, draws = capsules[-2:], [], 0, 300
    for _ in range(draws):
        q, last = rng.uniform(-1.5, 1.5, model.n), rng.random() < 0.5
        force, s = rng.normal(0.0, 20.0, 3), rng.random()
        tau, _ = torque(model, q, pair[1] if last else pair[0], s, force)
        claims.append(estimate_contact(model, q, tau + rng.normal(0.0, noise), noise, pair,
                                       model.n - 1, options).confidence)
        true += last
    # Standard deviation of the count of true ones, given the claims, is below sqrt(draws) / 2.
    assert abs(sum(claims) - true) < 3.0 * np.sqrt(draws) / 2.0
    assert sum(0.02 < p < 0.98 for p in claims) > 10        # and not all is said to be certain


def test_inner_links_are_not_observable_and_say_so():
    rng = np.random.default_rng(9)
    for joint in (0, 1):
        for _ in range(10):
            q, force = rng.uniform(-1.0, 1.0, 4), rng.normal(0.0, 20.0, 3)
            tau, _ = torque(laas(), q, LAAS_CAPSULES[joint], 0.6, force)
            found = estimate_contact(laas(), q, tau, np.full(4, 0.01), LAAS_CAPSULES, joint)
            assert not found.force_observable
            assert found.joint == joint
            # What is not known stays as wide as the prior.
            assert np.sqrt(np.linalg.eigvalsh(found.force_covariance)[-1]) > 50.0


def test_noise_takes_observability_away():
    q, force = np.array([0.3, -0.4, 0.5, 0.9, -0.3, 0.7, 0.2]), np.array([8.0, -6.0, 5.0])
    tau, _ = torque(seven(), q, SEVEN_CAPSULES[-1], 0.5, force)
    quiet = estimate_contact(seven(), q, tau, np.full(7, 1e-3), SEVEN_CAPSULES, 6)
    loud = estimate_contact(seven(), q, tau, np.full(7, 1.0), SEVEN_CAPSULES, 6)
    assert quiet.force_observable
    assert quiet.point_observable
    assert not loud.force_observable
    assert not loud.point_observable
    np.testing.assert_allclose(quiet.force, force, atol=0.3)


def test_the_point_lies_on_the_side_the_force_comes_from():
    fat = [c._replace(radius=0.05) for c in SEVEN_CAPSULES]
    q = np.array([0.3, -0.4, 0.5, 0.9, -0.3, 0.7, 0.2])
    T = seven().frame_pose(q, 'link7')
    force = T[:3, :3] @ np.array([-10.0, 0.0, 0.0])  # pushes along -x: touched at +x
    tau, axis_point = torque(seven(), q, fat[-1], 0.5, force)
    found = estimate_contact(seven(), q, tau, np.full(7, 1e-4), fat, 6)
    np.testing.assert_allclose(found.point, axis_point + T[:3, :3] @ [0.05, 0.0, 0.0], atol=2e-3)


def test_bad_arguments_are_named():
    q, tau = np.zeros(4), np.ones(4)
    with pytest.raises(ArmsenseError, match='no capsule moves with joint 0'):
        estimate_contact(laas(), q, tau, np.ones(4), LAAS_CAPSULES[1:], 0)
    with pytest.raises(ArmsenseError, match='noise'):
        estimate_contact(laas(), q, tau, np.zeros(4), LAAS_CAPSULES, 1)
    with pytest.raises(ArmsenseError, match='unknown frame'):
        estimate_contact(laas(), q, tau, np.ones(4), [LinkCapsule('lnk', ZERO, (1, 0, 0), 0.0)], 1)
    with pytest.raises(ArmsenseError, match='residual'):
        estimate_contact(laas(), q, tau * np.nan, np.ones(4), LAAS_CAPSULES, 1)


@pytest.mark.parametrize(('residual', 'threshold'), [(3, 3), (5, 5), (4, 5), (5, 4), (4, 1)])
def test_isolation_of_another_number_of_joints_is_refused(residual, threshold):
    with pytest.raises(BadValue, match='shapes of residual, threshold'):
        isolate(laas(), np.ones(residual), np.ones(threshold))


def test_a_joint_at_the_ratio_is_not_loaded():
    residual = np.array([3.0, 2.0, 0.0, 0.5])
    assert isolate(laas(), residual, np.ones(4), ratio=0.5).joint == 1
    assert isolate(laas(), residual, np.full(4, 3.0)) is None
