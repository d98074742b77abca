"""Friction columns, ripple, stiffness, payload, validation figures."""

import numpy as np
import pytest

from armsense.errors import BadValue, UnknownName
from armsense.identify.elasticity import EncoderRun, identify_stiffness
from armsense.identify.friction_columns import DriveColumns
from armsense.identify.ripple import find_waves, Line, ripple_columns
from armsense.identify.validation import correlation_factor, torque_error, whiteness


def test_a_coupled_motor_acts_on_both_joints():
    drive = DriveColumns(np.array([[1.0, 0.0], [1.0, 1.0]]), ('viscous', 'load'), 1e-6)
    dq, load = np.array([[0.5, -2.0]]), np.array([[3.0, 1.0]])
    columns = drive.columns(dq, dq, load)[0]
    np.testing.assert_allclose(columns[:, drive.index('viscous')], [[0.5, -1.5], [0.0, -1.5]])
    np.testing.assert_allclose(columns[:, drive.index('load')], [[3.0, -4.0], [0.0, -4.0]])
    assert drive.names == ('viscous1', 'viscous2', 'load1', 'load2')


def test_friction_terms_are_odd_in_velocity_and_known():
    terms = ('viscous', 'coulomb', 'sqrt', 'quadratic', 'stribeck')
    drive = DriveColumns(np.eye(1), terms)
    v = np.array([[0.3]])
    np.testing.assert_allclose(drive.columns(v, v), -drive.columns(-v, v))
    with pytest.raises(UnknownName, match='vicous'):
        DriveColumns(np.eye(1), ('vicous',))


def test_a_torque_measured_behind_the_drive_has_no_terms_of_the_drive():
    drive = DriveColumns(np.eye(2), ())
    assert drive.count == 0
    assert drive.places(()).tolist() == []
    assert drive.columns(np.ones((5, 2)), np.ones((5, 2))).shape == (5, 2, 0)


def test_passivity_rows_tell_friction_that_drives():
    drive = DriveColumns(np.eye(1), ('coulomb', 'quadratic'))
    rows = drive.passivity(np.array([2.0]))
    assert np.all(rows @ np.array([1.0, 0.1]) > 0.0)
    assert np.any(rows @ np.array([1.0, -0.5]) < 0.0)


def test_ripple_is_found_in_noise():
    rng = np.random.default_rng(1)
    q = 1.5 * np.sin(np.linspace(0.0, 20.0, 8000))
    e = 0.3 * np.cos(242.3 * q + 0.7) + rng.standard_normal(8000)
    waves, share = find_waves(q, e)
    assert waves == pytest.approx(242.3, abs=0.5)
    assert share == pytest.approx(0.045 / 1.045, rel=0.4)
    columns = ripple_columns(q[:, None], np.ones((8000, 1)), Line(0, 0, waves))
    assert columns.shape == (8000, 2)


def encoder_run(seed, stiffness=5e6, inertia=800.0, delay=0.0028):
    rng = np.random.default_rng(seed)
    rate = 250.0
    t = np.arange(0.0, 10.0, 1.0 / rate)
    f, phase = rng.uniform(0.15, 0.4, 3), rng.uniform(0.0, 6.0, 3)
    theta = 0.15 * np.sin(2.0 * np.pi * np.multiply.outer(t, f) + phase).sum(axis=1)
    v = np.gradient(theta, 1.0 / rate)
    spring = 2500.0 * np.sin(theta) + 900.0 * np.gradient(v, 1.0 / rate)
    torque = spring + inertia * np.gradient(v, 1.0 / rate) + 400.0 * np.tanh(v / 0.003)
    torque = torque + 20.0 * rng.standard_normal(len(t))
    link = theta - spring / stiffness - delay * v + 2e-5 * np.cos(2.0 * theta)
    link = link + 5e-5 * np.cos(700.0 * theta) + 3e-6 * rng.standard_normal(len(t))
    return EncoderRun(theta, link, torque, rate)


def test_stiffness_beside_delay_friction_and_encoder_waves():
    found = identify_stiffness([encoder_run(seed) for seed in range(3)], 800.0)
    assert found.interval[0] < 5e6 < found.interval[1]
    assert found.value == pytest.approx(5e6, rel=0.1)
    assert found.delay == pytest.approx(0.0028, rel=0.05)
    assert found.spread_percent < 10.0
    with pytest.raises(BadValue, match='number of runs'):
        identify_stiffness([], 1.0)


def test_percent_errors_and_whiteness():
    rng = np.random.default_rng(2)
    tau = rng.standard_normal((4000, 2)) * [1.0, 10.0]
    error = torque_error(tau, 0.9 * tau)
    assert error.percent == pytest.approx(10.0)
    np.testing.assert_allclose(error.joint_percent, 10.0)
    assert whiteness(tau[:, 0]) > 0.01
    slow = np.convolve(tau[:, 0], np.ones(20) / 20.0, 'same')
    assert whiteness(slow) < 1e-6
    assert correlation_factor(tau[:, 0]) < 2.0
    assert 10.0 < correlation_factor(slow) < 40.0
    with pytest.raises(BadValue, match='not all zero'):
        torque_error(np.zeros((40, 2)), tau[:40])
