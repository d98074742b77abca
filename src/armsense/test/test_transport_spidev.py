"""The spidev transport against a stand-in for the kernel module."""

from __future__ import annotations

import os
import sys
from types import SimpleNamespace

import pytest

from armsense.boards.transport.spi_device import lock_name, SpidevTransport
from armsense.errors import TransportUnavailable


class FakeSpi:
    opened: tuple[int, int] | None = None
    fail = False

    def __init__(self, folder):
        self._folder = folder

    def open(self, bus, device):
        if device > 1:
            raise FileNotFoundError(2, 'No such file or directory')
        self.opened = (bus, device)
        self._file = (self._folder / f'spidev{bus}.{device}').open('w')

    def fileno(self):
        return self._file.fileno()

    def xfer2(self, data):
        if self.fail:
            raise OSError(110, 'Connection timed out')
        return [byte ^ 0xFF for byte in data]

    def close(self):
        self.opened = None
        self._file.close()


@pytest.fixture
def spi(monkeypatch, tmp_path):
    device = FakeSpi(tmp_path)
    monkeypatch.setitem(sys.modules, 'spidev', SimpleNamespace(SpiDev=lambda: device))
    return device


def test_opens_with_the_given_parameters(spi):
    transport = SpidevTransport(0, 1, mode=1, clock_hz=6_000_000)
    assert spi.opened == (0, 1)
    assert (spi.mode, spi.max_speed_hz) == (1, 6_000_000)
    assert transport.transfer(b'\x00\x0f') == b'\xff\xf0'
    transport.close()
    transport.close()
    assert spi.opened is None
    assert transport.transfer(b'\x00') == b''


def test_kernel_error_is_a_drop(spi):
    transport = SpidevTransport(0, 0)
    spi.fail = True
    assert transport.transfer(bytes(34)) == b''


def test_missing_device_says_what_to_do(spi):
    with pytest.raises(TransportUnavailable, match=r'/dev/spidev0\.7 .*present: '):
        SpidevTransport(0, 7)


def test_bad_mode_names_the_valid_ones(spi):
    with pytest.raises(ValueError, match='SPI mode 5; valid: 0, 1, 2, 3'):
        SpidevTransport(0, 0, mode=5)


def test_missing_module(monkeypatch):
    monkeypatch.setitem(sys.modules, 'spidev', None)
    with pytest.raises(TransportUnavailable, match='pip install spidev'):
        SpidevTransport(0, 0)


def test_a_second_driver_is_refused_and_told_of_the_first(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, 'spidev',
                        SimpleNamespace(SpiDev=lambda: FakeSpi(tmp_path)))
    first = SpidevTransport(0, 0)
    SpidevTransport(0, 1).close()                    # another board
    with pytest.raises(TransportUnavailable, match=r'/dev/spidev0\.0 is in use by another driver '
                       rf'\(process {os.getpid()}\)'):
        SpidevTransport(0, 0)
    first.close()
    SpidevTransport(0, 0).close()


def test_a_can_channel_has_one_driver():
    channel = f'can{os.getpid()}'
    first = lock_name(channel)
    with pytest.raises(TransportUnavailable, match=f'{channel} is in use by another driver'):
        lock_name(channel)
    first.close()
    lock_name(channel).close()
