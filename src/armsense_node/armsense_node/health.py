"""How a node is, in plain words: one message a second on `/diagnostics`.

Every node with a loop reports its loop and what its class adds in `health()`; the worst of all is
the state of the arm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.node import Node

from armsense_node.loop_statistics import LoopReport

MISSED = 5.0   # [%] of the cycles; more is worth a warning
PERIOD = 1.0   # [s] between two messages
TOPIC = '/diagnostics'   # of all arms and devices: where aggregators listen (REP 107)


class Level(IntEnum):
    """As in diagnostic_msgs."""

    OK = 0
    WARN = 1
    ERROR = 2
    STALE = 3


class Health(NamedTuple):
    """One part of a node."""

    part: str                                   # such as 'board 0'
    message: str                                # for people
    level: Level = Level.OK
    values: Mapping[str, object] = {}           # for tables; units in the keys


def loop_health(report: LoopReport, ticks_before: int = -1) -> Health:
    """How well a loop keeps its time; as many ticks as before: it stands still."""
    values = {'cycles': report.ticks, 'missed': report.missed,
              'period p50 [us]': report.period_us.p50,
              'response p50 [us]': report.response_us.p50,
              'response p99 [us]': report.response_us.p99,
              'response max [us]': report.response_us.max}
    if report.ticks == 0:
        return Health('loop', 'no cycle yet: what it waits for does not arrive', Level.WARN,
                      values)
    if report.ticks == ticks_before:
        return Health('loop', 'stands still: what it waits for does not arrive any more',
                      Level.WARN, values)
    if report.missed_percent > MISSED:
        return Health('loop', f'{report.missed_percent:.1f} % of the cycles missed: the machine '
                      'is too busy', Level.WARN, values)
    return Health('loop', f'in time, {report.missed_percent:.2f} % of the cycles missed',
                  values=values)


def worst(levels: Iterable[Level]) -> Level:
    """State of a whole; nothing is stale."""
    return max(levels, default=Level.STALE)


def diagnostics(node: str, parts: Iterable[Health], hardware_id: str = '') -> DiagnosticArray:
    """The message; the stamp is left to the sender."""
    return DiagnosticArray(status=[DiagnosticStatus(
        level=bytes([part.level]), name=f'{node}: {part.part}', message=part.message,
        hardware_id=hardware_id,
        values=[KeyValue(key=key, value=_text(value)) for key, value in part.values.items()])
        for part in parts])


def full_name(node: Node) -> str:
    """Namespace and name, such as `left/motor_board`: tells two arms apart."""
    return str(node.get_fully_qualified_name()).lstrip('/')


def arm_of(node: Node) -> str:
    """Namespace and arm of a node, such as `left/laas4`; '' where it has no parameter `arm`."""
    arm = node.get_parameter('arm').value if node.has_parameter('arm') else ''
    return '/'.join(filter(None, (node.get_namespace().strip('/'), Path(arm).stem))) if arm else ''


def parts_of(message: DiagnosticArray, namespace: str = '/') -> list[tuple[str, Health]]:
    """Node and part from a message, of ours or of anybody's.

    Seen from a namespace other than the root, what is in another one is left out.
    """
    own, found = namespace.strip('/'), []
    for status in message.status:
        node, _, part = status.name.lstrip('/').partition(': ')
        values = {pair.key: pair.value for pair in status.values}
        level = Level(min(status.level[0], Level.STALE))
        if not own or '/' not in node or node.startswith(f'{own}/'):
            found.append((node, Health(part, status.message, level, values)))
    return found


def _text(value: object) -> str:
    return f'{value:.4g}' if isinstance(value, float) else str(value)


class HealthTopic:
    """What a node says on `/diagnostics`; asks and publishes in the executor's thread."""

    def __init__(self, node: Node, health: Callable[[], Sequence[Health]]) -> None:
        """Begin; where `health` tells of no part of the node nothing is published."""
        self._node, self._health = node, health
        self._publisher = node.create_publisher(DiagnosticArray, TOPIC, 1)
        node.create_timer(PERIOD, self._publish)

    def _publish(self) -> None:
        parts = self._health()
        if not parts:
            return
        message = diagnostics(full_name(self._node), parts, arm_of(self._node))
        message.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(message)
