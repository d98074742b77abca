"""What the doctor says of what it heard."""

from armsense_bringup.workspace.doctor_live import judge, NOT_DRIVING, Snapshot
from armsense_node.health import Health, Level

WELL = Snapshot(
    seconds=3.0, nodes=['motor_board', 'dynamic_controller', 'collision_observer'],
    rates={'motor_states': 1000.0, 'motor_commands': 1000.0, 'residual': 1000.0},
    publishers={'motor_states': 1, 'motor_commands': 1, 'residual': 1},
    parts=[('motor_board', Health('arm', 'enabled')), ('motor_board', Health('loop', 'in time'))],
    mode='ENABLED')


def texts(**changes) -> list[str]:
    return [finding.text for finding in judge(WELL._replace(**changes))]


def test_a_sound_arm_is_well():
    assert texts() == []


def test_silence_is_explained():
    silent = Snapshot(3.0, [], {}, {}, [])
    assert [finding.text for finding in judge(silent)] == [NOT_DRIVING]


def test_nobody_answers():
    assert texts(rates={'motor_states': 1000.0}) == [
        'motor_states flow, but no controller answers them with motor_commands']


def test_two_controllers_are_one_too_many():
    assert texts(publishers={'motor_commands': 2}) == [
        '2 nodes publish motor_commands: only one may']
    assert texts(nodes=['motor_board', 'motor_board']) == ['2 nodes are called motor_board']


def test_a_fault_comes_with_its_cause_once_and_first():
    parts = [('motor_board', Health('board 0', '9.00 % of 100 frames lost', Level.WARN)),
             ('motor_board', Health('arm', 'board 0 is silent', Level.ERROR))]
    found = texts(parts=parts, mode='DAMPING', fault='board 0 is silent')
    assert found == ['the driver is in DAMPING: board 0 is silent; remove the cause, then call '
                     '~/clear_fault and ~/enable',
                     'motor_board, board 0: 9.00 % of 100 frames lost']
