import numpy as np
import pytest

from armsense.drive import FrictionModel
from armsense.errors import BadValue
from armsense.model import ArmConfig
from armsense.model.arm_config import FrictionConfig

# Thesis 004, table 4.3: viscous friction at the motor, Coulomb friction at the joint; joints 1-4.
B_EQ = np.array([6.45e-6, 3.96e-6, 2.42e-6, 3.96e-6])   # [Nm s]
COULOMB = np.array([0.247, 0.103, 0.122, 0.103])        # [Nm]
GEAR = np.array([31.0, 27.0, 31.0, 27.0])


def stribeck():
    return FrictionModel.from_joints([FrictionConfig(
        viscous=0.2, coulomb=1.0, stribeck=0.5, stribeck_velocity=0.1, smoothing=1e-4,
        asymmetry=0.05)])


def test_laas4_friction_is_that_of_the_printed_table():
    friction = FrictionModel.from_config(ArmConfig.load('laas4'))
    dq = np.array([1.0, -2.0, 0.5, 3.0])
    expected = B_EQ * GEAR**2 * dq + COULOMB * np.sign(dq)
    np.testing.assert_allclose(friction.torque(dq), expected, rtol=1e-3)


@pytest.mark.parametrize(('dq', 'expected'), [
    (0.1, 1.0 + 0.5 / np.e + 0.2 * 0.1 + 0.05),      # at the Stribeck velocity
    (-0.1, -1.0 - 0.5 / np.e - 0.2 * 0.1 + 0.05),
    (5.0, 1.0 + 0.2 * 5.0 + 0.05),                   # the Stribeck part has gone
    (2e-3, 1.5 + 0.05),                              # close to standstill: all of it
    (0.0, 0.05),
])
def test_stribeck_curve(dq, expected):
    assert stribeck().torque(np.array([dq]))[0] == pytest.approx(expected, abs=1e-3)


def test_sign_is_smooth():
    friction = FrictionModel.from_config(ArmConfig.load('laas4'))
    dq = np.linspace(-0.05, 0.05, 2001)[:, None] * np.ones(4)
    jumps = np.abs(np.diff(friction.torque(dq), axis=0))
    assert jumps.max() < 2.0 * COULOMB.max() * 5e-5 / 0.01


def test_friction_takes_energy_without_asymmetry():
    friction = FrictionModel.from_config(ArmConfig.load('biorob'))
    dq = np.random.default_rng(1).normal(size=(500, 4))
    assert (friction.torque(dq) * dq).min() > 0.0


def test_only_keeps_the_selected_joints():
    friction = FrictionModel.from_config(ArmConfig.load('laas4')).only([True, False, True, False])
    torque = friction.torque(np.ones(4))
    assert (torque[[1, 3]] == 0.0).all()
    assert (torque[[0, 2]] > 0.1).all()


def test_zero_smoothing_is_refused():
    one = np.ones(1)
    with pytest.raises(BadValue, match='smoothing'):
        FrictionModel(one, one, one, one, 0.0 * one, one)
