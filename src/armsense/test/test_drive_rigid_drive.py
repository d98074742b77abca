import numpy as np
import pytest

from armsense.drive import DriveReading, FrictionModel, RigidDrive, torque_constant
from armsense.errors import BadValue
from armsense.model import ArmConfig


def reading(current, dq):
    zero = np.zeros(4)
    return DriveReading(zero, dq, current, zero, dq)


# Thesis 004, table 4.1: K_v, K_i, I_max, tau_max.
@pytest.mark.parametrize(('kv', 'printed', 'current', 'torque'), [
    (300.0, 0.027, 9.0, 0.243), (380.0, 0.022, 16.0, 0.352), (300.0, 0.027, 20.0, 0.54)])
def test_torque_constant_as_printed(kv, printed, current, torque):
    # The table rounds (300 rpm/V) or cuts (380 rpm/V gives 0.02176) to the millinewtonmetre.
    assert torque_constant(kv) == pytest.approx(printed, abs=6e-4)
    assert torque_constant(kv) * current == pytest.approx(torque, rel=0.025)


@pytest.mark.parametrize('arm', ['laas4', 'biorob'])
def test_config_and_drive_agree_on_the_torque_constant(arm):
    for joint in ArmConfig.load(arm).joints.values():
        if joint.torque_constant is None:
            assert joint.motor_torque_constant == pytest.approx(torque_constant(joint.kv))


@pytest.mark.parametrize('kv', [0.0, -1.0, float('nan')])
def test_bad_kv_is_refused(kv):
    with pytest.raises(BadValue, match='kv'):
        torque_constant(kv)


def test_link_torque_of_a_moving_joint():
    drive = RigidDrive.from_config(ArmConfig.load('laas4'))
    torque = drive.link_torque(reading(np.array([2.0, 0.0, -1.0, 0.0]),
                                       np.array([1.0, 0.0, -1.0, 0.0])))
    kt = 1.5 / np.sqrt(3) * 60 / (2 * np.pi) / 300
    assert torque[0] == pytest.approx(kt * 31 * 2.0 - 6.45e-6 * 31**2 - 0.247, rel=1e-4)
    assert torque[2] == pytest.approx(-kt * 31 + 2.42e-6 * 31**2 + 0.122, rel=1e-4)
    assert torque[1] == torque[3] == 0.0


def test_current_and_torque_are_inverse():
    drive = RigidDrive.from_config(ArmConfig.load('laas4'))
    rng = np.random.default_rng(3)
    for _ in range(50):
        torque, dq = rng.normal(size=4), rng.normal(size=4)
        answer = drive.motor_current(torque, dq)
        assert not answer.saturated
        np.testing.assert_allclose(drive.link_torque(reading(answer.current, dq)), torque)


def test_saturation_stops_at_the_current_limit():
    drive = RigidDrive.from_config(ArmConfig.load('laas4'))
    answer = drive.motor_current(np.array([100.0, -100.0, 0.1, 0.0]))
    assert answer.saturated
    np.testing.assert_allclose(answer.current[:2], [20.0, -16.0])
    assert answer.current[2] < 1.0


def test_identified_friction_replaces_that_of_the_yaml():
    config = ArmConfig.load('laas4')
    none = FrictionModel.from_config(config).only(np.zeros(4))
    drive = RigidDrive.from_config(config, friction=none)
    assert (drive.link_torque(reading(np.zeros(4), np.ones(4))) == 0.0).all()
