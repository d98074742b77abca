"""What a set-up needs of this machine, and how it tells about itself; standard library only."""

from __future__ import annotations

from collections.abc import Mapping
import importlib.util
import os
from pathlib import Path
import platform
import re
import shutil
import signal
import sys
import sysconfig
import time
from typing import NoReturn

DISK_NEEDED_GB = 3.0


class SetupError(Exception):
    """Something is missing on this machine; the text says what and what to type."""


def end_on_sigterm() -> None:
    """Let SIGTERM end a set-up as Ctrl-C does; alone, it would leave pip or colcon running."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


def become(command: list[str], environment: dict[str, str]) -> NoReturn:
    """Replace this process, so that whoever ends it by a signal ends the command itself."""
    sys.stdout.flush()
    sys.stderr.flush()
    os.execvpe(command[0], command, environment)


class Progress:
    """One line that is overwritten on a terminal; one line per three seconds elsewhere."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._last = -10.0

    def show(self, text: str) -> None:
        elapsed = time.monotonic() - self._start
        line = f'armsense: [{elapsed:4.0f} s] {text}'
        if sys.stderr.isatty():
            print(f'\r\x1b[K{line[:110]}', end='', file=sys.stderr, flush=True)
        elif elapsed - self._last >= 3.0:
            self._last = elapsed
            print(line, file=sys.stderr, flush=True)

    def done(self, text: str) -> None:
        start = '\r\x1b[K' if sys.stderr.isatty() else ''
        elapsed = time.monotonic() - self._start
        print(f'{start}armsense: {text} in {elapsed:.0f} s', file=sys.stderr, flush=True)


def check_machine(root: Path, need_compiler: bool = True) -> None:
    """Raise SetupError when the machine lacks something; the text says what to type."""
    if platform.machine() != 'x86_64' and not os.environ.get('ROS_DISTRO'):
        raise SetupError(f'the ROS 2 wheels exist for x86_64 only, this is {platform.machine()}: '
                         'install ROS 2 Jazzy and source its setup.bash')
    free = shutil.disk_usage(root).free / 1e9
    if free < DISK_NEEDED_GB:
        raise SetupError(f'{free:.1f} GB of disk are free, {DISK_NEEDED_GB} are needed: make room')
    try:
        import ensurepip  # noqa: F401  (Debian ships Python without it)
        import venv  # noqa: F401
    except ImportError:
        raise SetupError('Python cannot make virtual environments: sudo apt install '
                         f'python3.{sys.version_info.minor}-venv') from None
    if not need_compiler:
        return
    if compiler() is None:
        raise SetupError('no C++ compiler was found: sudo apt install g++')
    if not (shutil.which('make') or shutil.which('gmake')):
        raise SetupError('make was not found: sudo apt install make')
    if not Path(sysconfig.get_paths()['include'], 'Python.h').exists():
        raise SetupError('the Python headers are missing: sudo apt install '
                         f'python3.{sys.version_info.minor}-dev')
    if os.environ.get('ROS_DISTRO') and os.environ.get('ARMSENSE_ROS') != 'wheels':
        _check_ros(os.environ['ROS_DISTRO'])


def _check_ros(distro: str) -> None:
    """Raise SetupError when an installed ROS was not sourced, or is of another Python."""
    ros, python = importlib.util.find_spec('rclpy'), f'python3.{sys.version_info.minor}'
    if ros is None or ros.origin is None:   # such as in a container that only sets the variable
        raise SetupError(f'ROS_DISTRO is {distro}, but rclpy is not on PYTHONPATH: source '
                         f'/opt/ros/{distro}/setup.bash')
    if python not in Path(ros.origin).parts:
        raise SetupError(f'{ros.origin} is not of {python}, which runs this: type '
                         '/usr/bin/python3 armsense, or leave the conda or pyenv environment')


def compiler() -> str | None:
    """Path of a C++ compiler."""
    return shutil.which('c++') or shutil.which('g++') or shutil.which('clang++')


def own_middleware(root: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """Variables that keep ROS on this machine; none where the user has chosen otherwise."""
    reach, old, new = ('ROS_AUTOMATIC_DISCOVERY_RANGE', 'FASTRTPS_DEFAULT_PROFILES_FILE',
                       'FASTDDS_DEFAULT_PROFILES_FILE')   # the second up to Fast DDS 2
    chosen = environment.get(reach, 'LOCALHOST')
    if chosen != 'LOCALHOST' or old in environment or new in environment:
        return {}
    if environment.get('RMW_IMPLEMENTATION', 'rmw_fastrtps_cpp') != 'rmw_fastrtps_cpp':
        return {reach: 'LOCALHOST'}
    profile = str(root / 'config' / 'fastdds.xml')
    # The profile decides: for LOCALHOST the middleware would take shared memory, too.
    return {reach: 'SYSTEM_DEFAULT', old: profile, new: profile}


def explain_failure(what: str, lines: list[str], log: Path) -> str:
    """One sentence on why `what` failed, from the output of the tool."""
    text = ''.join(lines[-400:])
    if 'No space left on device' in text:
        return f'{what} failed: the disk is full; make room and start again'
    if re.search(r'name resolution|NewConnectionError|ConnectTimeout|Network is unreachable|'
                 r'No matching distribution found', text):
        return (f'{what} failed: the package index cannot be reached; check the network '
                f'(proxy, pip config) and start again (log: {log})')
    tail = ''.join(lines[-15:])
    return f'{what} failed; the last lines of {log}:\n{tail}'
