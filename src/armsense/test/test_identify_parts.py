"""Friction columns, validation figures."""

import numpy as np
import pytest

from armsense.errors import BadValue, UnknownName
from armsense.identify.friction.columns import DriveColumns
from armsense.identify.signals.filters import correlation_factor, torque_error, whiteness


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


@pytest.mark.parametrize(('terms', 'values', 'brakes'), [
    (('coulomb', 'quadratic'), (1.0, 0.1), True),
    (('coulomb', 'quadratic'), (1.0, -0.5), False),
    (('coulomb', 'quadratic'), (1.0, -0.08), False),     # drives from 3.5 rad/s on
    (('viscous', 'coulomb', 'sqrt'), (0.1, -0.05, 1.0), False),   # below 2.5 mrad/s
    (('viscous', 'coulomb', 'sqrt'), (0.1, 1.0, -0.3), True),
    (('viscous', 'coulomb', 'stribeck'), (0.1, 1.0, -1.2), False),
    (('viscous', 'coulomb', 'load', 'load_viscous'), (0.1, 1.0, 0.1, -0.05), False),
    (('viscous', 'coulomb', 'load', 'load_viscous'), (0.1, 1.0, 0.1, 0.05), True)])
def test_friction_may_only_brake_at_any_speed_and_load(terms, values, brakes):
    drive = DriveColumns(np.eye(1), terms)
    assert drive.brakes(np.array(values), np.array([3.0])) is brakes
    v = np.geomspace(1e-3, 3.6, 500)[:, None]
    power = [(drive.columns(v, v, load * np.ones_like(v)) @ np.array(values)) * v
             for load in (0.0, 300.0)]
    assert (np.min(power) >= 0.0) is np.bool_(brakes)


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
