"""Planning keeps nobody waiting: the executor serves all others meanwhile."""

from threading import Event

import pytest
import rclpy
from rclpy.node import Node

from armsense_control.planning import Planning
from armsense_core.errors import ArmsenseError
from armsense_driver.loop import spin_background

LONG = 10.0   # [s] only a planner that blocks the executor waits for it


@pytest.fixture
def node():
    rclpy.init()
    node = Node('planner')
    yield node
    node.destroy_node()
    rclpy.shutdown()


def test_others_are_served_while_a_goal_is_planned(node):
    planning, served, done = Planning(node, lambda: False), Event(), Event()
    results = []

    def plan():
        node.executor.create_task(served.set)        # such as `hold`, while it is planned
        return served.wait(LONG)

    async def ask():
        results.append(await planning.submit(plan))
        done.set()
    with spin_background(node):
        node.executor.create_task(ask)
        assert done.wait(2 * LONG)
    planning.close()
    assert results == [True]


def test_a_refusal_reaches_who_asked(node):
    planning, done = Planning(node, lambda: False), Event()
    told = []

    def refuse():
        raise ArmsenseError('too far')

    async def ask():
        try:
            await planning.submit(refuse)
        except ArmsenseError as error:
            told.append(str(error))
        done.set()
    with spin_background(node):
        node.executor.create_task(ask)
        assert done.wait(LONG)
    planning.close()
    assert told == ['too far']
