"""SPI frames through the kernel's spidev: the real boards."""

from __future__ import annotations

from glob import glob
from typing import Any

from armsense.boards.transport.base import TransportUnavailable
from armsense.boards.transport.device_lock import lock_file

MODES = (0, 1, 2, 3)


class SpidevTransport:
    """`SpiTransport` over `/dev/spidev<bus>.<device>`."""

    def __init__(self, bus: int, device: int, mode: int = 0, clock_hz: int = 7_000_000) -> None:
        """Open the device.

        Args:
            bus: SPI bus number.
            device: chip-select number.
            mode: SPI mode. The boards' documentation says 1, their shipping master uses 0.
            clock_hz: bit clock [Hz]; the boards take 6 to 8 MHz.

        Raises:
            TransportUnavailable: no such device, another driver has it, or the spidev module is
                missing.
            ValueError: `mode` is not 0, 1, 2 or 3.
        """
        if mode not in MODES:
            raise ValueError(f'SPI mode {mode!r}; valid: {", ".join(map(str, MODES))}')
        self._spi: Any = _open(bus, device)
        try:
            lock_file(self._spi.fileno(), f'/dev/spidev{bus}.{device}')
        except TransportUnavailable:
            self._spi.close()
            raise
        self._spi.mode = mode
        self._spi.max_speed_hz = clock_hz

    def transfer(self, frame: bytes) -> bytes:
        """Bytes clocked in while `frame` was clocked out; empty if the kernel refused."""
        if self._spi is None:
            return b''
        try:
            return bytes(self._spi.xfer2(frame))
        except OSError:
            return b''

    def close(self) -> None:
        """Release the device."""
        if self._spi is not None:
            self._spi.close()
            self._spi = None


def _open(bus: int, device: int) -> Any:
    try:
        import spidev
    except ImportError as error:
        raise TransportUnavailable(
            'the Python module spidev is missing: pip install spidev') from error
    spi = spidev.SpiDev()
    try:
        spi.open(bus, device)
    except OSError as error:
        present = ', '.join(sorted(glob('/dev/spidev*'))) or 'none'
        raise TransportUnavailable(
            error.errno, f'cannot open /dev/spidev{bus}.{device} ({error.strerror}); '
            f'present: {present}. Enable SPI in the boot configuration and add the user to group '
            'spi') from error
    return spi
