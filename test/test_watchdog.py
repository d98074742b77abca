"""SIGKILL of the driver in real time: the boards' own watchdog stops the arm."""

import os
import re
import signal
import time

from arm_system import arm_system

from armsense_msgs.msg import DriverMode

TIMEOUT = 50     # [ms] of the boards, config/arms/laas4.yaml


def test_a_killed_driver_is_met_by_the_watchdog():
    with arm_system(alone=True, observer='false') as (client, supervisor):
        client.wait_mode(DriverMode.ENABLED)
        time.sleep(0.5)
        os.kill(supervisor.pid('motor_board'), signal.SIGKILL)
        lines = [supervisor.wait_for_line(rf'board {board} tripped at .* receive_timeout', 10.0,
                                          name='simulator') for board in (0, 1)]
    silences = [int(re.search(r'(\d+) ms after', line.text).group(1)) for line in lines]
    assert silences == [TIMEOUT, TIMEOUT]
    assert supervisor.exit_code == 1
