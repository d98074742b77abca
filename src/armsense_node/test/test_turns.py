"""Nodes that share a process: turns in order, and whose fault it is when one fails or hangs."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest

from armsense.errors import ArmsenseError
from armsense_node.loop import Loop, PacedLoop
from armsense_node.turns import Turns

LIMIT = 0.02   # [s]


class Driver:
    """Notes whom it blames and how often it stood in."""

    step_limit, period = LIMIT, 0.001

    def __init__(self) -> None:
        self.blamed: list[str] = []
        self.stood_in = threading.Event()
        self.cycles = 0

    def blame_failure(self, name, error):
        self.blamed.append(f'{name}: {error}')

    def blame_overrun(self, name, seconds):
        assert seconds > LIMIT
        self.blamed.append(name)

    def stand_in(self, name, seconds):
        self.blame_overrun(name, seconds)
        self.cycles += 1
        if self.cycles == 3:
            self.stood_in.set()


class Once(Loop):
    def __init__(self, step) -> None:
        super().__init__()
        self._turn = step


def node(name, step):
    log = SimpleNamespace(fatal=lambda text: None)
    return SimpleNamespace(get_name=lambda: name, get_logger=lambda: log, loop=Once(step))


def test_all_have_their_turn_in_the_order_given_and_who_is_inactive_has_none():
    order = []
    nodes = [node(name, lambda name=name: order.append(name)) for name in 'abc']
    nodes[1].loop = None
    nodes.append(node('stopped', lambda: order.append('stopped')))
    nodes[-1].loop.stop()
    with Turns(Driver(), nodes) as turns:
        turns.take()
        turns.take()
    assert order == ['a', 'c', 'a', 'c']


def test_a_node_that_raises_is_named_and_ends_the_process():
    def fail():
        raise ZeroDivisionError('by zero')
    driver = Driver()
    with Turns(driver, [node('observer', fail)]) as turns, \
            pytest.raises(ArmsenseError, match='observer has failed: by zero'):
        turns.take()
    assert driver.blamed == ['observer: by zero']


def test_while_a_node_hangs_the_driver_goes_on_and_says_whose_fault_it_is():
    driver = Driver()
    with Turns(driver, [node('slow', lambda: driver.stood_in.wait(60.0)),
                        node('quick', lambda: None)]) as turns:
        turns.take()
        assert driver.cycles >= 3
        cycles = driver.cycles
        turns.take()              # in time: it was set before
    assert set(driver.blamed) == {'slow'}
    assert driver.cycles == cycles


def test_who_waits_for_the_end_of_a_loop_waits_for_its_turn():
    begun, go_on = threading.Event(), threading.Event()

    def step():
        begun.set()
        go_on.wait(60.0)
    loop = Once(step)
    assert loop.join(0.0)
    thread = threading.Thread(target=loop.take_turn)
    thread.start()
    begun.wait(60.0)
    loop.stop()
    assert not loop.join(0.0)
    go_on.set()
    assert loop.join(60.0)
    thread.join()


def test_a_slower_loop_has_a_turn_when_its_period_is_over():
    now, ticks = [1_000], []
    loop = PacedLoop(0.01, ticks.append, clock=lambda: now[0])
    for _ in range(30):           # every ms
        loop.take_turn()
        now[0] += 1_000_000
    assert ticks == [1, 2, 3]
    now[0] += 30_000_000
    loop.take_turn()
    assert (ticks[-1], loop.statistics.missed) == (7, 3)
