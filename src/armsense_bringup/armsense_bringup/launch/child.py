"""A child process in its own session, with pipes, that does not outlive its parent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import contextlib
import ctypes
import os
import signal
import subprocess

_PR_SET_PDEATHSIG = 1
_CHUNK = 1 << 16
# Loaded here, because nothing may be imported between fork and exec.
_libc = ctypes.CDLL(None, use_errno=True)


def _die_with(parent: int) -> Callable[[], None]:
    """What the child does before exec; the kernel ties it to the *thread* that forked it."""
    def prepare() -> None:
        # A shell starts what it puts into the background with SIGINT ignored, for good.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it died before the line above
            os._exit(1)

    return prepare


class Child:
    """A running process; `end` becomes readable when it has ended."""

    def __init__(self, command: Sequence[str], environment: dict[str, str]) -> None:
        """Start it.

        Raises:
            OSError: It cannot be started.
        """
        # Python buffers what it prints into a pipe, which would delay the lines of a node.
        environment = {'PYTHONUNBUFFERED': '1', **environment}
        self._process = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, start_new_session=True, preexec_fn=_die_with(os.getpid()))
        self.pid = self._process.pid
        self.end = os.pidfd_open(self.pid)
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self.pipes = {'stdout': self._process.stdout, 'stderr': self._process.stderr}
        self._rest = {'stdout': b'', 'stderr': b''}  # of a line not yet complete
        for pipe in self.pipes.values():
            os.set_blocking(pipe.fileno(), False)

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the process and to what it has started itself."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, number)

    def read_lines(self, stream: str) -> tuple[list[str], bool]:
        """The complete lines that have arrived, and whether more can come."""
        data = self._read(stream)
        if data is None:
            return [], True
        *lines, self._rest[stream] = (self._rest[stream] + data).split(b'\n')
        if not data and self._rest[stream]:
            lines.append(self._rest[stream])
        return [line.decode(errors='replace').rstrip('\r') for line in lines], bool(data)

    def read_rest(self, stream: str) -> list[str]:
        """All lines left after the end of the process; somebody else may still hold the pipe."""
        data = self._rest[stream]
        while more := self._read(stream):
            data += more
        lines = data.decode(errors='replace').split('\n')
        return [line.rstrip('\r') for line in (lines if lines[-1] else lines[:-1])]

    def _read(self, stream: str) -> bytes | None:
        """What has arrived; nothing at the end of the stream, None where none is waiting."""
        try:
            return os.read(self.pipes[stream].fileno(), _CHUNK)
        except BlockingIOError:
            return None

    def close_pipe(self, stream: str) -> None:
        self.pipes.pop(stream).close()

    def reap(self) -> int:
        """The exit code, negative for a signal; what it has left behind is killed.

        The group is killed while the ended leader still holds its number, so that it cannot
        belong to somebody else yet. With it go the last writers to the pipes.
        """
        self.send(signal.SIGKILL)
        return self._process.wait()

    def close(self) -> None:
        for stream in list(self.pipes):
            self.close_pipe(stream)
        os.close(self.end)
        self._process.wait()
