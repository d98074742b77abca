"""Diagnostics in plain words."""

import time

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
import rclpy

from armsense_node.health import (
    diagnostics,
    Health,
    HealthTopic,
    Level,
    loop_health,
    parts_of,
    worst,
)
from armsense_node.loop import DirectSubscription, event_qos
from armsense_node.loop_statistics import LoopStatistics


def test_a_loop_says_how_it_is():
    statistics = LoopStatistics()
    assert loop_health(statistics.report()).level == Level.WARN
    statistics.ticks, statistics.missed = 960, 40
    assert loop_health(statistics.report()).message == 'in time, 4.00 % of the cycles missed'
    statistics.missed = 240
    busy = loop_health(statistics.report())
    assert (busy.level, busy.values['missed']) == (Level.WARN, 240)
    assert busy.message.startswith('20.0 % of the cycles missed')


def test_a_loop_that_stands_still_says_so():
    statistics = LoopStatistics()
    statistics.ticks = 960
    assert loop_health(statistics.report(), ticks_before=959).level == Level.OK
    still = loop_health(statistics.report(), ticks_before=960)
    assert still.level == Level.WARN
    assert still.message == 'stands still: what it waits for does not arrive any more'


def test_a_message_carries_every_part_there_and_back():
    parts = [Health('arm', 'enabled', values={'power [W]': 12.3456, 'frames': 7}),
             Health('board 1', '3 % of 100 frames lost', Level.WARN)]
    message = diagnostics('motor_board', parts)
    assert [status.name for status in message.status] == ['motor_board: arm',
                                                          'motor_board: board 1']
    back = parts_of(message)
    assert back[0] == ('motor_board', Health('arm', 'enabled', Level.OK,
                                             {'power [W]': '12.35', 'frames': '7'}))
    assert back[1][1].level == Level.WARN


def test_the_worst_part_is_the_state_of_the_whole():
    assert worst([Level.OK, Level.ERROR, Level.WARN]) == Level.ERROR
    assert worst([]) == Level.STALE


def test_two_arms_are_told_apart_where_aggregators_listen():
    """`/diagnostics` whatever the namespace, REP 107."""
    context = rclpy.Context()
    rclpy.init(context=context)
    listener = rclpy.create_node('listener', context=context, namespace='elsewhere')
    heard = DirectSubscription(listener, DiagnosticArray, '/diagnostics', event_qos(100))
    nodes = [rclpy.create_node('motor_board', context=context, namespace=space)
             for space in ('left', 'right', '')]
    for node in nodes[1:]:
        node.declare_parameter('arm', 'my/own_arm.yaml')
    topics = [HealthTopic(node, lambda: [Health('arm', 'enabled')]) for node in nodes]
    found, deadline = {}, time.monotonic() + 30.0
    while len(found) < 3 and time.monotonic() < deadline:
        for topic in topics:
            topic._publish()
        time.sleep(0.05)
        found |= {status.name: status.hardware_id for message in heard.drain()
                  for status in message.status}
    assert found == {'left/motor_board: arm': '', 'right/motor_board: arm': 'right/own_arm',
                     'motor_board: arm': 'own_arm'}
    for node in (*nodes, listener):
        node.destroy_node()
    context.try_shutdown()


def test_a_namespace_hears_of_itself_and_of_what_has_none():
    message = DiagnosticArray(status=[DiagnosticStatus(name=name, level=b'\x09') for name in (
        'left/motor_board: arm', 'right/motor_board: arm', '/left/camera: lens', 'battery')])
    everybody = [node for node, _ in parts_of(message)]
    assert everybody == ['left/motor_board', 'right/motor_board', 'left/camera', 'battery']
    left = parts_of(message, '/left')
    assert [node for node, _ in left] == ['left/motor_board', 'left/camera', 'battery']
    assert left[0][1].level == Level.STALE         # a level that nobody knows
