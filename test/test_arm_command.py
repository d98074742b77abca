"""`./armsense arm` speaks to a running arm as `ros2 service call` would."""

import json

from arm_system import arm_system
import pytest

from armsense_control.arm_command import main
from armsense_msgs.msg import DriverMode


def test_an_arm_is_stopped_cleared_enabled_and_moved(capsys):
    def told(*words: str) -> dict:
        assert main([*words, '--json']) == 0, capsys.readouterr().err
        return json.loads(capsys.readouterr().out.splitlines()[-1])

    with arm_system(lockstep='true', observer='false') as (client, supervisor):
        client.wait_mode(DriverMode.ENABLED)
        before = told('state')
        assert before['mode'] == 'ENABLED'
        told('jog', 'joint2', '0.1')
        after = told('state')['joints']
        assert after['joint2'] - before['joints']['joint2'] == pytest.approx(0.1, abs=0.02)
        told('home')
        client.wait(lambda: abs(told('state')['joints']['joint2']
                                - before['joints']['joint2']) < 0.02, what='the home pose')
        assert main(['jog', 'joint9', '0.1']) == 1
        assert "unknown joint 'joint9'" in capsys.readouterr().err
        assert main(['jog', 'joint2']) == 1
        assert 'jog needs a joint and a step' in capsys.readouterr().err
        told('stop')
        assert told('state')['fault'] == 'emergency_stop'
        assert main(['enable']) == 1
        assert 'motor_board refuses enable' in capsys.readouterr().err
        told('clear')
        told('enable')
        client.wait_mode(DriverMode.ENABLED)
    assert supervisor.exit_code == 0, supervisor.last_words
