"""What a board's answers tell about the motors on it."""

import pytest

from armsense.boards.board_monitor import BoardMonitor
from armsense.boards.protocol.messages import BoardState, BoardStatus, MotorState
from armsense.boards.transport.link import Exchange, Outcome
from armsense.model import ArmConfig
from armsense.schema import load

BOTH = (True, True)


def monitor(**joint):
    """Of a board with two motors."""
    base = {'drive': 'rigid', 'gear_ratio': 20.0, 'torque_constant': 0.05, 'current_limit': 10.0}
    joints = {f'joint{k}': {**base, **joint, 'slot': {'board': 0, 'motor': k}} for k in (1, 2)}
    return BoardMonitor(0, load(ArmConfig, {
        'arm': 'two', 'title': 't', 'urdf': 'u', 'joints': joints}, 'two.yaml'), 0.001)


def observe(monitor, resistance=0.6, ready=BOTH):
    status = BoardStatus.build(system=True, enabled=BOTH, ready=ready)
    motor = MotorState(resistance=resistance)
    exchange = Exchange(BoardState(status, 5, (motor, motor), 7), Outcome.OK, True, None)
    return monitor.observe(exchange, 0, driving=False, position_may_jump=False)


def test_a_coil_whose_resistance_nobody_stated_may_have_any():
    assert observe(monitor()) is None


@pytest.mark.parametrize(('stated', 'measured'), [(0.5, 0.6), (5.0, 65535 / 2**15)])
def test_a_coil_as_in_the_arm_file_is_accepted_up_to_the_end_of_the_wire_field(stated, measured):
    assert observe(monitor(resistance=stated), measured) is None


def test_another_coil_than_in_the_arm_file_is_named():
    fault = observe(monitor(resistance=0.2))
    assert fault.name == 'board_swapped'
    assert 'resistance is not that of the arm file' in fault.explanation
    assert 'board 0 motor 1 has 0.600 ohm, the arm file says 0.200' in fault.explanation


def test_every_motor_with_a_joint_must_be_ready_whatever_is_known_of_its_coil():
    board = monitor()
    observe(board, ready=(True, False))
    assert not board.was_driving
    observe(board)
    assert board.was_driving
