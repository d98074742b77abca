"""Real devices: SPI frames through the kernel's spidev, and one driver per device.

Whoever comes second is refused and told who came first.
"""

import errno
import fcntl
from glob import glob
import os
from pathlib import Path
import socket
from typing import Any

from armsense.errors import TransportUnavailable

MODES = (0, 1, 2, 3)


class SpidevTransport:
    """`SpiTransport` over `/dev/spidev<bus>.<device>`."""

    def __init__(self, bus: int, device: int, mode: int = 0, clock_hz: int = 7_000_000) -> None:
        """Open the device; the boards take 6 to 8 MHz.

        Their documentation says mode 1, their shipping master uses 0.
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


def lock_file(descriptor: int, name: str) -> None:
    """Lock an open device file until it is closed, also by the end of the process."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise _taken(name, _holder(descriptor)) from error


def lock_name(name: str) -> socket.socket:
    """Lock what is no file, such as a CAN channel, for as long as the returned socket is open."""
    lock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        lock.bind(f'\0armsense motor boards on {name}')
    except OSError as error:
        lock.close()
        raise _taken(name, '') from error
    return lock


def _taken(name: str, holder: str) -> TransportUnavailable:
    return TransportUnavailable(
        errno.EBUSY, f'{name} is in use by another driver{holder}: two that command the same '
        'motors would hurt the arm; stop the other one first')


def _holder(descriptor: int) -> str:
    """Who has locked a file, as far as the kernel tells."""
    inode = os.fstat(descriptor).st_ino
    for line in Path('/proc/locks').read_text().splitlines():
        words = line.split()               # number, FLOCK, ADVISORY, WRITE, pid, device:inode, ..
        if words[1] == 'FLOCK' and words[5].rpartition(':')[2] == str(inode):
            return f' (process {words[4]})'
    return ''
