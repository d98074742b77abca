"""What the operating system grants a fast loop: exact timers, priority, resident memory."""

from __future__ import annotations

import ctypes
import os
import resource
from typing import NamedTuple

_PR_SET_TIMERSLACK = 29
_MCL_CURRENT, _MCL_FUTURE, _MCL_ONFAULT = 1, 2, 4
_CAP_IPC_LOCK = 14
_PRIORITY = 40  # above all ordinary threads, below the kernel's interrupt threads (50)


class Privileges(NamedTuple):
    """What was obtained; `explanation` says why something was not."""

    fifo: bool           # this thread runs under SCHED_FIFO
    memory_locked: bool  # no page of this process is swapped out once it was touched
    explanation: str


def exact_timers() -> None:
    """Lets this thread's sleeps end on time instead of up to 50 us later."""
    prctl = getattr(ctypes.CDLL(None), 'prctl', None)
    if prctl is not None:
        prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0)


def realtime_privileges() -> Privileges:
    """Asks for SCHED_FIFO for this thread and for resident memory; never fails."""
    problems = [p for p in (_take_fifo(), _lock_memory()) if p]
    text = '; '.join(problems)
    return Privileges('SCHED_FIFO' not in text, 'memory' not in text, text)


def _take_fifo() -> str:
    try:
        # Threads and processes started later run at ordinary priority again.
        policy = os.SCHED_FIFO | os.SCHED_RESET_ON_FORK
        os.sched_setscheduler(0, policy, os.sched_param(_PRIORITY))
    except (OSError, AttributeError) as error:
        return f'no SCHED_FIFO ({error}): allow it with `rtprio {_PRIORITY}` in limits.conf'
    return ''


def _lock_memory() -> str:
    limit, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    if limit != resource.RLIM_INFINITY and not _has_capability(_CAP_IPC_LOCK):
        # Under a limit the lock itself may succeed and a later allocation fail.
        return 'memory not locked: allow it with `memlock unlimited` in limits.conf'
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mlockall(_MCL_CURRENT | _MCL_FUTURE | _MCL_ONFAULT) != 0:
        return f'memory not locked ({os.strerror(ctypes.get_errno())})'
    return ''


def _has_capability(bit: int) -> bool:
    try:
        with open('/proc/self/status', 'rb') as status:
            effective = next(line for line in status if line.startswith(b'CapEff:'))
    except (OSError, StopIteration):
        return False
    return bool(int(effective.split()[1], 16) >> bit & 1)
