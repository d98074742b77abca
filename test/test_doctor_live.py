"""The doctor listens to a real running arm."""

import json
import subprocess
import sys

from arm_system import arm_system

from armsense_msgs.msg import DriverMode


def doctor() -> tuple[int, dict]:
    command = [sys.executable, '-m', 'armsense_bringup.workspace.doctor_live', '--json']
    answer = subprocess.run(command, capture_output=True, text=True, timeout=60)
    return answer.returncode, json.loads(answer.stdout)


def test_the_doctor_finds_a_running_arm_well_and_a_stopped_one_not(monkeypatch):
    monkeypatch.setenv('ROS_DOMAIN_ID', '101')   # no nodes of other tests, which it would report
    with arm_system(lockstep='true') as (client, _):
        client.wait_mode(DriverMode.ENABLED)
        code, found = doctor()
        assert (code, found['state'], found['problems']) == (0, 'OK', [])
        assert {'motor_board', 'dynamic_controller', 'collision_observer'} <= set(found['nodes'])
        assert all(rate > 0 for rate in found['rates_hz'].values())
        assert client.call('motor_board/emergency_stop').success
        client.wait_mode(DriverMode.DAMPING)
        code, found = doctor()
        assert (code, found['state']) == (1, 'ERROR')
        assert found['problems'][0].startswith('the driver is in DAMPING: ')
