"""The end of a driver in real time: told to, it brakes; killed, the boards' watchdog stops."""

import os
import re
import signal
import time

from arm_system import arm_system
import pytest

from armsense_msgs.msg import DriverMode

TIMEOUT = 50     # [ms] of the boards, config/arms/laas4.yaml


@pytest.mark.timing
def test_a_killed_driver_is_met_by_the_watchdog():
    with arm_system(alone=True, observer='false', process='many') as (client, supervisor):
        client.wait_mode(DriverMode.ENABLED)
        time.sleep(0.5)
        os.kill(supervisor.pid('motor_board'), signal.SIGKILL)
        lines = [supervisor.wait_for_line(rf'board {board} tripped at .* receive_timeout', 10.0,
                                          name='simulator') for board in (0, 1)]
    silences = [int(re.search(r'(\d+) ms after', line.text).group(1)) for line in lines]
    assert silences == [TIMEOUT, TIMEOUT]
    assert supervisor.exit_code == 1


@pytest.mark.timing
def test_a_driver_that_is_told_to_end_brakes_the_arm_before_it_lets_go():
    with arm_system(alone=True, observer='false', process='many') as (client, supervisor):
        client.wait_mode(DriverMode.ENABLED)
        time.sleep(0.5)
        pid = supervisor.pid('motor_board')
        for _ in range(2):                 # `ros2 launch` passes on what the terminal has sent
            os.kill(pid, signal.SIGINT)
        supervisor.wait_for_line('motor_board finished', 20.0)
        client.wait(lambda: client.modes[-1].mode == DriverMode.DISABLED, 10.0, 'the last word')
        modes = [message.mode for message in client.modes]
        braking = client.modes[-2]
    assert modes[-3:] == [DriverMode.ENABLED, DriverMode.DAMPING, DriverMode.DISABLED]
    assert (braking.fault, 'brakes the arm until it rests' in braking.explanation) == ('', True)
    assert not any('tripped' in line.text for line in supervisor.lines)
