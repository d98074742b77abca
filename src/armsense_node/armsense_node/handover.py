"""Streams between nodes of one process: from hand to hand, with their topics beside it.

The middleware would carry a message out of the process' queue into its own and back, and wake
threads for it. Here the bytes that a node publishes go straight into the inboxes of those that
subscribe in the same process. The topic stays what it is for everybody else: while somebody
outside listens every message is published, else some of them a second (`quiet_rate`).

Who subscribes within the process hears the publishers within it; only where there is none, those
outside. What the middleware brings back of one's own messages is an echo.
"""

from __future__ import annotations

from collections import deque
import time
from weakref import WeakKeyDictionary

from rclpy.context import Context
from rclpy.node import Node

QUIET_RATE = 10.0   # [Hz] of a stream that nobody outside listens to
ECHOES = 4          # of the newest messages, by which an echo is known

Inbox = deque[tuple[bytes, int]]   # serialised message, wall clock [ns]


class Channel:
    """One topic."""

    def __init__(self, quiet_rate: float = QUIET_RATE) -> None:
        self.inboxes: list[Inbox] = []
        self.publishers = 0                  # in this process
        self.set_quiet_rate(quiet_rate)
        self._echoes: deque[bytes] = deque(maxlen=ECHOES)
        self._published = 0                  # [ns] when the outside last got one

    def hand_on(self, data: bytes, listeners: int) -> bool:
        """To all inboxes; whether it is to be published, too.

        Args:
            data: A serialised message.
            listeners: All subscriptions that the middleware knows, those of this process included.
        """
        now = time.time_ns()
        for inbox in self.inboxes:
            inbox.append((data, now))
        if listeners <= len(self.inboxes) and now - self._published < self._quiet_period:
            return False
        self._published = now
        self._echoes.append(data)
        return True

    def set_quiet_rate(self, rate: float) -> None:
        """While nobody outside listens [Hz]; 0: nothing is published then."""
        self._quiet_period = 1e9 / rate if rate else float('inf')   # [ns]

    def is_echo(self, data: bytes) -> bool:
        """Whether a message of the middleware is one that was handed on."""
        return data in self._echoes


class Handover:
    """The channels of a process; there is one only where nodes share it (`share_process`)."""

    def __init__(self) -> None:
        self._channels: dict[str, Channel] = {}
        self._quiet_rate = QUIET_RATE

    def channel(self, node: Node, topic: str) -> Channel:
        """Of a topic, by the name that it has for this node."""
        return self._channels.setdefault(node.resolve_topic_name(topic), Channel(self._quiet_rate))

    def set_quiet_rate(self, rate: float) -> None:
        """Of all channels, those to come, too: see there."""
        self._quiet_rate = rate
        for channel in self._channels.values():
            channel.set_quiet_rate(rate)


_SHARED: WeakKeyDictionary[Context, Handover] = WeakKeyDictionary()


def share_process(context: Context) -> Handover:
    """From now on the streams of nodes of this context go from hand to hand."""
    return _SHARED.setdefault(context, Handover())


def channel_of(node: Node, topic: str) -> Channel | None:
    """The channel of a topic; None where the node has its process for itself."""
    shared = _SHARED.get(node.context)
    return None if shared is None else shared.channel(node, topic)
