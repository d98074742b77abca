"""Sudden torques out of encoder counts, against MuJoCo's dynamics and scipy's Riccati equation."""

from functools import lru_cache
from typing import NamedTuple

import mujoco
import numpy as np
import pytest
import scipy.linalg

from armsense.detector import Detector, fit_watched, fixed_thresholds, Onset, ONSETS, OnsetTest
from armsense.detector.contact import estimate_contact, link_probabilities
from armsense.drive import FrictionModel, RigidDrive
from armsense.errors import BadValue
from armsense.geometry.capsules import link_capsules
from armsense.model import Arm
from armsense.model.arm_config import FrictionConfig
from armsense.observer import CountFilter
from armsense.types import ArmState
from armsense.velocity import WeightedRegression
from armsense.watch.state_estimator import VelocityOptions

PERIOD = 1e-3
MODEL = Arm.load('laas4')
DRIVE = RigidDrive(np.ones(4), FrictionModel.from_joints([FrictionConfig()] * 4))
JOINTS = list(MODEL.config.joints.values())
STEP = np.array([2 * np.pi / (j.motor_encoder.counts * j.gear_ratio) for j in JOINTS])
NOISE = np.array([j.current_sensor.noise * j.torque_per_ampere for j in JOINTS])
PUSH = np.array([0.0, 1.0, 0.4, 0.2])   # [Nm]


class Counts(NamedTuple):
    q: np.ndarray      # (N, n) counts, as angles
    dq: np.ndarray     # (N, n) true
    tau: np.ndarray    # (N, n) held over the step that ends here


@lru_cache(maxsize=4)
def moving(count, push_at=None, speed=1.0, seed=5) -> Counts:
    """Joints swing at different speeds; from a sample on, somebody pushes."""
    spec = mujoco.MjSpec.from_string(MODEL.urdf)
    spec.compiler.fusestatic = spec.compiler.balanceinertia = False
    plant = spec.compile()
    plant.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    plant.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_LIMIT
    plant.opt.integrator, plant.opt.timestep = mujoco.mjtIntegrator.mjINT_RK4, PERIOD
    plant.dof_armature[:], plant.opt.gravity[:] = MODEL.armature, MODEL.gravity
    data, rng = mujoco.MjData(plant), np.random.default_rng(seed)
    home = np.array(MODEL.config.home)
    data.qpos[:] = home
    rows = []
    for k in range(count):
        wanted = home + speed * 0.4 * np.sin(np.array([2.0, 3.0, 4.0, 5.0]) * k * PERIOD)
        q, dq = data.qpos.copy(), data.qvel.copy()
        tau = MODEL.gravity_torque(q) + MODEL.mass_matrix(q) @ (100.0 * (wanted - q) - 20.0 * dq)
        pushed = push_at is not None and k >= push_at
        data.qfrc_applied[:] = tau + (PUSH if pushed else 0.0)
        mujoco.mj_step(plant, data)
        rows.append((np.floor(data.qpos / STEP) * STEP, data.qvel.copy(),
                     tau + NOISE * rng.standard_normal(4)))
    return Counts(*map(np.array, zip(*rows, strict=True)))


def states(counts):
    return [ArmState.rigid(q, dq, tau) for q, dq, tau in zip(*counts, strict=True)]


def make_test(levels=()):
    return OnsetTest(MODEL, DRIVE, PERIOD, 0.02, levels)


def statistics(counts):
    test, out = make_test(), []
    for state in states(counts):
        test.step(state, PERIOD)
        out.append(test.statistic)
    return np.array(out)


def test_covariance_is_that_of_the_riccati_equation():
    filter_ = CountFilter(MODEL, DRIVE, PERIOD, 0.02)
    q = np.array(MODEL.config.home)
    rest = ArmState.rigid(q, np.zeros(4), MODEL.gravity_torque(q))
    for _ in range(6000):
        innovation = filter_.step(rest, PERIOD)
    limit = np.array([j.torque_limit for j in JOINTS])
    options, eye, zero = filter_.options, np.eye(4), np.zeros((4, 4))
    B = PERIOD * np.linalg.inv(MODEL.mass_matrix(q))
    F = np.block([[eye, PERIOD * eye, PERIOD * B], [zero, eye, B], [zero, zero, eye]])
    G = np.vstack([PERIOD * B, B, zero])
    Q = G @ np.diag(NOISE**2 + (options.torque_noise * limit)**2) @ G.T
    Q[8:, 8:] += np.diag((options.drift * limit)**2 * PERIOD)
    R = 200.0 * np.diag(STEP**2) / 12.0   # an arm that stands crosses no edge
    H = np.hstack([eye, zero, zero])
    P = scipy.linalg.solve_discrete_are(F.T, H.T, Q, R)
    W = innovation.whitening
    np.testing.assert_allclose(np.linalg.inv(W.T @ W), H @ P @ H.T + R, rtol=1e-3, atol=1e-14)


def test_the_filter_finds_the_velocity_of_coarse_counts():
    counts, filter_ = moving(3000), CountFilter(MODEL, DRIVE, PERIOD, 0.02)
    error = []
    for state, true in zip(states(counts), counts.dq, strict=True):
        filter_.step(state, PERIOD)
        error.append(filter_.dq - true)
    regression = WeightedRegression(4, VelocityOptions().window, PERIOD).batch(counts.q)
    others = regression[500:] - counts.dq[len(counts.dq) - len(regression) + 500:]
    assert (np.std(error[500:], axis=0) < np.std(others, axis=0)).all()


def test_the_statistic_is_stationary_over_speed_direction_and_rest():
    fast, slow, rest = (statistics(moving(4000, None, speed))[300:] for speed in (1.0, 0.1, 0.0))
    dq = moving(4000, None, 1.0).dq[300:, 1]
    everywhere = np.quantile(np.concatenate([fast, slow]), 0.99, axis=0)
    for part in (fast[dq > 0.2], fast[dq < -0.2], fast[np.abs(dq) < 0.2], slow):
        assert (np.quantile(part, 0.99, axis=0) < 1.35 * everywhere).all()
        assert (np.quantile(part, 0.99, axis=0) > 0.65 * everywhere).all()
    # No edge, no information: an arm that stands may only be quieter.
    assert (np.quantile(rest, 0.99, axis=0) < 1.35 * everywhere).all()


def test_a_sudden_torque_is_found_with_its_size():
    levels = 1.5 * statistics(moving(4000))[300:].max(axis=0)
    test, begin = make_test(levels), 1500
    onsets = [test.step(state, PERIOD) for state in states(moving(2000, begin))]
    k = next(k for k, onset in enumerate(onsets) if onset is not None)
    onset = onsets[k]
    assert 0 <= k - begin <= 10
    assert abs(onset.age - (k - begin + 1) * PERIOD) <= 0.008
    spread = np.sqrt(np.diag(onset.covariance))
    assert (np.abs(onset.torque - PUSH) < 4.0 * spread).all()
    assert onset.ratio > 1.0


def test_pauses_nan_and_repeated_states():
    levels = 1.5 * statistics(moving(4000))[300:].max(axis=0)
    rows = states(moving(2000))
    test = make_test(levels)
    for state in rows[:600]:
        assert test.step(state, PERIOD) is None
    before = test.statistic
    assert test.step(rows[599], 0.0) is None          # the same state again
    assert (test.statistic == before).all()
    assert test.step(rows[600], 0.5) is None          # a pause: begins anew
    assert (test.statistic == 0.0).all()
    bad = rows[601]._replace(tau=np.full(4, np.nan))
    assert test.step(bad, PERIOD) is None
    for state in rows[602:]:
        assert test.step(state, PERIOD) is None
    assert test.statistic.all()
    with pytest.raises(BadValue, match='number of onset levels'):
        make_test((1.0, 2.0))


def an_onset(torque=(0.0, 1.0, 0.0, 0.0)):
    return Onset(0.004, np.array(torque), 0.01 * np.eye(4), 1.3)


def armed():
    detector = Detector(fixed_thresholds([1.0] * 4))
    for _ in range(300):
        assert detector.step(np.zeros(4), np.zeros(4), PERIOD) is None
    return detector


def test_an_onset_is_one_collision():
    detector, zero = armed(), np.zeros(4)
    found = detector.step(zero, zero, PERIOD, onset=an_onset())
    assert (found.joint, found.direction, found.margin) == (1, 1, 1.3)
    np.testing.assert_array_equal(found.new, an_onset().torque)
    for _ in range(100):                              # the residual follows: the same contact
        assert detector.step(np.array([0.0, 2.0, 1.5, 0.0]), zero, PERIOD) is None
    assert detector.lasting.tolist() == [False, True, True, False]


def test_a_weak_onset_is_over_when_the_contact_has_settled():
    detector, zero = armed(), np.zeros(4)
    assert detector.step(zero, zero, PERIOD, onset=an_onset()) is not None
    for _ in range(190):
        assert detector.step(zero, zero, PERIOD, onset=an_onset()) is None
        assert detector.tripped
    for _ in range(20):
        detector.step(zero, zero, PERIOD)
    assert not detector.tripped
    assert detector.step(zero, zero, PERIOD, onset=an_onset()) is not None


def test_intended_and_lasting_contacts_leave_the_decision_to_residuals():
    detector, zero = armed(), np.zeros(4)
    detector.allow_contact(0.05)
    for _ in range(49):
        assert detector.step(zero, zero, PERIOD, onset=an_onset()) is None
    lasting, found = np.array([0.0, 3.0, 0.0, 0.0]), []
    for _ in range(600):
        found.append(detector.step(lasting, zero, PERIOD, onset=None))
    assert sum(event is not None for event in found) == 1
    for _ in range(300):
        assert detector.step(lasting, zero, PERIOD, onset=an_onset()) is None


def test_levels_share_the_rate_with_the_thresholds():
    rng = np.random.default_rng(7)
    sizes = np.linspace(1.0, 3.0, ONSETS)
    table = np.hstack([rng.standard_normal((200_000, 2)),
                       sizes * np.abs(rng.standard_normal((200_000, ONSETS)))])
    both = fit_watched(table, 2, 0.01, 10.0, 0.5)
    alone = fit_watched(table[:, :2], 2, 0.01, 5.0, 0.5)
    assert both.constant == alone.constant
    assert both.rate_per_hour == 10.0
    np.testing.assert_allclose(np.array(both.onset) / sizes, both.onset[0], rtol=0.05)
    assert np.array(both.scaled(2.0).onset) == pytest.approx(2.0 * np.array(both.onset))


def test_probabilities_of_links_are_those_of_the_contact_estimate():
    q, capsules = np.array(MODEL.config.home), link_capsules(MODEL)
    shape = capsules[-1]
    middle = 0.5 * (np.array(shape.start) + np.array(shape.end))
    torque = MODEL.point_jacobian(q, shape.link, middle)[:3].T @ np.array([4.0, 9.0, 3.0])
    noise = np.full(4, 0.02)
    found = link_probabilities(MODEL, q, torque, noise, capsules)
    joint = MODEL.moving_joint(shape.link)
    assert found.sum() == pytest.approx(1.0)
    assert found.argmax() == joint
    estimate = estimate_contact(MODEL, q, torque, noise, capsules, joint)
    assert found[joint] == pytest.approx(estimate.confidence)
