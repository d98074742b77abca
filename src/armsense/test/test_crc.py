"""CRC-32/MPEG-2 against published check values and a bit-by-bit division."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
import pytest

from armsense.boards.protocol.spi import (
    crc_bytes,
    crc_bytes_low_word_first,
    has_crc,
    has_crc_low_word_first,
)


def bitwise_crc(data: bytes) -> int:
    """Polynomial division, one bit at a time."""
    remainder = 0xFFFFFFFF
    for byte in data:
        for bit in range(7, -1, -1):
            top = remainder >> 31 ^ byte >> bit & 1
            remainder = remainder << 1 & 0xFFFFFFFF
            if top:
                remainder ^= 0x04C11DB7
    return remainder


@pytest.mark.parametrize(('data', 'expected'), [
    (b'123456789', 0x0376E6E7),
    (bytes(30), 0x5283DFFF),
    (b'', 0xFFFFFFFF),
])
def test_published_values(data, expected):
    assert crc_bytes(data) == expected.to_bytes(4, 'big')


@given(st.binary(max_size=40))
def test_equals_bitwise_division(data):
    assert crc_bytes(data) == bitwise_crc(data).to_bytes(4, 'big')


def test_byte_orders():
    assert crc_bytes(b'123456789') == bytes.fromhex('0376e6e7')
    assert crc_bytes_low_word_first(b'123456789') == bytes.fromhex('e6e70376')


@given(st.binary(max_size=40), st.integers(0, 31), st.booleans())
def test_recognises_its_own_checksum_in_both_orders(data, bit, damaged):
    for checksum, recognises in ((crc_bytes(data), has_crc),
                                 (crc_bytes_low_word_first(data), has_crc_low_word_first)):
        wire = int.from_bytes(checksum, 'big') ^ (damaged << bit)
        assert recognises(data + wire.to_bytes(4, 'big')) is not damaged
