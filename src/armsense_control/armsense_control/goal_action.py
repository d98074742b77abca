"""What every action that moves the arm does with its goals.

Goals are planned in a thread of their own: one that is cancelled meanwhile never begins. A goal
that cannot be driven is accepted and aborted at once with error code and text: a rejected action
goal could not say why.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
import time
from typing import Any, NamedTuple

from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.node import Node
from rclpy.task import Future

from armsense.control.goal import GoalRefused, GoalStatus
from armsense.control.motion_controller import MotionController
from armsense.errors import ArmsenseError
from armsense.trajectory import ErrorCode

FEEDBACK_PERIOD = 0.05   # [s]
# [s] for which the result of a goal can be asked for. Every status message lists all goals that
# are kept; with rclpy's 15 min a stream of short goals means hundreds, for every listener.
RESULT_KEPT = 60
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


class Served(NamedTuple):
    """What an action server of a controller stands on."""

    node: Node                              # the controller
    controller: MotionController            # its laws and goals
    clock: Callable[[], tuple[int, float]]  # stamp of the newest state [ns], controller's time [s]
    planning: Planning                      # where goals are planned


class GoalAction(ABC):
    """Action server on the executor's thread; the loop only sees the controller's queue."""

    def __init__(self, served: Served, action: Any, name: str) -> None:
        """Serve a type of action, whose result has `error_code` and `error_string`."""
        self.node, self.controller, self.clock, self.planning = served
        self._action = action
        self._running: list[tuple[Any, GoalStatus, Future]] = []
        self._server = ActionServer(
            self.node, action, name, self._execute,
            goal_callback=lambda request: GoalResponse.ACCEPT,
            cancel_callback=self._cancel, result_timeout=RESULT_KEPT)
        self.node.create_timer(FEEDBACK_PERIOD, self._watch)

    @abstractmethod
    def plan(self, request: Any, status: GoalStatus) -> Future:
        """Let a goal be planned; the future fails with the reason of a refusal."""

    @abstractmethod
    def feedback(self, status: GoalStatus) -> Any:
        """Of a goal that is driven."""

    async def _execute(self, handle: Any) -> Any:
        if handle.is_cancel_requested:       # before it could begin
            handle.canceled()
            return self._result(ErrorCode.SUCCESSFUL, 'cancelled')
        running = handle, GoalStatus(), Future()
        self._running.append(running)        # from now on it can be cancelled
        try:
            await self.plan(handle.request, running[1])
        except ArmsenseError as error:
            if running in self._running:
                self._running.remove(running)
            handle.abort()
            code = error.code if isinstance(error, GoalRefused) else ErrorCode.INVALID_GOAL
            return self._result(code, str(error))
        await running[2]
        return self._end(handle, running[1])

    def _cancel(self, handle: Any) -> CancelResponse:
        for running, status, _ in self._running:
            if running is handle:            # another goal may have replaced it
                self.controller.cancel(status)
        return CancelResponse.ACCEPT

    def _watch(self) -> None:
        """Feedback of the running goals; wakes those that have ended."""
        for entry in list(self._running):
            handle, status, done = entry
            if not status.active:
                self._running.remove(entry)
                done.set_result(None)
            elif status.desired is not None and status.error is not None:
                handle.publish_feedback(self.feedback(status))

    def _end(self, handle: Any, status: GoalStatus) -> Any:
        """Tell the client how its goal has ended."""
        if status.succeeded:
            handle.succeed()
        elif status.cancelled and handle.is_cancel_requested:
            handle.canceled()
        else:
            handle.abort()
            if status.cancelled:             # by somebody else: its client did not get its goal
                return self._result(ErrorCode.INVALID_GOAL, status.text)
        return self._result(status.code, status.text)

    def _result(self, code: ErrorCode, text: str) -> Any:
        return self._action.Result(error_code=int(code), error_string=text)
