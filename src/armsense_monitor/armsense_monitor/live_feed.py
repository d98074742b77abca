"""The topics of a running arm into a history, without disturbing anybody."""

from __future__ import annotations

from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy

from armsense_monitor.feed import Feed, Topic, TOPICS
from armsense_node.loop import DirectSubscription, event_qos, latched_qos, StreamSubscription

QUEUE = 200            # messages of a stream that wait between two looks


class LiveFeed:
    """Subscriptions that are looked at when there is time.

    Streams are taken as they come, best effort: a slow page never makes a publisher send again.
    """

    def __init__(self, node: Node, feed: Feed) -> None:
        self._feed = feed
        self._sources = [(name, _subscribe(node, name, topic)) for name, topic in TOPICS.items()]

    def drain(self, shown: bool = True) -> None:
        """Take what has arrived.

        Args:
            shown: False: throw it away, while a bag is looked at.
        """
        for name, source in self._sources:
            for message in source.drain():
                if shown:
                    self._feed.take(name, message)


def _subscribe(node: Node, name: str, topic: Topic) -> DirectSubscription:
    stream = QoSProfile(depth=QUEUE, reliability=ReliabilityPolicy.BEST_EFFORT)
    qos = {'stream': stream, 'event': event_qos(), 'latched': latched_qos()}[topic.quality]
    if topic.record:
        return StreamSubscription(node, topic.kind, name, None, qos=qos)
    return DirectSubscription(node, topic.kind, name, qos)
