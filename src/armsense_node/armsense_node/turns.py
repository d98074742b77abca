"""Several nodes in one process and one thread: after the step of the driver, those of the others.

They share a process, not their faults. A node that raises, or whose step takes longer than the
driver waits for a command, is blamed by name, and the arbiter brakes. While it does not come back,
a second thread goes on with the driver's cycles: the boards' watchdog would let the arm fall.
"""

from __future__ import annotations

from collections.abc import Sequence
import threading
import time
import traceback
from typing import Any

from armsense.errors import ArmsenseError

_LOOKS = 4   # at a step, in the time that it may take


class Turns:
    """The turns of all nodes but the driver, in the order of the data; also a context manager."""

    def __init__(self, driver: Any, others: Sequence[Any]) -> None:
        """Make the turns.

        Args:
            driver: Has `step_limit` [s], `blame_failure`, `blame_overrun` and `stand_in`.
            others: Nodes with a `loop`, or None while they have none to run.
        """
        self._driver = driver
        self._others = tuple((node.get_name(), node) for node in others)
        self._limit = round(driver.step_limit * 1e9)   # [ns]
        self._turn: tuple[str, int] | None = None      # whose it is, and since when [ns]
        self._wheel = threading.Lock()                 # held by whoever makes the driver's cycles
        self._ended = threading.Event()
        self._watch = threading.Thread(target=self._watch_steps, name='turns', daemon=True)

    def __enter__(self) -> Turns:
        self._watch.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._watch.join()

    def take(self) -> None:
        """One turn of each.

        Raises:
            ArmsenseError: A node failed; the arm brakes already.
        """
        clock = time.monotonic_ns
        for name, node in self._others:
            loop = node.loop
            if loop is None:
                continue
            begin = clock()
            self._turn = name, begin
            try:
                loop.take_turn()
            except Exception as error:
                self._fail(name, node, error)
            finally:
                self._turn = None
            if clock() - begin > self._limit:
                with self._wheel:
                    self._driver.blame_overrun(name, (clock() - begin) * 1e-9)

    def _fail(self, name: str, node: Any, error: Exception) -> None:
        node.get_logger().fatal(str(error) if isinstance(error, ArmsenseError)
                                else traceback.format_exc())
        with self._wheel:
            self._driver.blame_failure(name, error)
        raise ArmsenseError(f'{name} has failed: {error}') from error

    def _watch_steps(self) -> None:
        while not self._ended.wait(self._limit * 1e-9 / _LOOKS):
            while (turn := self._overdue()) is not None:
                with self._wheel:
                    if self._turn == turn:
                        self._driver.stand_in(turn[0], (time.monotonic_ns() - turn[1]) * 1e-9)
                time.sleep(self._driver.period)

    def _overdue(self) -> tuple[str, int] | None:
        turn = self._turn
        return turn if turn is not None and time.monotonic_ns() - turn[1] > self._limit else None
