"""Streams inside one process: handed on, and on their topic as far as somebody listens."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
import time

import pytest
import rclpy
from rclpy.node import Node

from armsense_msgs.msg import MotorStates
from armsense_node.handover import Channel, share_process
from armsense_node.loop import StreamPublisher, StreamSubscription

OPTIONAL = ('joint_position', 'strain')
PATIENCE = 30.0   # [s]


@pytest.fixture
def nodes() -> Iterator[tuple[Node, Node, Node]]:
    """Two that share a process, and one outside."""
    contexts = [rclpy.Context(), rclpy.Context()]
    for context in contexts:
        rclpy.init(context=context)
    share_process(contexts[0]).set_quiet_rate(0.0)
    made = [Node(name, context=contexts[k]) for name, k in
            (('driver', 0), ('controller', 0), ('outsider', 1))]
    yield tuple(made)
    for node in made:
        node.destroy_node()
    for context in contexts:
        rclpy.shutdown(context=context)


def publisher(node: Node) -> StreamPublisher:
    return StreamPublisher(node, MotorStates, 'motor_states', 2, dict.fromkeys(OPTIONAL, 0))


def subscription(node: Node) -> StreamSubscription:
    return StreamSubscription(node, MotorStates, 'motor_states', 2, OPTIONAL)


def wait(condition) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def send(states: StreamPublisher, seq: int) -> None:
    states.message.seq, states.message.position = seq, (0.1, 0.1 * seq)
    states.publish()


def test_a_message_is_there_at_once_and_stays_as_it_was(nodes):
    driver, controller, _ = nodes
    heard, states = subscription(controller), publisher(driver)
    send(states, 1)
    first = heard.take()
    send(states, 2)
    assert (first.seq, first.position.tolist()) == (1, [0.1, 0.1])
    assert heard.wait(0.0).position.tolist() == [0.1, 0.2]
    assert heard.take() is None
    assert heard.received_ns > 0


def test_a_channel_is_quiet_while_nobody_outside_listens():
    channel = Channel(quiet_rate=1e-6)
    channel.inboxes.append(deque())
    first = channel.hand_on(b'first', 1)         # so that the topic has something to show
    quiet = channel.hand_on(b'second', 1)
    heard = channel.hand_on(b'third', 2)
    assert (first, quiet, heard) == (True, False, True)
    assert [data for data, _ in channel.inboxes[0]] == [b'first', b'second', b'third']
    assert (channel.is_echo(b'second'), channel.is_echo(b'third')) == (False, True)
    channel.set_quiet_rate(0.0)
    assert not channel.hand_on(b'fourth', 1)


def test_who_listens_outside_hears_and_the_echo_is_no_second_message(nodes):
    driver, controller, outsider = nodes
    heard, states = subscription(controller), publisher(driver)
    outside = subscription(outsider)
    wait(lambda: states.subscriber_count() == 2 and outside.publisher_count() == 1)

    def arrived():                       # the first may come before all is agreed upon
        send(states, 3)
        return outside.wait(0.1) is not None
    wait(arrived)
    assert heard.take_latest().seq == 3
    assert heard.take() is None


def test_a_second_publisher_is_noticed_and_not_followed(nodes):
    driver, controller, outsider = nodes
    heard, states = subscription(controller), publisher(driver)
    intruder = publisher(outsider)
    wait(lambda: intruder.subscriber_count() == 1)
    send(states, 1)
    assert not heard.publishers_take_turns

    def noticed():
        send(intruder, 7)
        return heard.publishers_take_turns
    wait(noticed)
    assert heard.take_latest().seq == 1


def test_without_a_publisher_in_the_process_those_outside_are_heard(nodes):
    driver, controller, outsider = nodes
    heard, states = subscription(controller), publisher(driver)
    other = publisher(outsider)
    wait(lambda: other.subscriber_count() == 1)
    states.destroy()                     # as on deactivation

    def arrived():
        send(other, 9)
        return heard.wait(0.1) is not None
    wait(arrived)
    states.open()
    send(states, 10)
    assert heard.take_latest().seq == 10
