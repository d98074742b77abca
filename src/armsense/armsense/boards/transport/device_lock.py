"""One driver per device: whoever comes second is refused and told who came first."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path
import socket

from armsense.boards.transport.base import TransportUnavailable


def lock_file(descriptor: int, name: str) -> None:
    """Lock an open device file until it is closed, also by the end of the process.

    Raises:
        TransportUnavailable: Another driver has it.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise _taken(name, _holder(descriptor)) from error


def lock_name(name: str) -> socket.socket:
    """Lock what is no file, such as a CAN channel, for as long as the returned socket is open.

    Raises:
        TransportUnavailable: Another driver has it.
    """
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
