from dataclasses import replace

import numpy as np
import pytest

from armsense.drive import FrictionModel, RigidDrive
from armsense.model import ArmConfig
from armsense.types import ArmState


def moving(current, dq):
    config = ArmConfig.load('laas4')
    gain = np.array([joint.torque_per_ampere for joint in config.joints.values()])
    return ArmState.rigid(np.zeros(4), dq, gain * current)


# Thesis 004, table 4.1: K_v, K_i, I_max, tau_max.
@pytest.mark.parametrize(('kv', 'printed', 'current', 'torque'), [
    (300.0, 0.027, 9.0, 0.243), (380.0, 0.022, 16.0, 0.352), (300.0, 0.027, 20.0, 0.54)])
def test_torque_constant_as_printed(kv, printed, current, torque):
    # The table rounds (300 rpm/V) or cuts (380 rpm/V gives 0.02176) to the millinewtonmetre.
    joint = replace(ArmConfig.load('laas4').joints['joint1'], kv=kv, torque_constant=None)
    assert joint.motor_torque_constant == pytest.approx(printed, abs=6e-4)
    assert joint.motor_torque_constant * current == pytest.approx(torque, rel=0.025)


def test_link_torque_of_a_moving_joint():
    drive = RigidDrive.from_config(ArmConfig.load('laas4'))
    torque = drive.link_torque(moving(np.array([2.0, 0.0, -1.0, 0.0]),
                                       np.array([1.0, 0.0, -1.0, 0.0])))
    kt = 1.5 / np.sqrt(3) * 60 / (2 * np.pi) / 300
    assert torque[0] == pytest.approx(kt * 31 * 2.0 - 6.45e-6 * 31**2 - 0.247, rel=1e-4)
    assert torque[2] == pytest.approx(-kt * 31 + 2.42e-6 * 31**2 + 0.122, rel=1e-4)
    assert torque[1] == torque[3] == 0.0


def test_identified_friction_replaces_that_of_the_yaml():
    config = ArmConfig.load('laas4')
    none = FrictionModel.from_config(config).only(np.zeros(4))
    drive = RigidDrive.from_config(config, friction=none)
    assert (drive.link_torque(moving(np.zeros(4), np.ones(4))) == 0.0).all()
