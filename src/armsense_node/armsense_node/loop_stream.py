"""Subscriptions that a loop reads itself, past rclpy's executor, and publishers that send records.

This module is the only place that uses rclpy's private interfaces: the subscription handle's
`take_message`, the publisher handle's `publish_raw` and the wait set.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
import time
from typing import Any

from rclpy.callback_groups import CallbackGroup
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from armsense.errors import ArmsenseError
from armsense.recordings.record import new_record, RecordDecoder
from armsense_node.handover import channel_of, ECHOES, Inbox
from armsense_node.qos import event_qos, stream_qos

_COMPLAIN_EVERY = 5.0  # [s]
_SLICE = 0.05            # [s] of a wait: signals are heard in between
_TURNS = 5_000_000_000   # [ns] in which two publishers are noticed, and then remembered


class LoopEnded(Exception):
    """The loop shall end, and one of its steps still waited for a message."""


class _LeftToTheLoop(CallbackGroup):
    """Keeps the executor away from a subscription.

    From its events, too: waiting for them would wake the executor with every message.
    """

    def can_execute(self, entity: Any) -> bool:
        return False

    def beginning_execution(self, entity: Any) -> bool:
        return False

    def ending_execution(self, entity: Any) -> None:
        pass


class WaitSet:
    """Blocks until one of several subscriptions has a message; made once, used every cycle."""

    def __init__(self, subscriptions: Sequence[DirectSubscription]) -> None:
        self._handles = [s.handle for s in subscriptions]
        context: Any = subscriptions[0].node.context.handle
        with context:
            self._set = rclpy_implementation.WaitSet(
                len(self._handles), 0, 0, 0, 0, 0, context)

    def wait(self, timeout: float) -> None:
        """Returns when a message is there or `timeout` [s] has passed."""
        wait_set = self._set
        # rcl removes what was not ready, so the set is filled anew each time.
        wait_set.clear_entities()
        for handle in self._handles:
            wait_set.add_subscription(handle)
        wait_set.wait(int(timeout * 1e9))


class DirectSubscription:
    """A subscription without callback: the loop takes the messages when it wants them.

    Args:
        node: The node that subscribes.
        msg_type: Message class.
        topic: Relative name.
        qos: Default: reliable, for events.
    """

    _raw = False

    def __init__(
        self, node: Node, msg_type: Any, topic: str, qos: QoSProfile | None = None,
    ) -> None:
        qos = event_qos() if qos is None else qos
        self.node = node
        self.msg_type = msg_type
        self.received_ns = 0  # [ns] wall clock: when the middleware got the last message taken
        self._taken = 0                 # [ns] monotonic: when the last message was taken
        self._number = 0                # by which its publisher counts the last message taken
        self._set_back = (-_TURNS, -_TURNS)  # [ns] when it last did not grow, and before that
        self._single = qos.depth == 1
        self._channel = channel_of(node, topic) if self._raw else None
        self._inbox: Inbox = deque(maxlen=qos.depth)
        if self._channel is not None:
            self._channel.inboxes.append(self._inbox)
            if qos.durability == DurabilityPolicy.TRANSIENT_LOCAL and not self._single:
                # Lock-step: of what is kept for ever here only echoes would be left.
                qos = QoSProfile(depth=ECHOES, reliability=ReliabilityPolicy.BEST_EFFORT)
        self._subscription = node.create_subscription(
            msg_type, topic, lambda _: None, qos, callback_group=_LeftToTheLoop(), raw=self._raw)
        self.handle = self._subscription.handle
        self._wait_set = WaitSet([self])

    def take(self) -> Any | None:
        """The oldest waiting message, or None."""
        if self._channel is None:
            return self._take_from_middleware()
        if self._inbox:
            data, self.received_ns = self._inbox.popleft()
            self._taken = time.monotonic_ns()
            return data
        return None if self._channel.publishers else self._take_from_outside()

    def _take_from_outside(self) -> Any | None:
        """A message that was not handed on in this process; None: none waits."""
        assert self._channel is not None
        while (data := self._take_from_middleware()) is not None and self._channel.is_echo(data):
            pass
        return data

    def _take_from_middleware(self) -> Any | None:
        handle = self.handle
        with handle:
            taken = handle.take_message(self.msg_type, self._raw)
        if taken is None:
            return None
        message, about = taken
        self.received_ns = about['received_timestamp']
        self._taken = time.monotonic_ns()
        number = about['publication_sequence_number']
        if number is not None:          # this middleware counts
            if number <= self._number:
                self._set_back = self._taken, self._set_back[0]
            self._number = number
        return message

    def take_latest(self) -> Any | None:
        """The newest waiting message, older ones are dropped; None if there is none."""
        newest = self.take()
        if newest is None or self._single:
            return newest  # a queue of one holds only the newest
        while (message := self.take()) is not None:
            newest = message
        return newest

    def drain(self) -> Iterator[Any]:
        """All waiting messages, oldest first."""
        while (message := self.take()) is not None:
            yield message

    def wait_oldest(self, timeout: float) -> Any | None:
        """The oldest message; blocks for one up to `timeout` [s]."""
        self._wait(timeout)
        return self.take()

    def wait(self, timeout: float) -> Any | None:
        """The newest message; blocks for one up to `timeout` [s]."""
        self._wait(timeout)
        return self.take_latest()

    def _wait(self, timeout: float) -> None:
        if not self._inbox:
            self._wait_set.wait(timeout)

    def raise_if_stopped(self) -> None:
        """For steps that wait: whoever shall answer may have been told to end, too.

        Raises:
            LoopEnded: The node's loop shall end.
        """
        node: Any = self.node
        if hasattr(node, 'loop') and (node.loop is None or node.loop.stopped):
            raise LoopEnded

    def publisher_count(self) -> int:
        """Those that the middleware knows, for 20 s also one that was killed."""
        return int(self._subscription.get_publisher_count())

    @property
    def deserted(self) -> bool:
        """Whoever spoke here has gone, or was deactivated."""
        return self._taken > 0 and not self.publisher_count()

    @property
    def publishers_take_turns(self) -> bool:
        """Messages of more than one publisher arrive.

        Each publisher counts its messages. A new one in the place of another sets the number
        back once, two that speak at the same time do it again and again. Where one speaks in
        this process, any other is a second one.
        """
        if self._channel is not None and self._channel.publishers and (
                self._take_from_outside() is not None):
            self._set_back = self._taken, self._taken
        return self._taken - self._set_back[1] < _TURNS

    def destroy(self) -> None:
        if self._channel is not None:
            self._channel.inboxes = [i for i in self._channel.inboxes if i is not self._inbox]
        self.node.destroy_subscription(self._subscription)


class StreamSubscription(DirectSubscription):
    """A best-effort stream of records (see `recordings.record`); the newest one counts.

    A message with other array lengths than expected is dropped, counted in `rejected` and
    logged.

    Args:
        node: The node that subscribes.
        msg_type: Message class of scalars and arrays, such as MotorStates.
        topic: Relative name.
        length: Items that every unbounded array must have; None accepts any.
        optional: Arrays that may also be empty.
        qos: Default: best effort; lock-step, where no message may be lost, takes `event_qos()`.
    """

    _raw = True

    def __init__(
        self, node: Node, msg_type: Any, topic: str, length: int | None,
        optional: Collection[str] = (), qos: QoSProfile | None = None,
    ) -> None:
        super().__init__(node, msg_type, topic, stream_qos() if qos is None else qos)
        self.rejected = 0
        self._decoder = RecordDecoder(msg_type, length, optional)

    def take(self) -> Any | None:
        while (data := super().take()) is not None:
            record = self._decode(data)
            if record is not None:
                return record
            self.rejected += 1
        return None

    def wait_for(self, seq: int, limit: float) -> Any | None:
        """The record that answers state `seq`, others are dropped.

        None: it did not come within `limit` [s], or nobody is there to send it any more.
        """
        end = time.monotonic() + limit
        while (left := end - time.monotonic()) > 0.0 and not self.deserted:
            self.raise_if_stopped()
            self._wait(min(left, _SLICE))
            for record in self.drain():
                if record.seq == seq:
                    return record
        return None

    def _decode(self, data: bytes) -> Any | None:
        try:
            return self._decoder.decode(data)
        except ArmsenseError as error:
            self.node.get_logger().error(
                f'{self._subscription.topic_name}: {error}',
                throttle_duration_sec=_COMPLAIN_EVERY)
            return None


class StreamPublisher:
    """Publishes one record again and again: fill `message`, then `publish()`.

    Args:
        node: The node that publishes.
        msg_type: Message class of scalars and arrays, such as MotorCommands.
        topic: Relative name.
        length: Items of every unbounded array.
        lengths: Arrays with another length, such as `{'strain': 0}`.
        frame_id: Of the header, constant.
        qos: Default: best effort, newest only.
        begin: False: nothing is offered before `open()`.
    """

    def __init__(
        self, node: Node, msg_type: Any, topic: str, length: int = 0,
        lengths: Mapping[str, int] | None = None, frame_id: str = '',
        qos: QoSProfile | None = None, begin: bool = True,
    ) -> None:
        self.message = new_record(msg_type, length, lengths, frame_id)
        self._node = node
        self._offer = msg_type, topic, stream_qos() if qos is None else qos
        self._channel = channel_of(node, topic)
        if begin:
            self.open()

    def open(self) -> None:
        """Offer the topic, again after `destroy`."""
        self._publisher = self._node.create_publisher(*self._offer)
        self._handle = self._publisher.handle
        if self._channel is not None:
            self._channel.publishers += 1

    def publish(self) -> None:
        data = self.message.wire()
        if self._channel is None or self._channel.hand_on(data, self.subscriber_count()):
            with self._handle:
                self._handle.publish_raw(data)

    def subscriber_count(self) -> int:
        return int(self._publisher.get_subscription_count())

    def destroy(self) -> None:
        if self._channel is not None:
            self._channel.publishers -= 1
        self._node.destroy_publisher(self._publisher)


def state_time(state: Any) -> int:
    """Of a `MotorStates` record [ns]: monotonic, from the driver; stamps are for people.

    Their clock may be set. It is the stamp where an older version has recorded the state.
    """
    return int(state.time_ns or state.stamp_ns)
