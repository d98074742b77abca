"""SPI frames against vectors composed by hand from the wire table."""

from __future__ import annotations

from math import inf, isnan, nan, pi, tau

from hypothesis import given
from hypothesis import strategies as st
import pytest

from armsense.boards.protocol.messages import (
    AllOnes,
    AllZeros,
    BadCrc,
    BoardCommand,
    BoardError,
    BoardState,
    BoardStatus,
    FrameError,
    MotorCommand,
    MotorState,
    NonFiniteValue,
    SwappedCrc,
    WrongLength,
)
from armsense.boards.protocol.spi import by_name, SPI_PROTOCOLS
from armsense.errors import UnknownName

NAMES = tuple(SPI_PROTOCOLS)
KRPM = 1000 * tau / 60      # [rad/s]


def slow_crc(data: bytes) -> bytes:
    remainder = 0xFFFFFFFF
    for byte in data:
        remainder ^= byte << 24
        for _ in range(8):
            remainder = remainder << 1 ^ (0x104C11DB7 if remainder & 0x80000000 else 0)
    return remainder.to_bytes(4, 'big')


COMMAND = BoardCommand(
    enable=True,
    motors=(
        MotorCommand(position=tau, velocity=KRPM, current=1.0, kp=1 / tau, kd=1 / KRPM,
                     current_limit=8.0, ki=1 / tau),
        MotorCommand(position=-tau / 2, velocity=-KRPM / 4, current=-2.0, kp=2 / tau,
                     kd=0.5 / KRPM, current_limit=4.0, ki=4 / tau),
    ),
    timeout_ms=20, index=0x1234)
COMMAND_HEAD = bytes.fromhex(
    'e014'            # system, motor 1, motor 2, 20 ms
    '01000000'        # 1 turn
    'ff800000'        # -1/2 turn
    '0800' 'fe00'     # 1 krpm, -1/4 krpm
    '0400' 'f800'     # 1 A, -2 A
    '0800' '1000'     # 1 and 2 A/turn
    '0400' '0200')    # 1 and 1/2 A/krpm

STATE = BoardState(
    status=BoardStatus(0xF800), timestamp_ms=0xABCD,
    motors=(
        MotorState(position=-tau, velocity=KRPM / 2, current=0.5, resistance=0.25, adc=7,
                   power=1.0),
        MotorState(position=tau / 4, velocity=-KRPM, current=-1.0, resistance=1.0, adc=0xFFFE,
                   power=-2.0)),
    last_index=0x00FF)
STATE_HEAD = bytes.fromhex(
    'f800' 'abcd' 'ff000000' '00400000' '0400' 'f800' '0200' 'fc00' '2000' '8000' '0007' 'fffe')


@pytest.mark.parametrize(('name', 'tail'), [
    ('udriver_spi', '2040' '1234'),                  # motor 1 in the low byte
    ('uomodri', '4020' '1234'),                      # motor 1 in the high byte
    ('laas_inhouse', '4020' '0080' '0200' '1234'),   # and 1 and 4 A/(turn s)
])
def test_command_vector(name, tail):
    body = COMMAND_HEAD + bytes.fromhex(tail)
    assert by_name(name).encode_command(COMMAND) == body + slow_crc(body)


@pytest.mark.parametrize(('name', 'tail'), [
    ('udriver_spi', '00ff'), ('uomodri', '00ff'), ('laas_inhouse', '0040' 'ff80' '00ff')])
def test_state_vector(name, tail):
    body = STATE_HEAD + bytes.fromhex(tail)
    crc = slow_crc(body)
    frame = body + crc[2:] + crc[:2]
    assert by_name(name).encode_state(STATE) == frame
    state = by_name(name).decode_state(frame)
    assert state.status == 0xF800
    assert state.timestamp_ms == 0xABCD
    assert state.last_index == 0x00FF
    assert state.motors[0][:5] == pytest.approx(STATE.motors[0][:5])
    assert state.motors[1][:5] == pytest.approx(STATE.motors[1][:5])
    if name == 'laas_inhouse':
        assert [motor.power for motor in state.motors] == [1.0, -2.0]
    else:
        assert all(isnan(motor.power) for motor in state.motors)


@pytest.mark.parametrize(('name', 'length'), [
    ('udriver_spi', 34), ('uomodri', 34), ('laas_inhouse', 38)])
def test_frame_lengths(name, length):
    protocol = by_name(name)
    assert protocol.frame_length == length
    assert len(protocol.encode_command(COMMAND)) == length
    assert len(protocol.encode_state(STATE)) == length
    assert protocol.verified is (name != 'laas_inhouse')


@pytest.mark.parametrize(('change', 'mode'), [
    ({}, 0x6000), ({'enable': True}, 0xE000), ({'motor_enable': (True, False)}, 0x4000),
    ({'motor_enable': (False, True)}, 0x2000), ({'rollover_error': True}, 0x7000),
    ({'index_compensation': (True, False)}, 0x6800),
    ({'index_compensation': (False, True)}, 0x6400),
    ({'timeout_ms': 255}, 0x60FF), ({'timeout_ms': 300}, 0x60FF), ({'timeout_ms': -1}, 0x6000)])
def test_mode_bits(change, mode):
    frame = by_name('uomodri').encode_command(BoardCommand()._replace(**change))
    assert frame[:2] == mode.to_bytes(2, 'big')


def test_status_bits():
    status = BoardStatus(1 << 15 | 1 << 14 | 1 << 11 | 1 << 9 | 1 << 8 | 5)
    assert status.system_enabled
    assert status.motor_enabled == (True, False)
    assert status.motor_ready == (False, True)
    assert status.index_detected == (False, True)
    assert status.index_toggle == (True, False)
    assert status.error is BoardError.ROLLOVER
    assert BoardStatus.build(
        system=True, enabled=(True, False), ready=(False, True), detected=(False, True),
        toggle=(True, False), error=5) == status
    assert BoardStatus(9).error is BoardError.OTHER


def test_zero_limit_never_becomes_ten_amperes():
    frame = by_name('uomodri').encode_command(BoardCommand())
    assert frame[26:28] == b'\x01\x01'
    assert by_name('udriver_spi').encode_command(BoardCommand())[26:28] == b'\x00\x00'
    body = bytes(30)
    zero = body + slow_crc(body)
    assert by_name('uomodri').decode_command(zero).motors[0].current_limit == 10.0
    assert by_name('udriver_spi').decode_command(zero).motors[0].current_limit == 0.0


def test_limit_rounds_down():
    motor = MotorCommand(current_limit=1.124)
    frame = by_name('uomodri').encode_command(BoardCommand(motors=(motor, motor)))
    assert frame[26:28] == b'\x08\x08'


@pytest.mark.parametrize('name', NAMES)
def test_saturates_instead_of_wrapping(name):
    protocol = by_name(name)
    high = MotorCommand(1e9, 1e9, 1e9, 1e9, 1e9, 1e9, 1e9)
    low = MotorCommand(-1e9, -1e9, -1e9, -1e9, -1e9, -1e9, -1e9)
    one, two = protocol.decode_command(
        protocol.encode_command(BoardCommand(motors=(high, low)))).motors
    assert one.position == pytest.approx(128 * tau)
    assert two.position == pytest.approx(-128 * tau)
    assert one.velocity == pytest.approx(16 * KRPM, rel=1e-4)
    assert two.velocity == pytest.approx(-16 * KRPM, rel=1e-4)
    assert one.current == pytest.approx(32, rel=1e-4)
    assert two.current == -32
    assert one.kp == pytest.approx(32 / tau, rel=1e-4)
    assert one.kd == pytest.approx(64 / KRPM, rel=1e-4)
    assert (two.kp, two.kd, two.ki) == (0, 0, 0)
    assert one.current_limit == 31.875


@pytest.mark.parametrize('value', [nan, inf, -inf])
@pytest.mark.parametrize(('name', 'field'), [
    (name, field) for name in NAMES
    for field in ('position', 'velocity', 'current', 'kp', 'kd', 'current_limit')
] + [('laas_inhouse', 'ki')])
def test_refuses_non_finite(name, field, value):
    command = COMMAND._replace(
        motors=(COMMAND.motors[0], COMMAND.motors[1]._replace(**{field: value})))
    with pytest.raises(NonFiniteValue, match=f'motor 2 {field}'):
        by_name(name).encode_command(command)


motor_commands = st.builds(
    MotorCommand, position=st.floats(-127 * tau, 127 * tau), velocity=st.floats(-1600, 1600),
    current=st.floats(-31, 31), kp=st.floats(0, 5), kd=st.floats(0, 0.6),
    current_limit=st.floats(0.125, 31), ki=st.floats(0, 80))
commands = st.builds(
    BoardCommand, enable=st.booleans(), motors=st.tuples(motor_commands, motor_commands),
    timeout_ms=st.integers(0, 255), index=st.integers(0, 0xFFFF),
    motor_enable=st.tuples(st.booleans(), st.booleans()),
    index_compensation=st.tuples(st.booleans(), st.booleans()), rollover_error=st.booleans())
motor_states = st.builds(
    MotorState, position=st.floats(-127 * tau, 127 * tau), velocity=st.floats(-1600, 1600),
    current=st.floats(-31, 31), resistance=st.floats(0, 1.99), adc=st.integers(0, 0xFFFF),
    power=st.floats(-500, 500))
states = st.builds(
    BoardState, status=st.integers(0, 0xFFFF).map(BoardStatus),
    timestamp_ms=st.integers(0, 0xFFFF), motors=st.tuples(motor_states, motor_states),
    last_index=st.integers(0, 0xFFFF))


@given(st.sampled_from(NAMES), commands)
def test_command_round_trip(name, command):
    protocol = by_name(name)
    frame = protocol.encode_command(command)
    decoded = protocol.decode_command(frame)
    assert decoded._replace(motors=None) == command._replace(motors=None)
    for sent, got in zip(command.motors, decoded.motors, strict=True):
        assert got.position == pytest.approx(sent.position, abs=tau / 2**24)
        assert got.velocity == pytest.approx(sent.velocity, abs=KRPM / 2**11)
        assert got.current == pytest.approx(sent.current, abs=1 / 2**10)
        assert got.kp == pytest.approx(sent.kp, abs=1 / 2**11 / tau)
        assert got.kd == pytest.approx(sent.kd, abs=1 / 2**10 / KRPM)
        assert 0 <= sent.current_limit - got.current_limit < 1 / 8
        expected_ki = sent.ki if name == 'laas_inhouse' else 0.0
        assert got.ki == pytest.approx(expected_ki, abs=1 / 2**7 / tau)
    assert protocol.encode_command(decoded) == frame


@given(st.sampled_from(NAMES), states)
def test_state_round_trip(name, state):
    protocol = by_name(name)
    frame = protocol.encode_state(state)
    decoded = protocol.decode_state(frame)
    assert decoded._replace(motors=None) == state._replace(motors=None)
    for sent, got in zip(state.motors, decoded.motors, strict=True):
        assert got.position == pytest.approx(sent.position, abs=tau / 2**24)
        assert got.resistance == pytest.approx(sent.resistance, abs=1 / 2**15)
        assert got.adc == sent.adc
    if name == 'laas_inhouse':
        assert protocol.encode_state(decoded) == frame


@given(st.sampled_from(NAMES), st.sets(st.integers(0, 34 * 8 - 1), min_size=1, max_size=5))
def test_flipped_bits_are_seen_in_both_directions(name, bits):
    protocol = by_name(name)
    for frame, decode in ((protocol.encode_command(COMMAND), protocol.decode_command),
                          (protocol.encode_state(STATE), protocol.decode_state)):
        damaged = bytearray(frame)
        for bit in bits:
            damaged[bit // 8] ^= 1 << bit % 8
        with pytest.raises(BadCrc):
            decode(bytes(damaged))


@given(st.sampled_from(NAMES), st.binary(max_size=60))
def test_noise_raises_only_named_errors(name, noise):
    with pytest.raises(FrameError):
        by_name(name).decode_state(noise)
    with pytest.raises(FrameError):
        by_name(name).decode_command(noise)


@pytest.mark.parametrize('name', NAMES)
def test_named_frame_errors(name):
    protocol = by_name(name)
    frame = protocol.encode_state(STATE)
    cases = {
        WrongLength: frame[:-2], AllZeros: bytes(len(frame)), AllOnes: b'\xff' * len(frame),
        SwappedCrc: frame[:-4] + frame[-2:] + frame[-4:-2], BadCrc: frame[:-1] + b'\x00'}
    kinds = set()
    for error, damaged in cases.items():
        with pytest.raises(error) as caught:
            protocol.decode_state(damaged)
        kinds.add(type(caught.value))
    assert kinds == set(cases)
    command = protocol.encode_command(COMMAND)
    with pytest.raises(SwappedCrc):
        protocol.decode_command(command[:-4] + command[-2:] + command[-4:-2])


def test_zero_body_with_valid_crc_is_blank():
    body = bytes(30)
    crc = slow_crc(body)
    assert crc == bytes.fromhex('5283dfff')
    state = by_name('uomodri').decode_state(body + crc[2:] + crc[:2])
    assert state.is_blank
    assert not STATE.is_blank


def test_index_wraps():
    protocol = by_name('uomodri')
    assert protocol.decode_command(
        protocol.encode_command(BoardCommand(index=0x10005))).index == 5


def test_unknown_name_lists_the_valid_ones():
    with pytest.raises(UnknownName, match=f'odrive.*{", ".join(NAMES)}'):
        by_name('odrive')


def test_half_turn_is_pi():
    protocol = by_name('uomodri')
    command = BoardCommand(motors=(MotorCommand(position=pi), MotorCommand()))
    assert protocol.encode_command(command)[2:6] == bytes.fromhex('00800000')
