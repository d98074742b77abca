"""Run the program of a `$(command ...)` substitution, such as xacro."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import logging
import shutil
import subprocess

ON_STDERR = ('fail', 'ignore', 'warn', 'capture')


def run_command(words: Sequence[str], on_stderr: str, environment: Mapping[str, str]) -> str:
    """The standard output of a program.

    Args:
        words: The program, looked up along PATH, and its arguments.
        on_stderr: What to do when it writes to its error output: one of `ON_STDERR`.
        environment: The environment of the program.

    Raises:
        ValueError: It cannot be started, or fails, or complains where that counts as failure.
    """
    if on_stderr not in ON_STDERR:
        raise ValueError(f'on_stderr {on_stderr!r}; known: {", ".join(ON_STDERR)}')
    if not words:
        raise ValueError('no program given')
    program = shutil.which(words[0], path=environment.get('PATH'))
    if program is None:
        raise ValueError(f'program {words[0]!r} is not on PATH')
    done = subprocess.run(
        [program, *words[1:]], env=dict(environment), text=True, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, check=False,
        stderr=subprocess.STDOUT if on_stderr == 'capture' else subprocess.PIPE)
    complaint = (done.stderr or '').strip()
    if done.returncode:
        raise ValueError(f'exit code {done.returncode}: {complaint or done.stdout.strip()}')
    if complaint and on_stderr == 'fail':
        raise ValueError(f'wrote to its error output: {complaint}')
    if complaint and on_stderr == 'warn':
        logging.getLogger('launch').warning('%s: %s', words[0], complaint)
    return done.stdout
