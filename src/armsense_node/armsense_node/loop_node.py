"""The main() of every node: executor in the background, loop in front, an orderly end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import contextlib
from dataclasses import asdict
import re
import signal
import sys
import threading
import time
import traceback
from typing import Any

import rclpy
from rclpy.exceptions import ParameterException
from rclpy.executors import ExternalShutdownException, ShutdownException, SingleThreadedExecutor
from rclpy.logging import get_logger
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.utilities import get_default_context, try_shutdown

from armsense.errors import ArmsenseError
from armsense_node.handover import Handover, share_process
from armsense_node.parameters import declare, LoopParameters, TogetherParameters
from armsense_node.turns import Turns

_SWITCH_INTERVAL = 1e-4  # [s] how long a callback in Python may keep the loop from running
_POLL = 0.02             # [s] how soon a node without a loop notices a signal or a new loop


class BackgroundExecutor:
    """Serves nodes' services, parameters, actions and timers in a second thread until `stop`.

    A callback that raises is logged and counted in `errors`; the others are served on, because
    an arm that moves must not lose its driver to a bad request.
    """

    def __init__(self, node: Node, *others: Node) -> None:
        self.errors = 0
        self._node = node
        self._executor = SingleThreadedExecutor(context=node.context)
        for each in (node, *others):
            self._executor.add_node(each)
        self._stopping = False
        self._thread = threading.Thread(target=self._spin, name=f'{node.get_name()}-executor')
        sys.setswitchinterval(_SWITCH_INTERVAL)
        self._thread.start()

    def _spin(self) -> None:
        while not self._stopping and self._node.context.ok():
            try:
                self._executor.spin_once()
            except (ExternalShutdownException, ShutdownException):
                return
            except Exception:
                if self._stopping or not self._node.context.ok():
                    return
                self.errors += 1
                self._node.get_logger().error(f'callback failed:\n{traceback.format_exc()}')

    def stop(self) -> None:
        """Lets the current callback end, then ends the thread; may be called twice."""
        self._stopping = True
        if self._thread.is_alive():
            # A task wakes the executor for certain. Its shutdown does not: it may remove the
            # wake-up just before the thread begins to wait, which then never ends.
            self._executor.create_task(lambda: None)
            self._thread.join()
        self._executor.shutdown()

    def __enter__(self) -> BackgroundExecutor:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


class _StopRequest:
    """Set by the first SIGINT or SIGTERM; further ones change nothing.

    Under `ros2 launch` Ctrl-C reaches a node twice, from the terminal and from launch: the second
    one must not interrupt the orderly end.
    """

    def __init__(self) -> None:
        self.requested = False
        self.signalled = False
        self.loop: Any = None
        self._before: dict[int, Any] = {}

    def install(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._on_signal)

    def release(self) -> None:
        """Gives the signals back; after a signal they stay ignored while the process ends."""
        for number, handler in self._before.items():
            signal.signal(number, signal.SIG_IGN if self.signalled else handler)

    def _on_signal(self, number: int, frame: object) -> None:
        self.signalled = True
        self.request()

    def request(self) -> None:
        # Assignments only: this runs between any two instructions of the main thread.
        self.requested = True
        if self.loop is not None:
            self.loop.stop()


def run_node(factory: Callable[[], Node], argv: Sequence[str] | None = None) -> int:
    """Runs a node until a signal, the end of its loop, or a failure.

    What the node may have:
        loop: A PacedLoop or ReactiveLoop, run in the main thread. A lifecycle node sets it when
            it is activated, and on deactivation sets it to None, stops the old loop and joins it;
            while it is None only the executor runs. When a loop ends by itself, so does the node.
        close(): Last words, such as bringing the motors to rest: called once, also after a
            failure, when neither loop nor executor runs any more.

    Every node with a loop gets the parameters `realtime`, `cpu` and `priority`.

    Args:
        factory: Makes the node; usually its class.
        argv: Command line; default: `sys.argv`.

    Returns:
        The process's exit code: 0, or 1 after an error, which is logged (in one line if it is an
        ArmsenseError).
    """
    return _run(_logger_name(factory, sys.argv if argv is None else argv), [factory], argv)


def run_together(factories: Sequence[Callable[[], Node]]) -> int:
    """Runs several nodes in this process until a signal, the end of the driver's loop, a failure.

    Their streams go from hand to hand (`handover`). The loop is the driver's, and after its every
    step the others have their turns, in the order given (`turns`).

    Args:
        factories: Of the nodes, in the order of the data; one of them, the driver, can brake.
    """
    return _run('arm', factories, None)


def _run(name: str, factories: Sequence[Callable[[], Node]], argv: Sequence[str] | None) -> int:
    stop = _StopRequest()
    stop.install()
    try:
        rclpy.init(
            args=None if argv is None else list(argv),
            signal_handler_options=SignalHandlerOptions.NO)
        get_default_context().on_shutdown(stop.request)
        _live(factories, stop)
    except (ArmsenseError, ParameterException) as error:
        get_logger(name).fatal(str(error))
        return 1
    except Exception:
        get_logger(name).fatal(traceback.format_exc())
        return 1
    finally:
        try_shutdown()
        stop.release()
    return 0


def _logger_name(factory: Callable[[], Node], argv: Sequence[str]) -> str:
    """The name that the node has, or would have had: `ros2 launch` passes it, else its class."""
    given = [word.partition(':=')[2] for word in argv if word.startswith('__node:=')]
    own = getattr(factory, '__name__', 'armsense').removesuffix('Node')
    return given[-1] if given else re.sub('(?<=[a-z])(?=[A-Z])', '_', own).lower()


def _live(factories: Sequence[Callable[[], Node]], stop: _StopRequest) -> None:
    """From the making of the nodes to their end, in the opposite order."""
    handover = share_process(get_default_context()) if len(factories) > 1 else None
    with contextlib.ExitStack() as ends:
        nodes = []
        for factory in factories:
            nodes.append(factory())
            ends.callback(_end, nodes[-1])
        with BackgroundExecutor(*nodes):
            if handover is None:
                _run_loops(nodes[0], stop)
            else:
                _run_together(nodes, handover, stop)


def _end(node: Node) -> None:
    try:
        close = getattr(node, 'close', None)
        if close is not None:
            close()
    finally:
        node.destroy_node()


def _run_together(nodes: Sequence[Any], handover: Handover, stop: _StopRequest) -> None:
    drivers = [node for node in nodes if hasattr(node, 'stand_in')]
    if len(drivers) != 1:
        names = ', '.join(node.get_name() for node in nodes)
        raise ArmsenseError(f'{len(drivers)} drivers among {names}; one process has one')
    driver, = drivers
    handover.set_quiet_rate(declare(driver, TogetherParameters).quiet_rate)
    others = [node for node in nodes if node is not driver]
    for node in others:
        declare(node, LoopParameters)      # as where it has its process for itself
    with Turns(driver, others) as turns:
        _run_loops(driver, stop, turns.take)


def _run_loops(node: Any, stop: _StopRequest, after_step: Callable[[], None] | None = None,
               ) -> None:
    """Runs the node's loop, or one after the other while a lifecycle node replaces it."""
    while not stop.requested:
        loop = getattr(node, 'loop', None)
        if loop is None:
            time.sleep(_POLL)
            continue
        stop.loop = loop
        if stop.requested:
            return
        if after_step is not None:
            loop.after_step = after_step
        loop.run(**asdict(declare(node, LoopParameters)))
        if node.loop is loop:
            return
