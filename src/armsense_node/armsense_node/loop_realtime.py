"""What the operating system grants a fast loop: exact timers, priority, resident memory."""

from __future__ import annotations

from collections.abc import Sequence
import contextlib
import ctypes
import os
from pathlib import Path
import resource
from typing import NamedTuple

ANY_CPU = -1

_PR_SET_TIMERSLACK = 29
_MCL_CURRENT, _MCL_FUTURE, _MCL_ONFAULT = 1, 2, 4
_CAP_IPC_LOCK = 14
PRIORITY = 40   # above all ordinary threads, below the kernel's interrupt threads (50)
_RECEIVERS = ('dds.shm.', 'dds.udp.')  # Fast DDS's names of the threads that wake the loop


class Privileges(NamedTuple):
    """What was obtained; `explanation` says why something was not."""

    fifo: bool           # this thread and those that receive its messages run under SCHED_FIFO
    memory_locked: bool  # no page of this process is swapped out once it was touched
    explanation: str


def exact_timers() -> None:
    """Lets this thread's sleeps end on time instead of up to 50 us later."""
    prctl = getattr(ctypes.CDLL(None), 'prctl', None)
    if prctl is not None:
        prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0)


def realtime_privileges(cpu: int = ANY_CPU, priority: int = PRIORITY) -> Privileges:
    """Asks for SCHED_FIFO for this thread and its receivers, and for resident memory; never fails.

    A loop at high priority gains nothing while the middleware's thread that has to hand it the
    message waits behind ordinary ones, or while both wander from core to core.

    Args:
        cpu: Core that these threads stay on.
        priority: Of these threads, 1 to 49. Of two loops on one core the one with more goes first,
            however long the other one's work takes.
    """
    threads = (0, *_receivers())
    answers = _take_fifo(threads, priority), _bind(threads, cpu), _lock_memory()
    problems = [answer for answer in answers if answer]
    text = '; '.join(problems)
    return Privileges('SCHED_FIFO' not in text, 'memory' not in text, text)


def _take_fifo(threads: Sequence[int], priority: int) -> str:
    try:
        # Threads and processes started later run at ordinary priority again.
        policy = os.SCHED_FIFO | os.SCHED_RESET_ON_FORK
        for thread in threads:
            os.sched_setscheduler(thread, policy, os.sched_param(priority))
    except (OSError, AttributeError) as error:
        return f'no SCHED_FIFO ({error}): allow it with `rtprio {priority}` in limits.conf'
    return ''


def _bind(threads: Sequence[int], cpu: int) -> str:
    if cpu == ANY_CPU:
        return ''
    try:
        for thread in threads:
            os.sched_setaffinity(thread, {cpu})
    except (OSError, ValueError, AttributeError) as error:
        return f'not bound to core {cpu} ({error}); there are {os.cpu_count()}, from 0'
    return ''


def _receivers() -> list[int]:
    """Threads of the middleware that receive messages; none where it names them otherwise."""
    found = []
    for task in Path('/proc/self/task').glob('*'):
        with contextlib.suppress(OSError):   # a thread that has just ended
            if (task / 'comm').read_text().startswith(_RECEIVERS):
                found.append(int(task.name))
    return found


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
