"""`./armsense test`: files that failed beside others get a second chance alone, nothing else."""

import json
import os
from pathlib import Path
import shutil
import signal

import pytest

from armsense_bringup import test_command

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize(('codes', 'result'), [
    ([0], 0),          # all passed
    ([1, 0], 0),       # one failed, and passed alone
    ([1, 1], 1),       # one fails in any case
    ([2], 2),          # interrupted: not tried again
    ([5], 5),          # no tests found
])
def test_only_files_with_failed_tests_are_run_again(monkeypatch, tmp_path, codes, result):
    commands, left = [], list(codes)
    for name in ('test/test_a.py', 'test/test_b.py', 'other/test_c.py',
                 '.pytest_cache/v/cache/lastfailed'):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    failed = ('test/test_b.py::test_one', 'test/test_b.py::test_two[1]', 'test/test_gone.py::test',
              'other/test_c.py::test')
    Path(tmp_path, '.pytest_cache/v/cache/lastfailed').write_text(
        json.dumps(dict.fromkeys(failed, True)))

    def run(command, root):
        commands.append(command)
        return left.pop(0)
    monkeypatch.setattr(test_command, '_run', run)
    assert test_command.tests(tmp_path, ['test'], ['--durations=3']) == result
    assert not left
    assert '-n' in commands[0]
    for command in commands[1:]:
        assert command[3:] == ['-v', 'test/test_b.py', '--durations=3']


def test_without_a_cache_the_first_result_counts(monkeypatch, tmp_path):
    monkeypatch.setattr(test_command, '_run', lambda command, root: 1)
    assert test_command.tests(tmp_path, ['test'], []) == 1


LEAK = """
from pathlib import Path
import subprocess

def test_leaves_a_process_behind():
    with Path('pids').open('a') as file:
        print(subprocess.Popen(['sleep', '600']).pid, file=file)

def test_is_tidy():
    pass
"""


def test_a_process_left_behind_fails_alone_too(monkeypatch, tmp_path):
    for name in ('PYTEST_XDIST_WORKER', 'PYTEST_XDIST_WORKER_COUNT', 'PYTEST_ADDOPTS'):
        monkeypatch.delenv(name, raising=False)     # this may be a worker itself
    monkeypatch.setattr(os, 'cpu_count', lambda: 1)
    shutil.copy(ROOT / 'conftest.py', tmp_path)
    (tmp_path / 'pytest.ini').write_text('[pytest]\n')
    (tmp_path / 'test').mkdir()
    (tmp_path / 'test' / 'test_leak.py').write_text(LEAK)
    try:
        assert test_command.tests(tmp_path, ['test'], []) == 1
    finally:
        pids = (tmp_path / 'pids').read_text().split()
        for pid in pids:
            os.kill(int(pid), signal.SIGKILL)
    assert len(pids) == 2


def test_chosen_tests_run_once(monkeypatch, tmp_path):
    (tmp_path / 'test_one.py').touch()
    commands = []
    monkeypatch.setattr(test_command, '_run', lambda command, root: commands.append(command) or 1)
    assert test_command.tests(tmp_path, ['test'], ['test_one.py']) == 1
    assert [command[-1] for command in commands] == ['test_one.py']
