"""Start the processes of a launch, pass on their output, and bring all of them down again.

One thread owns the children: it starts them, reads their pipes, notices their ends and sends the
signals, so nothing needs a lock but the record of output lines. Each child leads its own
session, so Ctrl-C in the terminal reaches only this process, which then decides. The kernel kills
the children when the owning thread is gone, however it went.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
import contextlib
from dataclasses import dataclass, field
from pathlib import Path
import selectors
import signal
import socket
import tempfile
import threading
import time

from armsense_bringup.launch.child import Child
from armsense_bringup.launch.output import LAUNCHER, OutputLine, OutputRecord, reason, Tracebacks
from armsense_bringup.launch.plan import ProcessSpec

# A process that is asked to stop may do so by its own exit or by the signal.
_CLEAN_AFTER_STOP = (0, -signal.SIGINT, -signal.SIGTERM, 128 + signal.SIGINT, 128 + signal.SIGTERM)


@dataclass(frozen=True)
class Timeouts:
    """How long a process may take to stop."""

    sigterm: float = 5.0  # [s] from SIGINT to SIGTERM
    sigkill: float = 5.0  # [s] from SIGTERM to SIGKILL
    grace: float = 4.0  # [s] from SIGINT to SIGKILL at least, however urgent: drivers brake arms


@dataclass
class _Supervised:
    """A process of the plan over all its lives."""

    spec: ProcessSpec
    child: Child | None = None
    retries: int = 0
    start_at: float | None = 0.0  # [s] monotonic; None where no start is due
    signals: list[tuple[float, signal.Signals]] = field(default_factory=list)  # still to send
    tracebacks: Tracebacks = field(default_factory=Tracebacks)


class Supervisor:
    """The processes of a plan, from `start` to `wait`; also a context manager.

    ```python
    with Supervisor(load('arm.launch.xml', {'arm': 'laas4'})) as supervisor:
        supervisor.wait_for_line('ready', timeout=10.0)
    assert supervisor.exit_code == 0
    ```
    """

    def __init__(self, plan: Sequence[ProcessSpec],
                 echo: Callable[[OutputLine], None] | None = None,
                 timeouts: Timeouts | None = None) -> None:
        """Prepare; nothing is started yet. `echo` gets each line, in the supervisor's thread."""
        self._processes = [_Supervised(spec) for spec in plan]
        self._output = OutputRecord(echo)
        self.wait_for_line = self._output.wait_for
        self._timeouts = timeouts or Timeouts()
        self._selector = selectors.DefaultSelector()
        self._wake_read, self._wake_write = socket.socketpair()
        self._wake_write.setblocking(False)
        self._thread = threading.Thread(target=self._main, name='launch', daemon=True)
        self._started = threading.Event()
        self._stopping = False
        self._kill_from = 0.0  # [s] monotonic; no SIGKILL earlier
        self._fault: BaseException | None = None
        self.exit_codes: dict[str, int] = {}  # last exit code by name, negative for a signal
        self.failed: list[str] = []  # names of the processes that failed unexpectedly
        self.failure = ''  # which failed first, and why; one line

    def start(self) -> Supervisor:
        """Start everything; returns when all processes have been started."""
        self._thread.start()
        self._started.wait()
        return self

    def stop(self) -> None:
        """Ask everything to stop; once more sends the next, harder signal at once."""
        with contextlib.suppress(OSError):  # all is over
            self._wake_write.send(b'!')

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end of all processes; 0 if all went well, else 1.

        Raises:
            TimeoutError: They are still running.
        """
        self._thread.join(timeout)
        if self._thread.is_alive():
            raise TimeoutError(f'still running after {timeout} s: {", ".join(self.running())}')
        if self._fault is not None:
            raise self._fault
        return self.exit_code

    @property
    def last_words(self) -> str:
        """What the processes printed last."""
        return '\n'.join(f'[{line.name}] {line.text}' for line in self.lines[-20:])

    @property
    def exit_code(self) -> int:
        return 1 if self.failed else 0

    def running(self) -> list[str]:
        """Names of the processes that live now."""
        return [p.spec.name for p in self._processes if p.child is not None]

    def pid(self, name: str) -> int:
        """Process id of a running process."""
        for process in self._processes:
            if process.spec.name == name and process.child is not None:
                return process.child.pid
        raise KeyError(f'no running process {name!r}; running: {", ".join(self.running())}')

    @property
    def lines(self) -> list[OutputLine]:
        """The output so far, the last lines of it where it is long."""
        return self._output.lines()

    def __enter__(self) -> Supervisor:
        return self.start()

    def __exit__(self, *exception: object) -> None:
        self.stop()
        self.wait()

    # Everything below runs in the thread that owns the children.

    def _main(self) -> None:
        try:
            with tempfile.TemporaryDirectory(prefix='launch_') as folder:
                self._selector.register(self._wake_read, selectors.EVENT_READ, self._on_request)
                self._run(Path(folder))
        except BaseException as error:  # handed over to wait()
            self._fault = error
        finally:
            self._clean_up()

    def _run(self, folder: Path) -> None:
        self._start_due(folder)
        self._started.set()
        while any(p.child is not None or p.start_at is not None for p in self._processes):
            for key, _ in self._selector.select(self._time_to_next()):
                key.data()
            self._send_due()
            self._start_due(folder)
        self._say('all processes have ended')
        if self.failure:
            self._say(f'FAILED: {self.failure}')

    def _clean_up(self) -> None:
        for process in self._processes:
            if process.child is not None:
                process.child.send(signal.SIGKILL)
                process.child.close()
                process.child = None
        for resource in (self._selector, self._wake_read, self._wake_write, self._output):
            resource.close()
        self._started.set()

    def _time_to_next(self) -> float | None:
        times = [p.start_at for p in self._processes if p.start_at is not None]
        times += [p.signals[0][0] for p in self._processes if p.signals]
        return max(0.0, min(times) - time.monotonic()) if times else None

    def _on_request(self) -> None:
        for _ in self._wake_read.recv(64):
            if self._stopping:
                self._hurry()
            else:
                self._stop_all()

    def _start_due(self, folder: Path) -> None:
        for process in self._processes:
            if process.start_at is not None and process.start_at <= time.monotonic():
                process.start_at = None
                self._start(process, folder)

    def _start(self, process: _Supervised, folder: Path) -> None:
        spec = process.spec
        try:
            child = Child(spec.command_line(folder), spec.environment)
        except OSError as error:
            self.exit_codes[spec.name] = 127
            self._say(f'{spec.name} cannot be started: {error}')
            self._note_failure(spec.name, f'cannot be started: {error}')
            self._stop_all()
            return
        process.child = child
        self._say(f'{spec.name} started, pid {child.pid}')
        for stream, pipe in child.pipes.items():
            self._selector.register(
                pipe, selectors.EVENT_READ, lambda s=stream: self._on_output(process, s))
        self._selector.register(child.end, selectors.EVENT_READ, lambda: self._on_end(process))

    def _on_output(self, process: _Supervised, stream: str) -> None:
        child = process.child
        if child is None:  # its end was handled in the same round
            return
        lines, open_ = child.read_lines(stream)
        self._pass_on(process, stream, lines)
        if not open_:
            self._selector.unregister(child.pipes[stream])
            child.close_pipe(stream)

    def _on_end(self, process: _Supervised) -> None:
        child, name = process.child, process.spec.name
        assert child is not None
        code = child.reap()
        for stream, pipe in child.pipes.items():
            self._pass_on(process, stream, child.read_rest(stream))
            self._selector.unregister(pipe)
        for text in process.tracebacks.rest():
            self._output.add(OutputLine(name, 'stderr', text))
        self._selector.unregister(child.end)
        child.close()
        process.child = None
        process.signals.clear()
        self.exit_codes[name] = code
        self._judge(process, code)

    def _judge(self, process: _Supervised, code: int) -> None:
        spec, asked = process.spec, self._stopping
        clean = code in _CLEAN_AFTER_STOP if asked else code == 0
        again = (
            spec.respawn and not asked and not spec.shutdown_on_exit
            and process.retries < spec.respawn_max_retries)
        how = 'stopped' if asked and clean else _end(code)
        self._say(f'{spec.name} {how}' + (', starting it again' if again else ''))
        if again:
            process.retries += 1
            process.start_at = time.monotonic() + spec.respawn_delay
        elif not clean:
            self._note_failure(spec.name, how + self._words(spec.name) if code > 0 else how)
        if spec.shutdown_on_exit and not asked:
            self._say(f'stopping everything because {spec.name} ended')
            self._stop_all()

    def _note_failure(self, name: str, how: str) -> None:
        self.failed.append(name)
        self.failure = self.failure or f'{name} {how}'

    def _words(self, name: str) -> str:
        """Why a process failed, by its own words."""
        said = reason([line.text for line in self.lines
                       if line.name == name and line.stream == 'stderr'])
        return f': {said}' if said else ''

    def _stop_all(self) -> None:
        self._stopping = True
        now = time.monotonic()
        self._kill_from = now + self._timeouts.grace
        for process in self._processes:
            process.start_at = None
            if process.child is None:
                continue
            term = now + self._timeouts.sigterm
            process.signals = [(now, signal.SIGINT), (term, signal.SIGTERM),
                               (term + self._timeouts.sigkill, signal.SIGKILL)]
        self._send_due()

    def _hurry(self) -> None:
        """Bring the next signal forward; the one after it keeps its distance."""
        now = time.monotonic()
        for process in self._processes:
            if process.signals:
                number = process.signals[0][1]
                due = max(now, self._kill_from) if number is signal.SIGKILL else now
                shift = process.signals[0][0] - due
                process.signals = [(at - shift, number) for at, number in process.signals]
        self._send_due()

    def _send_due(self) -> None:
        for process in self._processes:
            while process.child is not None and process.signals:
                at, number = process.signals[0]
                if at > time.monotonic():
                    break
                process.signals.pop(0)
                if number is not signal.SIGINT:
                    self._say(f'{process.spec.name} does not stop, sending {number.name}')
                process.child.send(number)

    def _say(self, text: str) -> None:
        self._output.add(OutputLine(LAUNCHER, 'stderr', text))

    def _pass_on(self, process: _Supervised, stream: str, lines: Sequence[str]) -> None:
        for line in lines:
            told = [line] if stream == 'stdout' else process.tracebacks.take(
                line, self._stopping)
            for text in told:
                self._output.add(OutputLine(process.spec.name, stream, text))


def _end(code: int) -> str:
    if code < 0:
        return f'died of {signal.Signals(-code).name} (exit code {code})'
    return 'finished' if code == 0 else f'died with exit code {code}'
