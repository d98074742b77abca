"""Load-cell data from bytes to newtons; garbage never gets through."""

from __future__ import annotations

import struct
from types import SimpleNamespace

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest

from armsense.base.cell_calibration import CalibrationFile, CellCalibration
from armsense.boards.load_cells.cell_monitor import CellMonitor, Counts, MonitorOptions
from armsense.boards.load_cells.serial_source import BadLine, LineReader, parse_line
from armsense.boards.load_cells.sources import (
    ADS1220_REQUEST,
    CanSource,
    decode_ads1220,
    decode_hx711,
    END_OF_RANGE,
    HX711_REQUEST,
    NOT_CONNECTED,
    parse_pair,
    SpiSource,
)
from armsense.errors import ArmsenseError, BadValue, UnknownName
from bench.cell_lines import encode_line

COUNTS = st.one_of(st.none(), st.integers(-2**31, 2**31))


# -- serial lines ----------------------------------------------------------------------------

def encode_pair(first, second):
    """Data of one message of the CAN amplifier."""
    return struct.pack('<ii', *(NOT_CONNECTED if v is None else v for v in (first, second)))


def test_line_and_its_checksum():
    # The check value of CRC-16/CCITT-FALSE over '123456789' is 29B1.
    from armsense.boards.load_cells.serial_source import checksum
    assert checksum(b'123456789') == 0x29B1
    line = encode_line(17, (8388, -120, None, 99), (False, False, False, True))
    assert line.startswith(b'LC,17,8388,-120,-,+*')
    assert parse_line(line[:-1]) == Counts((8388, -120, None, None),
                                           (False, False, False, True), 17)
    assert parse_line(line[:-1] + b'\r').seq == 17


@given(seq=st.integers(0, 65535), values=st.lists(COUNTS, min_size=1, max_size=8))
def test_every_reading_survives_the_line(seq, values):
    counts = parse_line(encode_line(seq, tuple(values))[:-1], len(values))
    assert counts.values == tuple(values)
    assert counts.seq == seq


@given(st.binary(max_size=200))
def test_any_bytes_are_a_reading_or_a_bad_line(data):
    try:
        counts = parse_line(data)
    except BadLine:
        return
    assert encode_line(counts.seq or 0, counts.values, counts.saturated)


@given(values=st.lists(st.integers(-9999, 9999), min_size=3, max_size=4), data=st.data())
def test_a_changed_bit_is_noticed(values, data):
    line = bytearray(encode_line(5, tuple(values))[:-1])
    bit = data.draw(st.integers(0, 8 * len(line) - 1))
    line[bit // 8] ^= 1 << bit % 8
    try:
        counts = parse_line(bytes(line), len(values))
    except BadLine:
        return
    assert counts.values == tuple(values)    # only the case of a hexadecimal digit


@settings(max_examples=60)
@given(garbage=st.lists(st.binary(max_size=60), max_size=6), cuts=st.randoms())
def test_a_stream_recovers_after_garbage(garbage, cuts):
    reader = LineReader(4)
    stream = b''
    for k, noise in enumerate(garbage):
        stream += encode_line(k, (k, 2, 3, 4)) + noise + b'\n'
    stream += encode_line(900, (9, 8, 7, 6))
    found = []
    while stream:
        size = cuts.randint(1, 40)
        found += reader.feed(stream[:size])
        stream = stream[size:]
    assert found[-1].values == (9, 8, 7, 6)
    assert all(len(counts.values) == 4 for counts in found)


def test_lost_and_bad_lines_are_counted():
    reader = LineReader(2)
    assert reader.feed(b'9,3*AB12\n') == []                 # the middle of a line: no complaint
    assert reader.problems == {'bad lines': 0, 'lost lines': 0}
    reader.feed(encode_line(65534, (1, 2)) + encode_line(1, (1, 2)))
    assert reader.problems['lost lines'] == 2               # 65535 and 0
    reader.feed(encode_line(2, (1, 2, 3)))
    reader.feed(b'LC,3,1,2*0000\n')
    assert reader.problems['bad lines'] == 2
    assert 'checksum 0000 is not' in reader.last_error
    reader.feed(b'x' * 2000)
    assert reader.last_error == 'no end of line'
    assert len(reader._buffer) <= 512


# -- converters ------------------------------------------------------------------------------

def hx711_reply(value: int) -> bytes:
    """What the chip answers, written pulse by pulse: bit during both halves, then high."""
    word = value & 0xFFFFFF
    bits = ''.join(2 * str(word >> (23 - k) & 1) for k in range(24)) + '11111111'
    return int(bits, 2).to_bytes(7, 'big')


@given(st.integers(-2**23, 2**23 - 1))
def test_hx711_answer(value):
    answer = decode_hx711(hx711_reply(value))
    # -1 cannot be told from a line that stays high.
    assert answer == (None if value == -1 else value)


def test_hx711_request_is_25_pulses():
    bits = ''.join(f'{byte:08b}' for byte in HX711_REQUEST)
    assert bits.count('10') == 25
    assert '11' not in bits
    assert decode_hx711(b'\xff' * 7) is None
    assert decode_hx711(b'') is None


@given(st.binary(max_size=12))
def test_converters_take_any_bytes(data):
    for decode in (decode_hx711, decode_ads1220):
        value = decode(data)
        assert value is None or -2**23 <= value < 2**23


def test_ads1220_and_source():
    assert decode_ads1220(b'\x00\xff\xff\xfe') == -2
    assert decode_ads1220(b'\x00\x7f\xff\xff') == 2**23 - 1

    class Chip:
        def __init__(self, reply):
            self.reply = reply
            self.closed = False

        def transfer(self, frame):
            assert frame == ADS1220_REQUEST
            return self.reply

        def close(self):
            self.closed = True
    chips = [Chip(b'\0\0\0\x05'), Chip(b''), Chip(b'\0\x80\0\0')]
    source = SpiSource(chips, 'ads1220')
    assert source.read() == Counts((5, None, -2**23), (False, False, True))
    assert source.problems == {'not ready': 1}
    source.close()
    assert all(chip.closed for chip in chips)
    with pytest.raises(UnknownName, match='hx711, ads1220'):
        SpiSource([], 'ads1256')


# -- CAN ---------------------------------------------------------------------------------------

@given(st.binary(max_size=10))
def test_can_data_is_two_numbers_or_bad(data):
    if len(data) == 8:
        assert encode_pair(*parse_pair(data)) == data
    else:
        with pytest.raises(struct.error):
            parse_pair(data)


class Bus:
    def __init__(self, messages):
        self.messages = list(messages)

    def recv(self, timeout):
        return self.messages.pop(0) if self.messages else None

    def shutdown(self):
        self.messages = None


def message(identifier, data, error=False):
    return SimpleNamespace(arbitration_id=identifier, data=data, is_error_frame=error)


def test_can_sets_are_put_together():
    bus = Bus([message(0x2C1, encode_pair(3, 4)),                       # the beginning is missing
               message(0x2C0, encode_pair(1, 2)), message(0x123, b'other'),
               message(0x2C0, encode_pair(1, 2), error=True),
               message(0x2C1, encode_pair(END_OF_RANGE, None)),
               message(0x2C0, b'short')])
    source = CanSource(bus, 4)
    assert source.read() == Counts((1, 2, END_OF_RANGE, None), (False, False, True, False))
    assert source.problems == {'bad messages': 1, 'incomplete sets': 1}
    assert source.read() is None
    odd = Bus([message(0x2C0, encode_pair(1, 2)), message(0x2C1, encode_pair(3, None))])
    assert CanSource(odd, 3).read().values == (1, 2, 3)
    source.close()
    assert bus.messages is None


# -- calibration, tare, health -------------------------------------------------------------------

def cells(m=4, gain=0.01, offset=100.0):
    return CalibrationFile(cells=(CellCalibration(gain=gain, offset=offset),) * m)


@pytest.fixture
def monitor():
    return CellMonitor(cells(), MonitorOptions(capacity=50.0, noise=0.02))


def feed(monitor, values, start=0.0, seconds=0.6, noise=2, seed=0):
    """Readings every 10 ms around values [count]; returns the time."""
    rng = np.random.default_rng(seed)
    for k in range(round(seconds / 0.01)):
        now = start + 0.01 * k
        counts = tuple(None if v is None else int(v + rng.integers(-noise, noise + 1))
                       for v in values)
        monitor.take(Counts(counts, (False,) * len(values)), now)
    return now


def test_forces_are_calibrated_and_tared(monitor):
    now = feed(monitor, (1100, 600, 100, -900))
    np.testing.assert_allclose(monitor.state(now).force, [10, 5, 0, -10], atol=0.03)
    assert monitor.state(now).problems == ()
    text = monitor.tare(now)
    assert text.startswith(('10.0', '9.9'))
    np.testing.assert_allclose(monitor.state(now).force, 0, atol=0.05)
    now = feed(monitor, (1200, 600, 100, -900), now + 0.01)
    np.testing.assert_allclose(monitor.state(now).force, [1, 0, 0, 0], atol=0.05)
    monitor.clear_tare()
    np.testing.assert_allclose(monitor.state(now).force, [11, 5, 0, -10], atol=0.05)


def test_tare_is_refused_while_the_load_changes(monitor):
    for k in range(60):
        monitor.take(Counts((1000 + 20 * k, 600, 600, 600 + k % 2), (False,) * 4), 0.01 * k)
    with pytest.raises(ArmsenseError, match='load on cell 1 changes by .* must stand still'):
        monitor.tare(0.59)


def test_dead_saturated_and_silent_cells_are_named(monitor):
    assert not monitor.state(0.0).valid.any()                       # nothing heard yet
    now = feed(monitor, (1100, None, 6000, 500))
    for k in range(150):                                             # cell 4 freezes
        now += 0.01
        monitor.take(Counts((1100 + k % 3, None, 6000 + k % 2, 500), (False,) * 4), now)
    state = monitor.state(now)
    assert state.valid.tolist() == [True, False, False, False]
    assert state.problems == ('cell 2: no reading', 'cell 3: saturated or overloaded',
                              'cell 4: frozen')
    assert np.isfinite(state.force).all()
    with pytest.raises(ArmsenseError, match='not tared: cell 2: no reading'):
        monitor.tare(now)
    assert not monitor.state(now + 1.0).valid.any()                  # the source fell silent
    monitor.take(Counts((1100, 7, 90, 90), (True, False, False, False)), now + 1.0)
    assert monitor.state(now + 1.0).valid.tolist() == [False, True, True, True]
    with pytest.raises(BadValue, match='number of cells'):
        monitor.take(Counts((1, 2), (False, False)), now)


def test_calibration_by_known_loads(monitor):
    loads = [0, 10, 20, 30, 20, 10, 0]
    start = 0.0
    for load in loads:
        start = feed(monitor, (150 + 40 * load, 100, 100, 100), start + 0.01, noise=1)
        monitor.sample_load(1, load)
    file = monitor.calibrate()
    assert file.cells[0].gain == pytest.approx(1 / 40, rel=1e-3)
    assert file.cells[0].offset == pytest.approx(150, abs=1)
    assert file.cells[0].hysteresis < 1e-3
    assert file.cells[1] == cells().cells[1]                         # no loads: as before
    with pytest.raises(ArmsenseError, match='no loads'):
        monitor.calibrate()
    with pytest.raises(BadValue, match=r'1 \.\.\. 4'):
        monitor.sample_load(5, 1.0)
