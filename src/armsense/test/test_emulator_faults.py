"""Every named fault, seen from the host's side of the wire."""

from __future__ import annotations

from math import tau
from pathlib import Path

import pytest

from armsense.boards.emulator.board import EmulatedBoard, LoopbackTransport
from armsense.boards.emulator.can_board import CanFrame, EmulatedCanBoard
from armsense.boards.emulator.core import profile_by_name
from armsense.boards.emulator.faults import FAULTS, Injection, UnknownFault
from armsense.boards.emulator.motor import MotorPhysics
from armsense.boards.emulator.rack import BoardRack
from armsense.boards.protocol import udriver_can as can_wire
from armsense.boards.protocol.messages import (
    AllOnes,
    AllZeros,
    BoardCommand,
    BoardError,
    MotorCommand,
    SwappedCrc,
    WrongLength,
)
from armsense.boards.protocol.spi import by_name
from armsense.boards.transport.link import Outcome, SpiLink

DT = 1e-3


class SmallArm:
    """Two boards in a rack, shafts held, and a host with one link per board."""

    def __init__(self, *faults: Injection, seed=0, timeout_ms=20, alignment=0.02, enable=True):
        motors = (MotorPhysics(), MotorPhysics(index_phase=1.0))
        profile = profile_by_name(
            'uomodri', alignment_duration=alignment, alignment_motion=False)
        self.rack = BoardRack(
            [EmulatedBoard(profile, motors, seed=number) for number in range(2)], faults, seed)
        self.links = [SpiLink(by_name('uomodri'), LoopbackTransport(self.rack.port(number)))
                      for number in range(2)]
        self.shaft = [0.0] * 4
        self.timeout_ms = timeout_ms
        self.enable = enable
        self.current = 0.0
        self.rollover_error = False

    def cycle(self, count=1):
        """Run cycles; return per board the list of exchanges."""
        motor = MotorCommand(current=self.current, current_limit=5.0)
        command = BoardCommand(self.enable, (motor, motor), self.timeout_ms,
                               rollover_error=self.rollover_error)
        results = ([], [])
        for _ in range(count):
            self.torque = self.rack.step(DT, self.shaft, [0.0] * 4)
            for number, link in enumerate(self.links):
                results[number].append(link.exchange(command))
        return results


def outcomes(exchanges):
    return [exchange.outcome for exchange in exchanges]


def bad(exchanges):
    return sum(exchange.outcome is not Outcome.OK for exchange in exchanges)


def test_without_faults_every_exchange_is_good():
    zero, one = SmallArm().cycle(200)
    assert bad(zero) == bad(one) == 0
    assert all(exchange.accepted for exchange in zero[1:])


@pytest.mark.parametrize(('name', 'outcome', 'error'), [
    ('reply_bit_flip', Outcome.CRC, None), ('crc_word_swap', Outcome.CRC, SwappedCrc),
    ('reply_zeros', Outcome.MALFORMED, AllZeros), ('reply_ones', Outcome.MALFORMED, AllOnes),
    ('reply_short', Outcome.MALFORMED, WrongLength), ('reply_shifted', Outcome.CRC, None),
    ('board_lost', Outcome.DROP, None)])
def test_damaged_replies(name, outcome, error):
    arm = SmallArm(Injection(name, board=1, start=0.100, duration=0.010))
    zero, one = arm.cycle(200)
    assert bad(zero) == 0
    assert bad(one) == 10
    damaged = one[99:109]
    assert all(exchange.outcome is outcome for exchange in damaged)
    assert all(exchange.state is None for exchange in damaged)
    if error is not None:
        assert all(isinstance(exchange.error, error) for exchange in damaged)
    assert arm.rack.boards[1].error is BoardError.NONE


@pytest.mark.parametrize('name', ['command_bit_flip', 'command_short', 'command_shifted'])
def test_damaged_commands_are_rejected_and_starve_the_watchdog(name):
    arm = SmallArm(Injection(name, board=0, start=0.100, duration=0.010))
    zero, one = arm.cycle(200)
    assert bad(zero) == bad(one) == 0                  # replies stay intact
    rejected = [k for k, exchange in enumerate(zero) if k and not exchange.accepted]
    assert rejected == list(range(100, 110))
    assert arm.rack.boards[0].rejected_frames == 10
    assert arm.rack.boards[0].error is BoardError.NONE
    longer = SmallArm(Injection(name, board=0, start=0.100, duration=0.030))
    longer.cycle(200)
    assert longer.rack.boards[0].error is BoardError.RECEIVE_TIMEOUT


@pytest.mark.parametrize(('fault', 'lost'), [
    (Injection('drop', start=0.1), 1),
    (Injection('drop_burst', start=0.1, parameters={'count': 7}), 7),
    (Injection('board_lost', start=0.1), 101)])
def test_drops(fault, lost):
    arm = SmallArm(fault)
    zero, one = arm.cycle(200)
    assert outcomes(zero).count(Outcome.DROP) == lost
    assert bad(one) == 0
    tripped = arm.rack.boards[0].error is BoardError.RECEIVE_TIMEOUT
    assert tripped is (lost >= 20)


def test_probability_is_seeded():
    def lost(seed):
        arm = SmallArm(Injection('board_lost', parameters={'probability': 0.2}), seed=seed,
                       timeout_ms=0)
        zero, _ = arm.cycle(1000)
        return [exchange.outcome is Outcome.DROP for exchange in zero]

    assert lost(1) == lost(1)
    assert lost(1) != lost(2)
    assert sum(lost(1)) == pytest.approx(200, abs=40)


def test_stale_reply():
    zero, _ = SmallArm(Injection('stale_reply', start=0.1, duration=0.01)).cycle(200)
    assert outcomes(zero).count(Outcome.STALE) == 9    # the first one is still fresh
    assert len({exchange.state.timestamp_ms for exchange in zero[99:109]}) == 1


def test_stale_timestamp_and_index():
    zero, _ = SmallArm(Injection('stale_timestamp', start=0.1, duration=0.02)).cycle(200)
    frozen = zero[99:118]
    assert len({exchange.state.timestamp_ms for exchange in frozen}) == 1
    assert Outcome.STALE in outcomes(frozen)
    zero, _ = SmallArm(Injection('stale_index', start=0.1, duration=0.02)).cycle(200)
    assert len({exchange.state.last_index for exchange in zero[100:118]}) == 1
    assert not any(exchange.accepted for exchange in zero[101:118])
    assert zero[150].accepted


@pytest.mark.parametrize(('name', 'last', 'first'), [
    ('timestamp_near_wrap', 65535, 0), ('clock_overflow', 1073740 & 0xFFFF, 0)])
def test_clock_wraps(name, last, first):
    zero, _ = SmallArm(Injection(name, start=0.1, parameters={'lead': 0.02})).cycle(200)
    stamps = [exchange.state.timestamp_ms for exchange in zero]
    wrap = max(k for k in range(1, 200) if stamps[k] < stamps[k - 1])
    assert (stamps[wrap - 1], stamps[wrap]) == (last, first)
    assert bad(zero) == 0


@pytest.mark.parametrize(('name', 'parameters', 'error'), [
    ('watchdog_trip', {}, BoardError.RECEIVE_TIMEOUT), ('driver_fault', {}, BoardError.OTHER),
    ('encoder_fault', {'motor': 0}, BoardError.ENCODER_1),
    ('encoder_fault', {'motor': 1}, BoardError.ENCODER_2)])
def test_board_errors_stop_the_motors(name, parameters, error):
    arm = SmallArm(Injection(name, start=0.1, parameters=parameters))
    arm.current = 1.0
    zero, one = arm.cycle(99)
    assert arm.torque[0] == pytest.approx(0.022)
    zero, one = arm.cycle(20)
    assert zero[-1].state.status.error is error
    assert zero[-1].state.status.motor_enabled == (False, False)
    assert arm.torque[:2] == pytest.approx([0.0, 0.0], abs=1e-9)
    assert arm.torque[2] == pytest.approx(0.022)       # the other board goes on
    assert one[-1].state.status.error is BoardError.NONE


def test_board_reset_in_motion():
    arm = SmallArm(Injection('board_reset', start=0.1), alignment=0.02)
    arm.cycle(90)
    arm.shaft = [3.0] * 4
    before = arm.cycle(9)[0][-1].state
    assert before.motors[0].position == pytest.approx(3.0, abs=2e-3)
    zero, one = arm.cycle(3)
    assert zero[-1].state.status.motor_ready == (False, False)
    assert zero[-1].state.motors[0].position == 0.0
    assert zero[-1].state.timestamp_ms < before.timestamp_ms
    assert one[-1].state.status.motor_ready == (True, True)


@pytest.mark.parametrize(('motor', 'error'), [
    (0, BoardError.ENCODER_1), (1, BoardError.ENCODER_2)])
def test_alignment_failure(motor, error):
    arm = SmallArm(Injection('alignment_failure', parameters={'motor': motor}))
    zero, one = arm.cycle(50)
    assert zero[-1].state.status.error is error
    assert one[-1].state.status.motor_ready == (True, True)


def test_index_missing():
    arm = SmallArm(Injection('index_missing', board=0, parameters={'motor': 1}))
    arm.cycle(50)
    arm.shaft = [0.0, 10.0, 0.0, 10.0]
    zero, one = arm.cycle(5)
    assert zero[-1].state.status.index_detected == (False, False)
    assert one[-1].state.status.index_detected == (False, True)


def test_lost_counts():
    arm = SmallArm(Injection('lost_counts', start=0.1, parameters={'motor': 1, 'counts': 100}))
    arm.cycle(98)
    zero, _ = arm.cycle(10)
    positions = [exchange.state.motors[1].position for exchange in zero]
    assert positions[0] == 0.0
    assert positions[-1] == pytest.approx(-100 * tau / 4096)
    assert zero[-1].state.motors[0].position == 0.0


@pytest.mark.parametrize('checked', [True, False])
def test_rollover(checked):
    arm = SmallArm(Injection('rollover', start=0.1))
    arm.rollover_error = checked
    arm.cycle(99)
    zero, _ = arm.cycle(5)
    expected = BoardError.ROLLOVER if checked else BoardError.NONE
    assert zero[-1].state.status.error is expected
    assert zero[-1].state.motors[0].position == pytest.approx(-128 * tau)


def test_swapped_boards():
    arm = SmallArm(Injection('swapped_boards', start=0.1, duration=0.05))
    arm.cycle(90)
    arm.shaft = [1.0, 1.0, 2.0, 2.0]
    zero, one = arm.cycle(30)
    assert zero[0].state.motors[0].position == pytest.approx(1.0, abs=2e-3)
    assert zero[-1].state.motors[0].position == pytest.approx(2.0, abs=2e-3)
    assert one[-1].state.motors[0].position == pytest.approx(1.0, abs=2e-3)
    zero, _ = arm.cycle(60)
    assert zero[-1].state.motors[0].position == pytest.approx(1.0, abs=2e-3)


def test_can_bus_off():
    board = EmulatedCanBoard(
        profile_by_name('udriver_can', alignment_duration=0.02, alignment_motion=False))
    rack = BoardRack([board], [Injection('can_bus_off', start=0.1, duration=0.05)])
    board.receive(CanFrame(can_wire.ID_COMMAND, can_wire.encode_command(
        can_wire.CommandCode.SEND_ALL, 1)))
    heard = []
    for _ in range(200):
        rack.step(DT, [0.0, 0.0], [0.0, 0.0])
        heard.append(board.drain())
    errors = [(k, message.arbitration_id) for k, messages in enumerate(heard)
              for message in messages if message.is_error]
    assert errors == [(99, 0x40), (149, 0x100)]
    assert all(len(messages) >= 4 for messages in heard[:99] + heard[150:])
    assert not any(heard[100:149])


def test_faults_at_run_time_and_their_log():
    arm = SmallArm()
    arm.cycle(50)
    fault = Injection('board_lost', board=1, start=arm.rack.time, duration=0.005)
    arm.rack.inject(fault)
    _, one = arm.cycle(20)
    assert bad(one) == 5
    assert [(event.fault.name, event.active) for event in arm.rack.events] == [
        ('board_lost', True), ('board_lost', False)]


def test_two_faults_at_once():
    arm = SmallArm(Injection('reply_bit_flip', start=0.1, duration=0.02),
              Injection('drop', start=0.11, parameters={'count': 2}))
    zero, _ = arm.cycle(200)
    assert outcomes(zero).count(Outcome.CRC) == 18
    assert outcomes(zero).count(Outcome.DROP) == 2


@pytest.mark.parametrize(('fault', 'text'), [
    (Injection('gremlin'), "'gremlin'; known: alignment_failure, board_lost"),
    (Injection('drop', board=2), 'board 2; known: 0 to 1'),
    (Injection('swapped_boards', parameters={'other': 5}), 'board 5; known: 0 to 1'),
    (Injection('drop', parameters={'bits': 1}), 'parameter bits; known: count, probability'),
    (Injection('lost_counts', parameters={'motor': 2}), 'motor 2; known: 0, 1'),
    (Injection('can_bus_off'), "'can_bus_off' on a spi board; known there: ")])
def test_wrong_faults_name_the_valid_ones(fault, text):
    with pytest.raises(UnknownFault, match=text):
        SmallArm().rack.inject(fault)


def test_every_fault_is_exercised_and_described():
    here = Path(__file__).read_text(encoding='utf-8')
    assert [name for name in FAULTS if f"'{name}'" not in here] == []
    assert all(kind.description for kind in FAULTS.values())
