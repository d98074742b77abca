"""A bag of the arm that runs now, made by the recorder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
import signal
import subprocess
import sys
import time

from armsense.errors import ArmsenseError

RECORDER = 'armsense_monitor.recorder_node'
PATIENCE = 10.0     # [s] for the recorder to close the bag
TICK = 0.5          # [s]


def record_live(folder: Path, seconds: float, tell: Callable[[float], None]) -> Path:
    """Record the topics of the running arm.

    Args:
        folder: To make; it must not exist.
        seconds: Wall-clock time.
        tell: Called with the seconds so far.
    """
    command = [sys.executable, '-m', RECORDER, '--ros-args', '-p', f'bag:={folder}']
    with subprocess.Popen(command) as recorder:
        try:
            begin = time.monotonic()
            while (now := time.monotonic() - begin) < seconds:
                if recorder.poll() is not None:
                    raise ArmsenseError(f'the recorder ended after {now:.1f} s with code '
                                        f'{recorder.returncode}')
                tell(now)
                time.sleep(min(TICK, seconds - now))
        finally:
            _stop(recorder)
    return folder


def _stop(recorder: subprocess.Popen[bytes]) -> None:
    recorder.send_signal(signal.SIGINT)   # the bag gets its index
    try:
        recorder.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        recorder.kill()
