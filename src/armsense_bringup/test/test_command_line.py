"""`./armsense COMMAND` and the signals that end it."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
import signal
import subprocess
import sys

LONG = 60.0  # [s] a limit that only a hanging test reaches

# The wrapper around a command in a workspace that is ready.
COMMAND = """
import os, sys
from armsense_bringup.command_line import Command, run
class Ready:
    root, python = '.', sys.executable
    def ensure(self): print('a line that is still in the buffer')
    def environment(self): return dict(os.environ)
sys.exit(run(Ready(), Command('armsense_bringup.launch.runner', ''), sys.argv[1:]))
"""

# The same while a tool still sets the workspace up.
SET_UP = """
import sys
from armsense_bringup import command_line
class Slow(command_line.Workspace):
    def ensure(self):
        tool = 'import os, time; print(os.getpid(), flush=True); time.sleep(60)'
        self._run([sys.executable, '-c', tool], 'waiting', lambda line: print(line, flush=True))
command_line.Workspace = Slow
sys.exit(command_line.main(sys.argv[1], ['demo']))
"""


@contextlib.contextmanager
def started(code: str, *words: str | Path, environment=None):
    """A Python process of its own group, which is gone at the end whatever it left behind."""
    process = subprocess.Popen(
        [sys.executable, '-c', code, *map(str, words)], env=environment, text=True,
        stdout=subprocess.PIPE, start_new_session=True)
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=LONG)


def alive(pid: int) -> bool:
    try:
        return Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[0] != 'Z'
    except FileNotFoundError:
        return False


def test_sigterm_ends_the_command(prefix) -> None:
    path = prefix.launch_file('<node pkg="fake" exec="probe" name="a" args="polite"/>')
    with started(COMMAND, path, environment=prefix.environment) as process:
        first = process.stdout.readline()
        for line in process.stdout:
            if line == '[a] ready\n':
                break
        process.terminate()
        output, _ = process.communicate(timeout=LONG)
    assert first == 'a line that is still in the buffer\n'
    assert process.returncode == 0
    assert '[a] leaving' in output.splitlines()
    assert not any(alive(record['pid']) for record in prefix.records())


def test_sigterm_ends_the_set_up_and_its_tool(tmp_path) -> None:
    with started(SET_UP, tmp_path) as process:
        tool = int(process.stdout.readline())
        process.terminate()
        assert process.wait(LONG) == 128 + signal.SIGTERM
        assert not alive(tool)


def test_a_reader_that_has_gone_ends_it_without_a_word() -> None:
    """As in `./armsense help | head`."""
    reading, writing = os.pipe()
    os.close(reading)
    help_ = 'import sys; from armsense_bringup import command_line as c; sys.exit(c.main("", []))'
    ended = subprocess.run([sys.executable, '-c', help_], stdout=writing, stderr=subprocess.PIPE,
                           timeout=LONG)
    os.close(writing)
    assert (ended.returncode, ended.stderr) == (-signal.SIGPIPE, b'')
