import numpy as np
import pytest
from scipy.integrate import quad

from armsense.drive import GravityOffset, make_drive, MixedDrive, StrainLink
from armsense.errors import ArmsenseError
from armsense.model import Arm, ArmConfig
from armsense.types import ArmState

L, EI, Y_B = 0.39278, 16.48, 0.002
RHO, X_S, G = 0.471, 0.03, 9.81
MOTOR, CLAMP = 0.8, 0.06   # [kg] at the ends of blades 2 and 3


def reading(strain, q=(0.0, 0.0, 0.0)):
    zero = np.zeros(3)
    return ArmState.rigid(np.asarray(q, float), zero, strain=strain)


def bending_moment(x, length, weight, force, torque=0.0):
    """Load torque along a cantilever (paper 001, eqs. 1-4) [Nm]."""
    rest = length - x
    return 0.5 * weight * rest**2 + force * rest + torque


def test_bending_moment_is_the_integral_of_its_loads():
    weight, force, torque = 4.6, 8.0, 0.7
    for x in (0.0, 0.1, 0.3):
        expected = quad(lambda s, x=x: weight * (s - x), x, L)[0] + force * (L - x) + torque
        assert bending_moment(x, L, weight, force, torque) == pytest.approx(expected)


def test_offset_between_joint_and_gauge_is_eq_6_without_its_EI():
    weight, force = 4.6, 8.0
    difference = bending_moment(0.0, L, weight, force) - bending_moment(X_S, L, weight, force)
    assert difference == pytest.approx(weight * (L * X_S - X_S**2 / 2) + force * X_S)


def test_gain_is_EI_over_y_b():
    drive = StrainLink.from_config(ArmConfig.load('tudor'))
    np.testing.assert_allclose(drive.gain, [0.0, EI / Y_B, EI / Y_B])
    torque = drive.link_torque(reading(np.array([1.0, 1e-4, -2e-4])))
    np.testing.assert_allclose(torque, [0.0, 0.824, -1.648])


@pytest.mark.parametrize('q', [(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.8, -0.8),
                               (0.4, 1.2, 0.9)])
def test_gravity_offset_of_tudor(q):
    """By hand: link 2 carries its blade, the motor, the blade and clamp of link 3."""
    config = ArmConfig.load('tudor')
    offset = GravityOffset(Arm.load(config), config)(np.array(q))
    blade = RHO * L
    lever3 = (blade + CLAMP) * X_S - 0.5 * RHO * X_S**2
    lever2 = (2 * blade + CLAMP + MOTOR) * X_S - 0.5 * RHO * X_S**2
    expected = [0.0, G * lever2 * np.cos(q[1]), G * lever3 * np.cos(q[1] + q[2])]
    np.testing.assert_allclose(offset, expected, atol=2e-4)


def test_strain_and_torque_are_inverse():
    config = ArmConfig.load('tudor')
    drive = StrainLink.from_config(config, Arm.load(config))
    q, torque = np.array([0.3, 0.5, -0.2]), np.array([0.0, 3.0, -0.5])
    strain = drive.strain(torque, q)
    np.testing.assert_allclose(drive.link_torque(reading(strain, q)), torque)


def test_resting_arm_shows_its_gravity_torque():
    """Strain from beam theory in, gravity torque of the rigid model out."""
    config = ArmConfig.load('tudor')
    model = Arm.load(config)
    q = np.array([0.0, 0.4, -0.9])
    c2, c3 = np.cos(q[1]), np.cos(q[1] + q[2])
    outer = (RHO * L + CLAMP) * G
    end = outer_moment = bending_moment(0.0, L, RHO * G * c3, CLAMP * G * c3)
    moment3 = bending_moment(X_S, L, RHO * G * c3, CLAMP * G * c3)
    moment2 = bending_moment(X_S, L, RHO * G * c2, (MOTOR * G + outer) * c2, end)
    strain = Y_B / EI * np.array([0.0, moment2, moment3])
    torque = StrainLink.from_config(config, model).link_torque(reading(strain, q))
    np.testing.assert_allclose(torque[1:], model.gravity_torque(q)[1:], rtol=1e-3)
    assert torque[2] == pytest.approx(outer_moment, rel=1e-3)


def test_missing_strain_is_named():
    with pytest.raises(ArmsenseError, match='strain'):
        StrainLink.from_config(ArmConfig.load('tudor')).link_torque(reading(None))


def test_tudor_mixes_a_rigid_joint_with_elastic_links():
    config = ArmConfig.load('tudor')
    drive = make_drive(config)
    assert isinstance(drive, MixedDrive)
    zero = np.zeros(3)
    torque = drive.link_torque(ArmState.rigid(zero, zero, np.ones(3), np.array([0.0, 1e-4, 1e-4])))
    assert torque[0] == pytest.approx(1.0)
    np.testing.assert_allclose(torque[1:], EI / Y_B * 1e-4)
