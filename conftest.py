"""What every test process needs: an own DDS domain, checked message fields, no leftovers."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from pathlib import Path
import tempfile

from hypothesis import HealthCheck, settings
import pytest

from armsense_bringup.workspace.machine import own_middleware

# The same examples in every run, and none fails because the machine is busy.
settings.register_profile('seeded', derandomize=True, deadline=None,
                          suppress_health_check=[HealthCheck.too_slow])
settings.load_profile('seeded')

# On Linux domains up to 101 stay below the ephemeral ports; low ones are left to the users.
DOMAINS = range(40, 101)


def _claim_domain() -> tuple[int, object]:
    """A domain that no other test process on this machine uses, held by a file lock."""
    for domain in DOMAINS:
        name = Path(tempfile.gettempdir(), f'armsense_test_domain_{domain}.lock')
        handle = name.open('w')   # held until the process ends
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return domain, handle
        except BlockingIOError:
            handle.close()
    raise RuntimeError(f'all DDS domains {DOMAINS.start}..{DOMAINS.stop - 1} are in use')


_DOMAIN, _DOMAIN_LOCK = _claim_domain()
os.environ['ROS_DOMAIN_ID'] = str(_DOMAIN)
os.environ |= own_middleware(Path(__file__).parent, {})
os.environ['ROS_PYTHON_CHECK_FIELDS'] = '1'   # a wrong field type is an error, not an abort
os.environ.setdefault('MUJOCO_GL', 'egl')
os.environ.setdefault('OMP_NUM_THREADS', '1')  # two cores, several test processes


def _children() -> set[int]:
    """By the parents that all processes name: the kernel's own list of children may miss some."""
    pids: set[int] = set()
    for stat in Path('/proc').glob('[0-9]*/stat'):
        # A process may end between the listing and the reading.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if int(stat.read_text().rpartition(')')[2].split()[1]) == os.getpid():
                pids.add(int(stat.parent.name))
    return pids


def _command_line(pid: int) -> str:
    try:
        return Path(f'/proc/{pid}/cmdline').read_bytes().replace(b'\0', b' ').decode()
    except (FileNotFoundError, ProcessLookupError):
        return ''   # it has ended since


@pytest.fixture(scope='module', autouse=True)
def no_process_left_behind():
    before = _children()
    yield
    names = [_command_line(pid) for pid in _children() - before]
    # The spawn machinery of Python itself (resource tracker) stays; everything else is ours.
    names = [name for name in names if name and 'resource_tracker' not in name
             and 'forkserver' not in name]
    assert not names, f'processes left behind: {names}'


class Outcomes:
    """Which tests failed, and which of all are marked `timing`: for `./armsense test`."""

    def __init__(self) -> None:
        self.failed: dict[str, bool] = {}    # name: whether it is marked
        self.timing: set[str] = set()

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.failed[report.nodeid] = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if 'timing' in report.keywords:
            self.timing.add(report.nodeid)
        if report.failed:
            self.failed[report.nodeid] = 'timing' in report.keywords

    def pytest_sessionfinish(self) -> None:
        if 'ARMSENSE_TEST_OUTCOMES' in os.environ:
            Path(os.environ['ARMSENSE_TEST_OUTCOMES']).write_text(json.dumps(self.failed))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.timing:
            terminalreporter.write_line(f'{len(self.timing)} tests are marked timing: if they '
                                        'fail beside others, a run alone counts')


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, 'workerinput'):   # of xdist: those tell the one who started them
        config.pluginmanager.register(Outcomes())
