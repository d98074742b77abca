"""Transitions that every node with a loop has."""

import rclpy
from rclpy.lifecycle import TransitionCallbackReturn

from armsense_node.lifecycle import LoopNode


class Loop:
    """Stands in for a thread."""

    def __init__(self, diary):
        self._diary = diary

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
