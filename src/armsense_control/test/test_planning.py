"""Planning keeps nobody waiting: the executor serves all others meanwhile."""

from threading import Event

import pytest
import rclpy
from rclpy.node import Node

from armsense.errors import ArmsenseError
from armsense_control.goal_action import LONGEST_WAIT, Planning
from armsense_node.loop import BackgroundExecutor

LONG = 10.0   # [s] only a planner that blocks the executor waits for it


@pytest.fixture
def node():
    rclpy.init()
    node = Node('planner')
    yield node
    node.destroy_node()
    rclpy.shutdown()


def test_others_are_served_while_a_goal_is_planned(node):
    planning, served, done = Planning(node, lambda: False, lambda: 0.0), Event(), Event()
    results = []

    def plan():
        node.executor.create_task(served.set)        # such as `hold`, while it is planned
        return served.wait(LONG)

    async def ask():
        results.append(await planning.submit(plan))
        done.set()
    with BackgroundExecutor(node):
        node.executor.create_task(ask)
        assert done.wait(2 * LONG)
    planning.close()
    assert results == [True]


def test_a_refusal_reaches_who_asked(node):
    planning, done = Planning(node, lambda: False, lambda: 0.0), Event()
    told = []

    def refuse():
        raise ArmsenseError('too far')

    async def ask():
        try:
            await planning.submit(refuse)
        except ArmsenseError as error:
            told.append(str(error))
        done.set()
    with BackgroundExecutor(node):
        node.executor.create_task(ask)
        assert done.wait(LONG)
    planning.close()
    assert told == ['too far']


@pytest.mark.parametrize(('ready_at', 'planned_at'), [(0.6, 0.6), (1e9, LONGEST_WAIT)])
def test_an_arm_that_is_not_ready_is_waited_for_in_its_own_time(node, ready_at, planned_at):
    """In lock-step that is slower than the wall clock."""
    now, done = [0.0], Event()

    def clock():
        now[0] += 0.01               # with every look
        return now[0]
    planning = Planning(node, lambda: now[0] < ready_at, clock)
    times = []

    async def ask():
        await planning.submit(lambda: times.append(now[0]))
        done.set()
    with BackgroundExecutor(node):
        node.executor.create_task(ask)
        assert done.wait(LONG)
    planning.close()
    assert times == [pytest.approx(planned_at, abs=0.03)]
