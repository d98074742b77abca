"""Heavy work in a process of its own: it tells its progress, and it can be stopped at any time."""

from collections.abc import Callable, Iterator
import multiprocessing
from multiprocessing.connection import Connection
import signal
import traceback
from typing import Any

from armsense.errors import ArmsenseError

END = 5.0   # [s] granted to a process that was asked to end


class Cancelled(ArmsenseError):
    """The one who asked does not want the result any more."""

    def __init__(self) -> None:
        super().__init__('cancelled')


class Worker:
    """One call of a function, with arguments and `tell`."""

    def __init__(self, work: Callable[..., Any], **arguments: Any) -> None:
        """Start a function of a module; it may call `tell` with anything picklable."""
        context = multiprocessing.get_context('spawn')   # threads of DDS do not survive a fork
        self._receiver, sender = context.Pipe(duplex=False)
        self._process = context.Process(target=_main, args=(work, arguments, sender), daemon=True)
        self._process.start()
        sender.close()
        self.result: Any = None

    def poll(self, cancelled: Callable[[], bool]) -> Iterator[Any]:
        """What was told since the last look (None: nothing), until `result` is there.

        Raises `Cancelled` as soon as `cancelled` says so, and ArmsenseError where the work failed.
        """
        try:
            while True:
                if cancelled():
                    raise Cancelled
                told, done = self._receive()
                yield told
                if done:
                    return
        finally:
            self.stop()

    def _receive(self) -> tuple[Any, bool]:
        newest = None
        while self._receiver.poll():
            try:
                kind, value = self._receiver.recv()
            except EOFError:
                self._process.join(END)
                raise ArmsenseError(f'the worker ended without a result (exit code '
                                    f'{self._process.exitcode})') from None
            if kind == 'error':
                raise ArmsenseError(value)
            if kind == 'result':
                self.result = value
                return newest, True
            newest = value
        return newest, False

    def stop(self) -> None:
        """End the process, whatever it does."""
        if self._process.is_alive():
            self._process.terminate()
            self._process.join(END)
            if self._process.is_alive():
                self._process.kill()
        self._process.join()
        self._receiver.close()


def _main(work: Callable[..., Any], arguments: dict[str, Any], sender: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)   # Ctrl-C is for the node, which then ends this
    try:
        result = work(**arguments, tell=lambda value: sender.send(('told', value)))
        sender.send(('result', result))
    except ArmsenseError as error:
        sender.send(('error', str(error)))
    except Exception:
        sender.send(('error', f'internal error:\n{traceback.format_exc()}'))
