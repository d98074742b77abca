"""Every simulated arm comes up, enables, streams, holds still and shuts down cleanly."""

from arm_system import arm_system
import numpy as np
import pytest

from armsense.model import ArmConfig
from armsense_msgs.msg import DriverMode


@pytest.mark.parametrize('bus', ['spi', 'can'])
@pytest.mark.parametrize('arm', ['laas4', 'biorob', 'tudor'])
def test_an_arm_comes_up_and_holds(arm, bus):
    config = ArmConfig.load(arm)
    with arm_system(arm=arm, bus=bus, lockstep='true') as (client, supervisor):
        client.wait_mode(DriverMode.ENABLED)
        client.wait(lambda: client.state.seq > 2000, what='two seconds of states')
        state = client.state
        assert client.modes[-1].mode == DriverMode.ENABLED, client.modes[-1]
        assert not client.collisions
        held = state.joint_position if len(state.joint_position) else state.position
        assert np.abs(held - config.home).max() < 0.01   # [rad]
        assert len(state.joint_position) == (config.n if arm == 'biorob' else 0)
        assert len(state.strain) == (config.n if arm == 'tudor' else 0)
    assert supervisor.exit_code == 0, supervisor.last_words
