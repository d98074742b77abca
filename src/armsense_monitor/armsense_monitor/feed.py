"""Messages, of a running arm or from a bag, into an `ArmHistory`; where both meet."""

from collections.abc import Callable
from functools import partial
import time
from typing import Any, NamedTuple

from diagnostic_msgs.msg import DiagnosticArray
import numpy as np
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from visualization_msgs.msg import Marker, MarkerArray

from armsense.errors import ArmsenseError
from armsense.recordings.record import RecordDecoder
from armsense_monitor.arm_history import (
    Applied,
    ArmHistory,
    Contact,
    Event,
    Health,
    Mode,
    Reaction,
    Thing,
)
from armsense_msgs.msg import (
    Collision,
    ContactTruth,
    DriverMode,
    LoadCells,
    MotorStates,
    ReactionState,
    Residual,
)
from armsense_node.health import parts_of
from armsense_node.health import TOPIC as DIAGNOSTICS
from armsense_node.loop import DirectSubscription, event_qos, latched_qos, StreamSubscription


class Topic(NamedTuple):
    """A topic that the monitor understands."""

    kind: Any             # message class
    quality: str          # stream, event or latched
    record: bool = False  # scalars and arrays only: read without making a message


TOPICS = {
    'joint_states': Topic(JointState, 'stream'),
    'residual': Topic(Residual, 'stream', record=True),
    'load_cells': Topic(LoadCells, 'stream', record=True),
    DIAGNOSTICS: Topic(DiagnosticArray, 'stream'),
    'collision': Topic(Collision, 'event'),
    'contact': Topic(Collision, 'event'),
    'motor_board/mode': Topic(DriverMode, 'latched'),
    'ros2_control_bridge/mode': Topic(DriverMode, 'latched'),
    'dynamic_controller/reaction_state': Topic(ReactionState, 'latched'),
    'joint_space_controller/reaction_state': Topic(ReactionState, 'latched'),
    'ground_truth': Topic(ContactTruth, 'stream'),
    'simulator/obstacles': Topic(MarkerArray, 'latched'),
}
# Streams by which a node is heard of; the others of the arm speak too seldom for a rate.
SPEAKERS = {'joint_states': 'driver', 'residual': 'observer'}
# Not listened to live: in lock-step the driver counts who listens to its states.
BAG_TOPICS = {**TOPICS, 'motor_states': Topic(MotorStates, 'stream', record=True),
              'diagnostics': TOPICS[DIAGNOSTICS]}   # of the arm that was recorded
MODES = {DriverMode.DISCONNECTED: 'disconnected', DriverMode.STARTING: 'starting',
         DriverMode.DISABLED: 'disabled', DriverMode.ENABLED: 'enabled',
         DriverMode.DAMPING: 'damping'}
QUEUE = 200            # messages of a stream that wait between two looks


class Feed:
    """Translates messages for one history."""

    def __init__(self, history: ArmHistory, namespace: str = '/') -> None:
        """Begin; the namespace says whose diagnostics are shown of those that arrive live."""
        self.history = history
        self._order: tuple[tuple[str, ...], list[int]] | None = None
        self._decoders = {name: RecordDecoder(topic.kind) for name, topic in BAG_TOPICS.items()
                          if topic.record}
        self._has_joint_states = False
        self._takers: dict[str, Callable[[Any], None]] = {
            'joint_states': self._joint_states, 'motor_states': self._motor_states,
            'residual': self._residual, 'load_cells': self._load_cells,
            'diagnostics': self._diagnostics,
            DIAGNOSTICS: partial(self._diagnostics, namespace=namespace),
            'collision': self._collision, 'contact': self._contact,
            'ground_truth': self._truth, 'simulator/obstacles': self._obstacles}

    def take(self, topic: str, message: Any) -> None:
        """Take a message or record of one of `TOPICS`."""
        taker = self._takers.get(topic)
        if taker is None:
            taker = self._mode if topic.endswith('/mode') else self._reaction
        taker(message)

    def take_bytes(self, topic: str, data: bytes) -> None:
        """Take a serialised message; topics that are not known are left out."""
        if topic in self._decoders:
            try:
                record = self._decoders[topic].decode(data)
            except ArmsenseError:
                return
            if record is not None:
                self.take(topic, record)
        elif topic in BAG_TOPICS:
            self.take(topic, deserialize_message(data, BAG_TOPICS[topic].kind))

    # -- one per topic -----------------------------------------------------------------------

    def _joint_states(self, message: JointState) -> None:
        names = tuple(message.name)
        if self._order is None or self._order[0] != names:
            if not set(self.history.joints) <= set(names):
                return                       # joint states of something else
            self._order = names, [names.index(joint) for joint in self.history.joints]
        self._has_joint_states = True
        self.history.add_position(_seconds(message.header.stamp),
                                  [message.position[k] for k in self._order[1]])

    def _motor_states(self, record: Any) -> None:
        """Only where nobody recorded joint states."""
        position = record.joint_position if len(record.joint_position) else record.position
        if not self._has_joint_states and len(position) == len(self.history.joints):
            self.history.add_position(1e-9 * record.stamp_ns, position)

    def _residual(self, record: Any) -> None:
        if len(record.filtered) == len(record.threshold) == len(self.history.joints):
            self.history.add_residual(1e-9 * record.stamp_ns, record.filtered, record.threshold,
                                      bool(record.valid))
            self.history.lasting = ([joint for joint, lasts in zip(
                self.history.joints, record.lasting, strict=False) if lasts],
                float(record.lasts_for))

    def _load_cells(self, record: Any) -> None:
        self.history.add_cells(record.force, record.valid)

    def _diagnostics(self, message: DiagnosticArray, namespace: str = '/') -> None:
        for node, (part, text, level, _) in parts_of(message, namespace):
            self.history.health[f'{node}: {part}' if part else node] = Health(
                level, text, time.monotonic())

    def _collision(self, message: Collision) -> None:
        self.history.add_event(Event(
            0, _seconds(message.header.stamp), message.source, message.link, message.joint,
            message.residual, message.threshold, message.confidence))
        self._contact(message)

    def _contact(self, message: Collision) -> None:
        if not (message.force_observable or message.point_observable):
            return
        point, force = message.point, message.force
        self.history.add_contact(Contact(
            _seconds(message.header.stamp),
            np.array([point.x, point.y, point.z]) if message.point_observable else None,
            np.array([force.x, force.y, force.z]) if message.force_observable else None))

    def _truth(self, message: ContactTruth) -> None:
        point, force = message.point, message.force
        self.history.applied = Applied(
            _seconds(message.header.stamp), message.link, np.array([point.x, point.y, point.z]),
            np.array([force.x, force.y, force.z]))

    def _obstacles(self, message: MarkerArray) -> None:
        self.history.things = [_thing(marker) for marker in message.markers
                               if marker.action == Marker.ADD]

    def _mode(self, message: DriverMode) -> None:
        self.history.mode = Mode(MODES.get(message.mode, str(message.mode)), message.fault,
                                 message.explanation)

    def _reaction(self, message: ReactionState) -> None:
        self.history.reaction = Reaction(message.controller, message.strategy, message.state,
                                         message.explanation)


def _thing(marker: Marker) -> Thing:
    place, scale, color = marker.pose.position, marker.scale, marker.color
    red, green, blue = (round(255 * part) for part in (color.r, color.g, color.b))
    return Thing(marker.ns, marker.type == Marker.SPHERE, np.array([place.x, place.y, place.z]),
                 np.array([scale.x, scale.y, scale.z]), (red, green, blue))


def _seconds(stamp: Any) -> float:
    return float(stamp.sec + 1e-9 * stamp.nanosec)


class LiveFeed:
    """Subscriptions that are looked at when there is time.

    Streams are taken as they come, best effort: a slow page never makes a publisher send again.
    """

    def __init__(self, node: Node, feed: Feed) -> None:
        self._feed = feed
        self._sources = [(name, _subscribe(node, name, topic)) for name, topic in TOPICS.items()]

    def drain(self, shown: bool = True) -> None:
        """Take what has arrived; not shown: throw it away, while a bag is looked at."""
        now = time.monotonic()
        for name, source in self._sources:
            for message in source.drain():
                if name in SPEAKERS:
                    self._feed.history.hear(SPEAKERS[name], now)
                if shown:
                    self._feed.take(name, message)


def _subscribe(node: Node, name: str, topic: Topic) -> DirectSubscription:
    stream = QoSProfile(depth=QUEUE, reliability=ReliabilityPolicy.BEST_EFFORT)
    qos = {'stream': stream, 'event': event_qos(), 'latched': latched_qos()}[topic.quality]
    if topic.record:
        return StreamSubscription(node, topic.kind, name, None, qos=qos)
    return DirectSubscription(node, topic.kind, name, qos)
