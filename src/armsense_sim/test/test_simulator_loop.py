"""The simulator on the wall clock: whom it serves when, and what its encoders show meanwhile."""

from types import SimpleNamespace

import pytest

from armsense_sim import simulator_node
from armsense_sim.simulator_node import _SimulatorLoop, CATCH_UP, HALFWAY, LATE

DT = 1e-3   # [s]


class Driver:
    """Asks its two boards in turn, at given times [s]; polls like a server, in time of its own."""

    def __init__(self, monkeypatch, *asks: float) -> None:
        self.connected = [True, True]
        self.now = 0.0
        self.asks = list(asks)
        self.served: list[int] = []
        monkeypatch.setattr(simulator_node, 'time', SimpleNamespace(monotonic=lambda: self.now))

    def flush(self) -> None:
        pass

    def poll(self, timeout: float) -> list[int]:
        until = self.now + timeout
        if not self.asks or self.asks[0] > until:
            self.now = max(until, self.now + 1e-9)   # a clock never stands
            return []
        self.now = self.asks.pop(0)
        self.served.append(len(self.served) % 2)
        return self.served[-1:]


def period(driver: Driver) -> float:
    """Serve one period; when it ended [s]."""
    loop = _SimulatorLoop(None, None, driver, DT, lockstep=False, pace=0.0)
    loop._deadline = DT
    assert loop._serve_until_deadline()
    assert loop._deadline == 2 * DT
    return driver.now


def test_a_driver_between_two_boards_is_served_first(monkeypatch):
    driver = Driver(monkeypatch, 0.9 * DT, DT + 0.5 * HALFWAY)
    assert period(driver) == DT + 0.5 * HALFWAY
    assert driver.served == [0, 1]


@pytest.mark.parametrize('asks', [(0.8 * DT, 0.9 * DT), ()])
def test_one_that_has_asked_all_or_none_is_not_waited_for(monkeypatch, asks):
    driver = Driver(monkeypatch, *asks, DT + 0.5 * HALFWAY)
    assert period(driver) == pytest.approx(DT)
    assert len(driver.served) == len(asks)


def test_one_that_never_asks_the_second_board_does_not_stop_time(monkeypatch):
    driver = Driver(monkeypatch, 0.9 * DT, DT + 100 * HALFWAY)
    assert period(driver) == pytest.approx(DT + HALFWAY)
    assert driver.served == [0]


@pytest.mark.parametrize(('late', 'lead'), [(-DT, 0.0), (1.5 * DT, 2.5 * DT),
                                            (50 * DT, LATE * DT)])
def test_encoders_turn_on_while_a_step_is_late_but_not_for_ever(monkeypatch, late, lead):
    loop = _SimulatorLoop(None, None, Driver(monkeypatch), DT, lockstep=False, pace=0.0)
    loop._deadline = -late
    assert loop.lead() == pytest.approx(lead)


class Answering(Driver):
    """Answers each step at once; sleeping takes the time that was asked for."""

    def __init__(self, monkeypatch) -> None:
        super().__init__(monkeypatch)
        simulator_node.time.sleep = self.sleep

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def wait_all(self, timeout: float) -> bool:
        return True


def test_lockstep_keeps_the_pace_of_the_clock_and_does_not_race_after_a_pause(monkeypatch):
    driver = Answering(monkeypatch)
    loop = _SimulatorLoop(None, None, driver, DT, lockstep=True, pace=2 * DT)
    for _ in range(100):
        loop._wait_for_driver()
    assert driver.now == pytest.approx(99 * 2 * DT)
    driver.now += 10.0                     # a laptop that was closed
    begin = driver.now
    for _ in range(100):
        loop._wait_for_driver()
    assert 99 * 2 * DT - CATCH_UP - 1e-9 <= driver.now - begin <= 100 * 2 * DT


def test_without_a_pace_lockstep_runs_as_fast_as_it_goes(monkeypatch):
    driver = Answering(monkeypatch)
    loop = _SimulatorLoop(None, None, driver, DT, lockstep=True, pace=0.0)
    for _ in range(100):
        loop._wait_for_driver()
    assert driver.now == 0.0
