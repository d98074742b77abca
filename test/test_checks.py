"""`./armsense test`: tests against a clock get a second chance alone, nothing else."""

import os
from pathlib import Path
import re
import shutil
import signal

import pytest

from bench import checks as command

ROOT = Path(__file__).resolve().parents[1]
ADDED, = re.findall(r"^addopts = '(.*)'", (ROOT / 'pyproject.toml').read_text(), re.MULTILINE)
# Each file fails when it is run for the first time.
FLAKY = """
from pathlib import Path
import pytest

def first(name):
    file = Path(name)
    new = not file.exists()
    file.touch()
    return new
"""
SURE = """
def test_{0}():
    assert not first('{0}')
"""
TIMED = """
@pytest.mark.timing
def test_{0}_timed():
    assert not first('{0} timed')
"""
SKIPPED = """
@pytest.mark.skipif(True, reason='ros2 is not installed')
def test_{0}_left_out():
    pass
"""
ALWAYS = """
@pytest.mark.timing
def test_{0}_always():
    assert False
"""
LEAK = """
from pathlib import Path
import subprocess
import pytest

@pytest.mark.timing
def test_leaves_a_process_behind():
    with Path('pids').open('a') as file:
        print(subprocess.Popen(['sleep', '600']).pid, file=file)

def test_is_tidy():
    pass
"""


@pytest.fixture
def project(monkeypatch, tmp_path):
    """A folder with our conftest; returns what writes a test file."""
    for name in ('PYTEST_XDIST_WORKER', 'PYTEST_XDIST_WORKER_COUNT', 'PYTEST_ADDOPTS'):
        monkeypatch.delenv(name, raising=False)     # this may be a worker itself
    monkeypatch.setattr(os, 'cpu_count', lambda: 1)
    shutil.copy(ROOT / 'conftest.py', tmp_path)
    (tmp_path / 'pytest.ini').write_text(f'[pytest]\nmarkers = timing\naddopts = {ADDED}\n')
    (tmp_path / 'test').mkdir()

    def write(name, *parts):
        text = ''.join([FLAKY, *parts]).format(name)
        (tmp_path / 'test' / f'test_{name}.py').write_text(text)

    write.root = tmp_path
    return write


@pytest.mark.parametrize(('files', 'code', 'again'), [
    ({'a': [TIMED], 'b': [TIMED]}, 0, 'ab'),
    ({'a': [TIMED], 'b': [ALWAYS]}, 1, 'ab'),
    # What fails, fails, and its neighbours are not excused.
    ({'a': [TIMED], 'b': [SURE], 'c': [TIMED, SURE], 'd': ['import nowhere']}, 1, 'a')])
def test_only_timing_is_excused(project, capfd, files, code, again):
    for name, parts in files.items():
        project(name, *parts)
    assert command.tests(project.root, ['test'], []) == code
    out = capfd.readouterr().out
    runs = [line for line in out.splitlines() if line.startswith('$ ')]
    assert [word for run in runs[1:] for word in run.split() if word.startswith('test/')] == [
        f'test/test_{name}.py' for name in again]
    assert f'WARNING: {len(again)} timing tests failed beside others' in out
    assert 'test/test_a.py::test_a_timed' in out
    assert 'tests are marked timing' in out
    sure = [name for name in 'bcd' if files.get(name, [TIMED])[-1] not in (TIMED, ALWAYS)]
    last = out.split('FAILED (')[-1].splitlines()[1:] if sure else []
    assert [line.split('::')[0].strip() for line in dict.fromkeys(last)] == [
        f'test/test_{name}.py' for name in sure for _ in files[name]]


@pytest.mark.parametrize('code', [0, 2, 5])    # passed, interrupted, no tests found
def test_other_endings_are_final(monkeypatch, tmp_path, code):
    commands = []
    monkeypatch.setattr(command, '_run',
                        lambda command, *rest: commands.append(command) or code)
    assert command.tests(tmp_path, ['test'], []) == code
    assert len(commands) == 1


def test_what_was_left_out_is_named_with_the_reason(project, capfd):
    project('a', SURE.replace('not first', 'first'), SKIPPED)
    assert command.tests(project.root, ['test'], []) == 0
    out = capfd.readouterr().out
    assert 'SKIPPED test/test_a.py::test_a_left_out - Skipped: ros2 is not installed' in out


def test_a_process_left_behind_is_no_question_of_time(project):
    (project.root / 'test' / 'test_leak.py').write_text(LEAK)
    try:
        assert command.tests(project.root, ['test'], []) == 1
    finally:
        pids = (project.root / 'pids').read_text().split()
        for pid in pids:
            os.kill(int(pid), signal.SIGKILL)
    assert len(pids) == 1


def test_chosen_tests_run_once(monkeypatch, tmp_path):
    (tmp_path / 'test_one.py').touch()
    commands = []
    monkeypatch.setattr(command, '_run',
                        lambda command, *rest: commands.append(command) or 1)
    assert command.tests(tmp_path, ['test'], ['test_one.py']) == 1
    assert [command[-1] for command in commands] == ['test_one.py']
