"""The output of supervised processes: a record to ask questions of, and an echo to read."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
import os
import re
import threading
from typing import NamedTuple, TextIO
import zlib

LAUNCHER = 'launch'  # the name under which the supervisor itself speaks
_KEPT_LINES = 10_000
_COLOURS = (32, 33, 34, 35, 36, 92, 93, 94, 95, 96)
_BOLD = 1
_LOGGED = re.compile(r'\[(?P<level>[A-Z]+)\] \[[\d.]+\] \[[^]]*\]: ')  # by a ROS node
_TRACEBACK = 'Traceback (most recent call last):'


class OutputLine(NamedTuple):
    """One line of a process or, under the name `LAUNCHER`, of the supervisor."""

    name: str
    stream: str  # stdout or stderr
    text: str


class OutputRecord:
    """The last lines of all processes; written by one thread, read by any."""

    def __init__(self, echo: Callable[[OutputLine], None] | None) -> None:
        self._echo = echo
        self._lines: deque[OutputLine] = deque(maxlen=_KEPT_LINES)
        self._changed = threading.Condition()
        self._closed = False

    def add(self, line: OutputLine) -> None:
        with self._changed:
            self._lines.append(line)
            self._changed.notify_all()
        if self._echo is not None:
            self._echo(line)

    def close(self) -> None:
        """No line will come any more."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def lines(self) -> list[OutputLine]:
        with self._changed:
            return list(self._lines)

    def wait_for(self, pattern: str, timeout: float, name: str | None = None) -> OutputLine:
        """The first line, past or to come, in which a regular expression is found.

        Raises:
            TimeoutError: No such line within `timeout` seconds, or everything has ended.
        """
        def found() -> OutputLine | None:
            return next(
                (line for line in self._lines
                 if name in (None, line.name) and re.search(pattern, line.text)), None)

        with self._changed:
            self._changed.wait_for(lambda: found() or self._closed, timeout)
            line = found()
        if line is None:
            why = 'before the end of all processes' if self._closed else f'within {timeout} s'
            raise TimeoutError(f'no line with {pattern!r} {why}')
        return line


class Echo:
    """Writes output lines with the name of their process, in colour on a terminal."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._coloured = stream.isatty() and 'NO_COLOR' not in os.environ

    def __call__(self, line: OutputLine) -> None:
        prefix = f'[{line.name}]'
        if self._coloured:
            prefix = f'\x1b[{_colour(line.name)}m{prefix}\x1b[0m'
        try:
            print(f'{prefix} {line.text}', file=self._stream, flush=True)
        except OSError:  # the reader or the terminal has gone, the disk is full: processes go on
            return


def _colour(name: str) -> int:
    """A name has the same colour in every run."""
    return _BOLD if name == LAUNCHER else _COLOURS[zlib.crc32(name.encode()) % len(_COLOURS)]


class Tracebacks:
    """Holds the tracebacks of a process back until their end, to drop those of Ctrl-C."""

    def __init__(self) -> None:
        self._held: list[str] = []

    def take(self, line: str, stopping: bool) -> list[str]:
        """What to pass on, now that a line has come from a process that shall stop, or not."""
        if not self._held and line != _TRACEBACK:
            return [line]
        self._held.append(line)
        if line == _TRACEBACK or line[:1].isspace():
            return []
        held = self.rest()
        return [] if stopping and line == 'KeyboardInterrupt' else held

    def rest(self) -> list[str]:
        """What was held back at the end of the process."""
        held, self._held = self._held, []
        return held


def reason(lines: Sequence[str]) -> str:
    """Why a process failed, in one line of its error output; empty where it said nothing.

    What it logged as fatal or raised at the end, else its last line.
    """
    texts = [_LOGGED.sub('', line) for line in lines]
    ends = [k for k, line in enumerate(lines) if texts[k] == _TRACEBACK
            or ((logged := _LOGGED.match(line)) and logged['level'] == 'FATAL')]
    if not ends:
        return next((text.strip() for text in reversed(texts) if text.strip()), '')
    last = ends[-1]
    if texts[last] != _TRACEBACK:
        return texts[last]
    return next((text for text in texts[last + 1:] if text and not text[0].isspace()), _TRACEBACK)
