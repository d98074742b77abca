"""A node as a process of its own, and what a test needs to talk to it."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import subprocess
import sys

import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

PATIENCE = 90.0   # [s] far beyond what is needed: these tests judge order, not time


@contextlib.contextmanager
def own_node() -> Iterator[Node]:
    """A node in the test's own process, with a context of its own."""
    context = Context()
    rclpy.init(context=context)
    node = Node('tester', context=context)
    try:
        yield node
    finally:
        node.destroy_node()
        rclpy.shutdown(context=context)


def start(module: str, *parameters: str) -> subprocess.Popen[str]:
    """Run the module of a node; `parameters` such as 'arm:=laas4'."""
    arguments = [word for p in parameters for word in ('-p', p)]
    return subprocess.Popen([sys.executable, '-m', module, '--ros-args', *arguments],
                            stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)


def finish(process: subprocess.Popen[str], *signals: int) -> tuple[str, str, int]:
    """Send signals and wait for the end: output, errors, exit code. Nothing outlives the test."""
    try:
        for number in signals:
            process.send_signal(number)
        out, errors = process.communicate(timeout=PATIENCE)
        return out, errors, process.returncode
    finally:
        process.kill()
        process.wait()


def call(node: Node, kind: type, name: str, request: object, patience: float = PATIENCE):
    """What a service answers within `patience` [s]; None: nothing."""
    client = node.create_client(kind, name)
    executor = SingleThreadedExecutor(context=node.context)
    executor.add_node(node)
    try:
        assert client.wait_for_service(PATIENCE)
        future = client.call_async(request)
        executor.spin_until_future_complete(future, patience)
        return future.result() if future.done() else None
    finally:
        executor.remove_node(node)
        executor.shutdown()
        node.destroy_client(client)
