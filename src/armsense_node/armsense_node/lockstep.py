"""Lock-step: virtual time that advances only when every node has answered the last state.

A node that was deactivated listens on but offers no answers; time goes on without it, as it does
on a real arm, until it is activated again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
import time
from typing import Any, NamedTuple

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from armsense.errors import ArmsenseError
from armsense_node.loop import Loop, StreamSubscription

WALL_LIMIT = 20.0     # [s] longest wait for the answers to one state
START_LIMIT = 60.0    # [s] longest wait for all nodes to appear


def lockstep_qos() -> QoSProfile:
    """Streams in lock-step are reliable and kept: nothing is lost, not even before discovery."""
    return QoSProfile(depth=1000, reliability=ReliabilityPolicy.RELIABLE,
                      durability=DurabilityPolicy.TRANSIENT_LOCAL)


class Answerer(NamedTuple):
    """A stream that must answer every state, and what to do with the answer."""

    name: str
    stream: StreamSubscription
    handle: Callable[[Any], None]


class LockstepTimeout(ArmsenseError):
    """Nobody answered; a lock-step run must fail loudly, not hang."""


class LockstepLoop(Loop):
    """Calls `step(tick) -> seq`, then waits until every answerer has sent that `seq`."""

    def __init__(self, step: Callable[[int], int | None], answerers: Sequence[Answerer],
                 listened_to: Callable[[], bool],
                 may_end: Callable[[], bool] | None = None) -> None:
        """Make the loop.

        Args:
            step: One period; returns the seq of the state it published, None without one.
            answerers: Who has to answer.
            listened_to: Whether all who have to listen have subscribed.
            may_end: Asked in every period once a stop was requested; False: one more step, which
                nobody has to answer.
        """
        super().__init__(may_end)
        self._step = step
        self._answerers = tuple(answerers)
        self._listened_to = listened_to

    def _cycle(self) -> None:
        self._await_nodes()
        tick = 0
        while not self._ended:
            tick += 1
            seq = self._step(tick)
            self.statistics.ticks += 1
            self.after_step()
            if seq is not None:
                self._await_answers(seq)

    def _await_nodes(self) -> None:
        deadline = time.monotonic() + START_LIMIT
        while not self._stopped:
            missing = [a.name for a in self._answerers if not a.stream.publisher_count()]
            if not missing and self._listened_to():
                return
            if time.monotonic() > deadline:
                raise LockstepTimeout(
                    f'nobody publishes {", ".join(missing) or "answers"} after '
                    f'{START_LIMIT:.0f} s')
            time.sleep(0.01)

    def _await_answers(self, seq: int) -> None:
        deadline = time.monotonic() + WALL_LIMIT
        for answerer in self._answerers:
            while not (self._stopped or self._deactivated(answerer)):
                answer = answerer.stream.wait_oldest(0.1)    # a newer one may be a rival's
                if answer is not None:
                    answerer.handle(answer)
                    if answer.seq >= seq:
                        break
                elif time.monotonic() > deadline:
                    raise LockstepTimeout(f'no {answerer.name} answered state {seq} within '
                                          f'{WALL_LIMIT:.0f} s')
                else:
                    self.after_step()      # one of this process may have been activated meanwhile

    def _deactivated(self, answerer: Answerer) -> bool:
        """Not so one that has died: it does not listen either, and the run shall fail."""
        return answerer.stream.deserted and self._listened_to()
