"""Lock-step: virtual time that advances only when every node has answered the last state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import time
from typing import NamedTuple

from armsense_core.errors import ArmsenseError
from armsense_driver.loop import _Loop as Loop
from armsense_driver.loop import StreamSubscription


class Answerer(NamedTuple):
    """A stream that must answer every state, and what to do with the answer."""

    name: str
    stream: StreamSubscription
    handle: Callable[[object], None]


class LockstepTimeout(ArmsenseError):
    """Nobody answered; a lock-step run must fail loudly, not hang."""


class LockstepLoop(Loop):
    """Calls `step(tick) -> seq`, then waits until every answerer has sent that `seq`."""

    def __init__(self, step: Callable[[int], int | None], repeat: Callable[[], None],
                 answerers: Sequence[Answerer], subscribers: Callable[[], int],
                 wall_limit: float = 10.0, start_limit: float = 60.0) -> None:
        """Make the loop.

        Args:
            step: One period; returns the seq of the state it published, None without one.
            repeat: Publishes the last state again: a best-effort message may be lost.
            answerers: Who has to answer.
            subscribers: How many subscribers the state has now.
            wall_limit: Longest wait for the answers to one state [s].
            start_limit: Longest wait for all nodes to appear [s].
        """
        super().__init__(None)
        self._step = step
        self._repeat = repeat
        self._answerers = tuple(answerers)
        self._subscribers = subscribers
        self._wall_limit = wall_limit
        self._start_limit = start_limit

    def _cycle(self) -> None:
        self._await_nodes()
        tick = 0
        while not self._stopped:
            tick += 1
            seq = self._step(tick)
            self.statistics.ticks += 1
            if seq is not None:
                self._await_answers(seq)

    def _await_nodes(self) -> None:
        deadline = time.monotonic() + self._start_limit
        while not self._stopped:
            missing = [a.name for a in self._answerers if not a.stream.publisher_count()]
            if not missing and self._subscribers() >= len(self._answerers):
                return
            if time.monotonic() > deadline:
                raise LockstepTimeout(
                    f'nobody publishes {", ".join(missing) or "answers"} after '
                    f'{self._start_limit:.0f} s')
            time.sleep(0.01)

    def _await_answers(self, seq: int) -> None:
        deadline = time.monotonic() + self._wall_limit
        for answerer in self._answerers:
            while not self._stopped:
                answer = answerer.stream.wait(0.1)
                if answer is not None:
                    answerer.handle(answer)
                    if answer.seq >= seq:
                        break
                    continue
                if time.monotonic() > deadline:
                    raise LockstepTimeout(f'no {answerer.name} answered state {seq} within '
                                          f'{self._wall_limit:.0f} s')
                self._repeat()
