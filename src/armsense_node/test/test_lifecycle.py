"""Transitions that every node with a loop has."""

import rclpy
from rclpy.lifecycle import TransitionCallbackReturn

from armsense_node.health import Level
from armsense_node.lifecycle import LoopNode
from armsense_node.loop_realtime import Privileges
from armsense_node.loop_statistics import LoopStatistics


class Loop:
    """Stands in for a thread."""

    def __init__(self, diary):
        self._diary = diary
        self.statistics, self.privileges = LoopStatistics(), None

    def stop(self):
        self._diary.append('stopped')

    def join(self, timeout):
        self._diary.append('joined')


class Node(LoopNode):
    """Writes down what happens to it."""

    def __init__(self):
        self.diary = []
        super().__init__('looping')

    def make_loop(self):
        return Loop(self.diary)

    def deactivate(self):
        self.diary.append('last words')


def test_shutdown_ends_the_loop_and_says_the_last_words():
    rclpy.init()
    try:
        node = Node()
        node.autostart()
        assert node.trigger_shutdown() == TransitionCallbackReturn.SUCCESS
        assert node.diary == ['stopped', 'joined', 'last words']
        assert node.loop is None
        node.destroy_node()
    finally:
        rclpy.shutdown()


def test_health_says_what_the_system_has_refused():
    rclpy.init()
    try:
        node = Node()
        node.autostart()
        assert [part.part for part in node._all_health()] == ['loop']    # nothing was asked for
        node.loop.privileges = Privileges(True, True, '')
        assert [part.part for part in node._all_health()] == ['loop']
        node.loop.privileges = Privileges(False, True, 'no SCHED_FIFO: not permitted')
        refused = node._all_health()[-1]
        assert refused == ('realtime', 'no SCHED_FIFO: not permitted', Level.WARN, {})
        node.destroy_node()
    finally:
        rclpy.shutdown()
