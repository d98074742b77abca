"""The fast loop of every high-rate node.

rclpy's executor rebuilds its wait set in Python for every message, which costs most of a core at
1 kHz. Here the loop runs in the main thread and reads its subscriptions itself, while an executor
in a second thread serves parameters, services and actions. Two kinds of loop:

- `PacedLoop`: the driver. Steps at absolute deadlines. When it is late it skips whole periods and
  counts them; it never catches up in a burst.
- `ReactiveLoop`: controllers and observers. Steps when a state arrives; there is no second clock.

A node holds its loop in the attribute `loop` and hands its class to `run_node`:

    class Echo(Node):
        def __init__(self) -> None:
            super().__init__('echo')
            self._commands = StreamPublisher(self, MotorCommands, 'motor_commands', length=4)
            states = StreamSubscription(self, MotorStates, 'motor_states', length=4,
                                        optional=('joint_position', 'strain'))
            self.loop = ReactiveLoop(states, self._step)

        def _step(self, state) -> None:
            command = self._commands.message
            command.seq, command.stamp_ns = state.seq, state.stamp_ns
            command.position = state.position
            self._commands.publish()

    def main() -> int:
        return run_node(Echo)

Clock and sleep are arguments, so that tests need no waiting. A loop runs once: after `stop()` make
another. Keep a step under 50 us; heavy work belongs in another process.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
import gc
import inspect
import sys
import threading
import time
from typing import Any

from armsense.errors import BadValue
from armsense_node.loop_node import BackgroundExecutor, run_node, run_together
from armsense_node.loop_realtime import (
    ANY_CPU,
    exact_timers,
    PRIORITY,
    Privileges,
    realtime_privileges,
)
from armsense_node.loop_statistics import LoopStatistics
from armsense_node.loop_stream import (
    DirectSubscription,
    LoopEnded,
    state_time,
    StreamPublisher,
    StreamSubscription,
    WaitSet,
)
from armsense_node.qos import event_qos, latched_qos, stream_qos

__all__ = [   # all that most nodes need
    'BackgroundExecutor', 'DirectSubscription', 'event_qos', 'latched_qos', 'Loop', 'LoopEnded',
    'PacedLoop', 'ReactiveLoop', 'run_node', 'run_together', 'state_time', 'stream_qos',
    'StreamPublisher', 'StreamSubscription', 'WaitSet']

_LONGEST_SLEEP = 50_000_000  # [ns] so that a slow loop, too, notices a stop soon

Clock = Callable[[], int]  # [ns]


class Loop:
    """Start and stop, common to both loops."""

    def __init__(self, may_end: Callable[[], bool] | None = None) -> None:
        self.statistics = LoopStatistics()
        self._may_end = may_end
        self.privileges: Privileges | None = None  # what run(realtime=True) obtained
        self.after_step: Callable[[], None] = _nothing   # others of the process take their turns
        self._stopped = False
        self._idle = threading.Event()
        self._idle.set()

    @property
    def stopped(self) -> bool:
        return self._stopped

    def stop(self) -> None:
        """Ends the loop as soon as it may; callable from any thread and signal handler."""
        # Only an assignment: a lock here could block a signal handler for ever.
        self._stopped = True

    def join(self, timeout: float | None = None) -> bool:
        """Waits until `run` has returned (at once if it never began); False: it still runs."""
        return self._idle.wait(timeout)

    def run(self, realtime: bool = False, cpu: int = ANY_CPU, priority: int = PRIORITY) -> None:
        """Runs in this thread until `stop`, with what `realtime_privileges` grants if wanted."""
        self._idle.clear()
        _know_all_modules()
        # What there is now stays until the loop ends. Left to the garbage collector, looking
        # through it would stop the loop for milliseconds.
        gc.collect()
        gc.freeze()
        try:
            exact_timers()
            if realtime:
                self.privileges = realtime_privileges(cpu, priority)
            self._cycle()
        except LoopEnded:
            pass
        finally:
            gc.unfreeze()
            self._stopped = True
            self._idle.set()

    def take_turn(self) -> None:
        """In place of `run`, by the loop of another node: whatever step is due now, if any."""
        self._idle.clear()
        try:
            if not self._stopped:
                self._turn()
        except LoopEnded:
            pass
        finally:
            self._idle.set()

    def _turn(self) -> None:
        raise NotImplementedError(f'{type(self).__name__} needs a thread of its own')

    def finish(self) -> None:
        """After a failure of `run`: the steps that are due before the loop may end."""
        self._stopped = True
        self.after_step = _nothing
        if self._may_end is not None:
            self._cycle()

    @property
    def _ended(self) -> bool:
        """Asked before every step: whether there shall be none."""
        return self._stopped and (self._may_end is None or self._may_end())

    def _cycle(self) -> None:
        raise NotImplementedError


def _nothing() -> None:
    """After the step of a node that has its process for itself."""


def _know_all_modules() -> None:
    """Lets the first line that the loop logs cost no more than the others.

    For the place of a log call rclpy asks `inspect`, which on first use looks at the file of every
    module: 70 ms in which neither this loop nor a less urgent one on the same core would run.
    """
    inspect.getframeinfo(sys._getframe())


class PacedLoop(Loop):
    """Calls `step(tick)` at absolute deadlines.

    `tick` counts periods since the start, skipped ones included: the time since the last step is
    `(tick - last_tick) * period`, whatever the scheduler did.

    Args:
        period: [s]
        step: The work of one period.
        clock: Monotonic time [ns].
        sleep: Sleeps for a time [s]; may end early.
        may_end: Asked in every period once a stop was requested; False: one more step.
    """

    def __init__(
        self, period: float, step: Callable[[int], None], *,
        clock: Clock = time.monotonic_ns, sleep: Callable[[float], None] = time.sleep,
        may_end: Callable[[], bool] | None = None,
    ) -> None:
        super().__init__(may_end)
        if not period >= 1e-5:
            raise BadValue('period', period, 'at least 1e-5 s')
        self.period = period
        self._period = round(period * 1e9)  # [ns]
        self._step = step
        self._clock = clock
        self._sleep = sleep
        self._due = 0      # [ns] when the next turn is
        self._tick = 0     # of the last turn

    def _turn(self) -> None:
        """The step of the present period, unless it was done already."""
        now = self._clock()
        if now < self._due:
            return
        late = (now - self._due) // self._period if self._due else 0
        self._tick += 1 + late
        self._due = (self._due or now) + (1 + late) * self._period
        self._step(self._tick)
        self.statistics.ticks += 1
        self.statistics.missed += late

    def _cycle(self) -> None:
        clock, period, statistics = self._clock, self._period, self.statistics
        tick = 0
        last = clock()
        # The grid begins here, not when the loop was made: a late start misses nothing.
        deadline = last + period
        while True:
            deadline = self._sleep_until(deadline)
            if self._ended:
                return
            now = clock()
            late = now - deadline
            skipped = late // period if late >= period else 0
            tick += 1 + skipped
            self._step(tick)
            statistics.ticks += 1
            statistics.missed += skipped
            statistics.period.add(now - last)
            statistics.lateness.add(late)
            statistics.response.add(clock() - deadline)
            last = now
            deadline += (1 + skipped) * period
            self.after_step()

    def _sleep_until(self, deadline: int) -> int:
        """Sleeps; returns the deadline, which is a new one if the clock went backwards."""
        clock, period = self._clock, self._period
        while not self._stopped or self._may_end is not None:
            left = deadline - clock()
            if left <= 0:
                break
            if left > period:
                self.statistics.clock_jumps += 1
                left = period
                deadline = clock() + period
            self._sleep(min(left, _LONGEST_SLEEP) * 1e-9)
        return deadline


class ReactiveLoop(Loop):
    """Calls `step(message)` for every message that arrives, always the newest.

    Gaps in the messages' `seq`, if they have one, are counted as missed.

    Args:
        subscription: The stream that drives the loop.
        step: The work; publishes its answer itself.
        events: Pairs of subscription and handler; whatever waits is handled, oldest first, before
            the step, so that an event acts in the same cycle.
        timeout: Silence [s] after which `on_silence` is called, and again after each further one;
            also the longest time that a stop takes.
        on_silence: What to do when the stream pauses.
        clock: Monotonic time [ns].
        wall: Wall-clock time [ns], comparable with the subscription's `received_ns`.
        may_end: Asked before every wait once a stop was requested; False: one more.
    """

    def __init__(
        self, subscription: DirectSubscription, step: Callable[[Any], None], *,
        events: Sequence[tuple[DirectSubscription, Callable[[Any], None]]] = (),
        timeout: float = 0.05, on_silence: Callable[[], None] | None = None,
        clock: Clock = time.monotonic_ns, wall: Clock = time.time_ns,
        may_end: Callable[[], bool] | None = None,
    ) -> None:
        super().__init__(may_end)
        if not 0.0 < timeout <= 1.0:
            raise BadValue('timeout', timeout, 'over 0 and at most 1 s')
        self._subscription = subscription
        self._step = step
        self._events = tuple(events)
        self._timeout = timeout
        self._on_silence = on_silence
        self._clock = clock
        self._wall = wall
        self._last = self._last_seq = 0    # [ns] of the last step, number of its message

    def _cycle(self) -> None:
        wait, timeout = self._subscription.wait, self._timeout
        while not self._ended:
            message = wait(timeout)
            if self._stopped and self._may_end is None:
                return
            self._handle_events()
            if message is not None:
                self._answer(message)
            elif self._on_silence is not None:
                self._on_silence()
            self.after_step()

    def _turn(self) -> None:
        message = self._subscription.take_latest()
        if message is not None:
            self._handle_events()
            self._answer(message)

    def _answer(self, message: Any) -> None:
        statistics = self.statistics
        now = self._clock()
        arrival = self._subscription.received_ns
        begun = self._wall()
        self._step(message)
        seq = getattr(message, 'seq', 0)
        statistics.ticks += 1
        if self._last:
            statistics.period.add(now - self._last)
        if self._last_seq:
            statistics.missed += max(seq - self._last_seq - 1, 0)
        statistics.lateness.add(begun - arrival)
        statistics.response.add(self._wall() - arrival)
        self._last, self._last_seq = now, seq

    def _handle_events(self) -> None:
        for subscription, handle in self._events:
            for event in subscription.drain():
                handle(event)
