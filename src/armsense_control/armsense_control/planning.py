"""A thread that plans goals, while the executor goes on to serve hold, cancel and all the rest."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
import time
from typing import Any

from rclpy.node import Node
from rclpy.task import Future

LONGEST_WAIT = 1.0   # [s] of the arm's time, which in lock-step goes slower than the wall clock
STUCK = 5.0          # [s] wall clock: no states come
POLL = 0.01          # [s]


class Planning:
    """Plans one goal after the other.

    A future of rclpy does not wake an executor that waits, and a callback that waits for planning
    would keep all others from being served: so a callback awaits the future, and a task wakes the
    executor when it is done.
    """

    def __init__(self, node: Node, wait: Callable[[], bool], clock: Callable[[], float]) -> None:
        """Prepare.

        Args:
            node: The controller.
            wait: The arm is not ready for a goal, but will be in a moment.
            clock: Time of the newest state [s].
        """
        self._node, self._wait, self._clock = node, wait, clock
        self._pool = ThreadPoolExecutor(1, thread_name_prefix=f'{node.get_name()}-planning')

    def submit(self, plan: Callable[[], Any]) -> Future:
        """Begin to plan as soon as what came before is planned; await the result."""
        done = Future()
        self._pool.submit(self._work, plan, done)
        return done

    def close(self) -> None:
        """End without what is still to be planned."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _work(self, plan: Callable[[], Any], done: Future) -> None:
        deadline, stuck = self._clock() + LONGEST_WAIT, time.monotonic() + STUCK
        while self._wait() and self._clock() < deadline and time.monotonic() < stuck:
            time.sleep(POLL)
        try:
            done.set_result(plan())
        except Exception as error:
            done.set_exception(error)
        executor = self._node.executor
        if executor is not None:
            executor.create_task(_nothing)


def _nothing() -> None:
    """Work for an executor that shall look up."""
