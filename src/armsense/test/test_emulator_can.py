"""The emulated CAN board: streams, current law, watchdog and recovery sequence."""

from __future__ import annotations

from math import tau

import pytest

from armsense.boards.emulator.can_board import CanFrame, EmulatedCanBoard
from armsense.boards.emulator.core import profile_by_name
from armsense.boards.emulator.faults import Injection
from armsense.boards.emulator.motor import MotorPhysics
from armsense.boards.emulator.rack import BoardRack
from armsense.boards.protocol import udriver_can as wire
from armsense.boards.protocol.messages import BoardError
from armsense.boards.protocol.udriver_can import CommandCode

DT = 1e-3


class Bench:
    def __init__(self, *faults, index_phase=0.0):
        quiet = MotorPhysics(current_noise=0.0, index_phase=index_phase)
        profile = profile_by_name(
            'udriver_can', alignment_duration=0.02, alignment_motion=False)
        self.board = EmulatedCanBoard(profile, (quiet, quiet))
        self.rack = BoardRack([self.board], faults)
        self.shaft = [0.0, 0.0]

    def command(self, code, value=1):
        self.board.receive(CanFrame(wire.ID_COMMAND, wire.encode_command(code, value)))

    def currents(self, one, two=None):
        two = one if two is None else two
        self.board.receive(
            CanFrame(wire.ID_CURRENT_REFERENCE, wire.encode_pair(
        wire.ID_CURRENT_REFERENCE, one, two)))

    def step(self, count=1):
        for _ in range(count):
            self.torque = self.rack.step(DT, self.shaft, [0.0, 0.0])
        return self.board.drain()

    def ready(self, timeout_ms=20):
        self.command(CommandCode.SEND_ALL)
        self.command(CommandCode.RECEIVE_TIMEOUT_MS, timeout_ms)
        self.command(CommandCode.SYSTEM_ENABLE)
        self.command(CommandCode.MOTOR_1_ENABLE)
        self.command(CommandCode.MOTOR_2_ENABLE)
        self.step(30)
        assert self.board.status().motor_ready == (True, True)
        return self

    def drive(self, current, count):
        for _ in range(count):
            self.currents(current)
            self.step()


def by_id(messages, arbitration_id):
    return [message.data for message in messages if message.arbitration_id == arbitration_id]


def test_streams_are_off_until_asked_for_and_then_run_at_1_khz():
    bench = Bench()
    assert {message.arbitration_id for message in bench.step(10)} == {wire.ID_STATUS}
    bench.command(CommandCode.SEND_POSITION)
    messages = bench.step(50)
    assert len(by_id(messages, wire.ID_POSITION)) == 50
    assert not by_id(messages, wire.ID_CURRENT)
    bench.command(CommandCode.SEND_ALL)
    messages = bench.step(50)
    assert [len(by_id(messages, each)) for each in wire.STREAM_IDS] == [50] * 4
    bench.command(CommandCode.SEND_ALL, 0)
    assert not bench.step(50)


def test_status_comes_once_a_second():
    assert len(by_id(Bench().step(3500), wire.ID_STATUS)) == 4


def test_measurements():
    bench = Bench().ready()
    bench.shaft = [tau / 2, -tau]
    bench.board.adc[:] = [32768, 16384]
    bench.drive(2.0, 50)
    bench.currents(2.0, -1.0)
    bench.step(10)
    messages = bench.step()
    current, position, velocity, adc = (
        wire.decode_pair(each, by_id(messages, each)[0]) for each in wire.STREAM_IDS)
    assert current == pytest.approx((2.0, -1.0))
    assert position == pytest.approx((tau / 2, -tau), abs=2e-3)
    assert velocity == pytest.approx((0, 0), abs=1e-3)
    assert adc == (0.5, 0.25)
    assert bench.torque == pytest.approx([0.044, -0.022])


def test_index_event():
    bench = Bench(index_phase=1.0).ready()
    bench.shaft = [0.0, 2.0]
    events = [wire.decode_index(data) for data in by_id(bench.step(3), wire.ID_INDEX)]
    assert [event.motor for event in events] == [1]
    assert events[0].position == pytest.approx(1.0, abs=2e-3)


def test_watchdog_only_while_current_flows():
    bench = Bench().ready(timeout_ms=20)
    bench.step(500)
    assert bench.board.error is BoardError.NONE
    bench.drive(1.0, 3)
    bench.step(18)
    assert bench.board.error is BoardError.NONE
    bench.step(2)
    assert bench.board.error is BoardError.RECEIVE_TIMEOUT
    bench.step(10)
    assert bench.torque == pytest.approx([0.0, 0.0], abs=1e-9)


def test_other_messages_do_not_refresh_the_watchdog():
    bench = Bench().ready(timeout_ms=20)
    bench.drive(1.0, 3)
    for _ in range(30):
        bench.command(CommandCode.SEND_ALL)
        bench.step()
    assert bench.board.error is BoardError.RECEIVE_TIMEOUT


def tripped():
    bench = Bench().ready(timeout_ms=20)
    bench.drive(1.0, 3)
    bench.step(30)
    assert bench.board.error is BoardError.RECEIVE_TIMEOUT
    return bench


def test_recovery_needs_enable_then_zero_current_then_motors():
    bench = tripped()
    bench.command(CommandCode.MOTOR_1_ENABLE)
    assert bench.board.status().motor_enabled == (False, False)
    bench.command(CommandCode.SYSTEM_ENABLE)
    assert bench.board.error is BoardError.NONE
    bench.command(CommandCode.MOTOR_1_ENABLE)          # before a zero reference: not heard
    assert bench.board.status().motor_enabled == (False, False)
    bench.currents(1.0)
    bench.command(CommandCode.MOTOR_1_ENABLE)
    assert bench.board.status().motor_enabled == (False, False)
    bench.currents(0.0)
    bench.command(CommandCode.MOTOR_1_ENABLE)
    assert bench.board.status().motor_enabled == (True, False)
    bench.drive(1.0, 10)
    assert bench.torque[0] == pytest.approx(0.022)


def test_torque_after_a_reported_error_is_unsafe():
    bench = tripped()
    bench.currents(1.0)
    assert bench.board.unsafe.total == 0               # the status message is up to 1 s away
    bench.step(1000)
    bench.currents(0.0)
    assert bench.board.unsafe.total == 0
    bench.currents(1.0)
    assert bench.board.unsafe.after_error == 2


def test_current_beyond_the_maximum_is_unsafe():
    bench = Bench().ready()
    bench.currents(17.0, 0.0)
    assert bench.board.unsafe.current == 1


def test_rollover_error():
    bench = Bench().ready()
    bench.command(CommandCode.ROLLOVER_ERROR)
    bench.shaft = [129 * tau, 0.0]
    bench.step()
    assert bench.board.error is BoardError.ROLLOVER


def test_drop_loses_single_messages():
    bench = Bench(Injection('drop', start=0.1)).ready()
    bench.step(60)
    counts = [len(bench.step()) for _ in range(20)]
    assert counts.count(0) == 1


def test_lost_board_hears_nothing():
    bench = Bench(Injection('board_lost', start=0.1)).ready()
    bench.drive(1.0, 69)
    bench.drive(1.0, 30)
    assert bench.board.error is BoardError.RECEIVE_TIMEOUT
    assert not bench.step(5)


def test_malformed_messages_are_ignored():
    bench = Bench()
    bench.board.receive(CanFrame(wire.ID_COMMAND, b'\x01'))
    bench.board.receive(CanFrame(wire.ID_CURRENT_REFERENCE, b''))
    bench.board.receive(CanFrame(0x7FF, bytes(8)))
    bench.command(99)
    assert bench.board.error is BoardError.NONE
