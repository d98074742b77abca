"""CAN payloads against values composed by hand."""

from __future__ import annotations

from functools import partial
from math import nan, tau

from hypothesis import given
from hypothesis import strategies as st
import pytest

from armsense.boards.protocol import udriver_can as can_wire
from armsense.boards.protocol.messages import BoardError, BoardStatus, NonFiniteValue, WrongLength
from armsense.boards.protocol.udriver_can import CommandCode, IndexEvent

KRPM = 1000 * tau / 60


def test_vectors():
    encode = can_wire.encode_pair
    assert encode(can_wire.ID_CURRENT_REFERENCE, 1.0, -0.5) == bytes.fromhex('01000000ff800000')
    assert encode(can_wire.ID_CURRENT, 1.0, -0.5) == bytes.fromhex('01000000ff800000')
    assert encode(can_wire.ID_POSITION, tau, -tau / 4) == bytes.fromhex('01000000ffc00000')
    assert encode(can_wire.ID_VELOCITY, KRPM, -2 * KRPM) == bytes.fromhex('01000000fe000000')
    assert can_wire.encode_command(CommandCode.RECEIVE_TIMEOUT_MS, 20) == bytes.fromhex(
        '000000140000001e')
    assert can_wire.decode_command(bytes.fromhex('0000000100000002')) == (
        CommandCode.MOTOR_1_ENABLE, 1)
    assert can_wire.encode_index(IndexEvent(tau / 2, 1)) == bytes.fromhex('0080000001')


def test_command_codes():
    assert {code.name: code.value for code in CommandCode} == {
        'SYSTEM_ENABLE': 1, 'MOTOR_1_ENABLE': 2, 'MOTOR_2_ENABLE': 3, 'SEND_CURRENT': 12,
        'SEND_POSITION': 13, 'SEND_VELOCITY': 14, 'SEND_ADC': 15, 'SEND_INDEX': 16, 'SEND_ALL': 20,
        'RECEIVE_TIMEOUT_MS': 30, 'ROLLOVER_ERROR': 31}


def test_status_byte():
    byte = 0b010_11111
    status = can_wire.decode_status(bytes([byte]))
    assert status.system_enabled
    assert status.motor_enabled == (True, True)
    assert status.motor_ready == (True, True)
    assert status.error is BoardError.RECEIVE_TIMEOUT
    assert can_wire.encode_status(status) == bytes([byte])
    only_two = BoardStatus.build(enabled=(False, True), ready=(True, False))
    assert can_wire.encode_status(only_two) == bytes([0b000_01100])


@given(st.integers(0, 255))
def test_status_round_trip(byte):
    assert can_wire.encode_status(can_wire.decode_status(bytes([byte]))) == bytes([byte])


@given(st.floats(-127, 127), st.floats(-127, 127))
def test_pairs_round_trip(one, two):
    units = {can_wire.ID_CURRENT_REFERENCE: 1.0, can_wire.ID_CURRENT: 1.0,
             can_wire.ID_POSITION: tau, can_wire.ID_VELOCITY: KRPM, can_wire.ID_ADC: 1.0}
    for number, unit in units.items():
        payload = can_wire.encode_pair(number, one * unit, two * unit)
        assert can_wire.decode_pair(number, payload) == pytest.approx(
            (one * unit, two * unit), abs=unit * 2**-24)


def test_index_round_trip():
    event = can_wire.decode_index(can_wire.encode_index(IndexEvent(-3.0, 0)))
    assert event.position == pytest.approx(-3.0, abs=tau * 2**-24)
    assert event.motor == 0


def test_saturates_and_refuses():
    payload = can_wire.encode_pair(can_wire.ID_CURRENT, 1e6, -1e6)
    assert can_wire.decode_pair(can_wire.ID_CURRENT, payload) == pytest.approx((128, -128))
    with pytest.raises(NonFiniteValue, match='motor 2'):
        can_wire.encode_pair(can_wire.ID_CURRENT, 0.0, nan)


@pytest.mark.parametrize('decode', [
    partial(can_wire.decode_pair, can_wire.ID_CURRENT), can_wire.decode_command,
    can_wire.decode_index, can_wire.decode_status])
def test_wrong_length(decode):
    with pytest.raises(WrongLength):
        decode(b'\x00\x00\x00')
