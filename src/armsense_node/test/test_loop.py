from __future__ import annotations

import threading
from types import SimpleNamespace

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest

from armsense.errors import ArmsenseError
from armsense_node.loop import LoopEnded, PacedLoop, ReactiveLoop
from armsense_node.loop_statistics import Histogram, LoopStatistics

PERIOD = 1e-3
P = 1_000_000  # [ns]


class FakeTime:
    """A clock that only sleeping and working move."""

    def __init__(self, overshoot: dict[int, int] | None = None) -> None:
        self.now = 7_000_000_123
        self.sleeps = 0
        self.overshoot = overshoot or {}  # sleep number -> [ns]

    def clock(self) -> int:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.sleeps += 1
        self.now += round(seconds * 1e9) + self.overshoot.get(self.sleeps, 0)


def run_paced(time: FakeTime, steps: int, work: dict[int, int] | None = None):
    """Runs `steps` steps; returns the loop and (tick, time since the start) of each."""
    seen: list[tuple[int, int]] = []
    work = work or {}

    def step(tick: int) -> None:
        seen.append((tick, time.now))
        time.now += work.get(len(seen), 0)
        if len(seen) == steps:
            loop.stop()

    loop = PacedLoop(PERIOD, step, clock=time.clock, sleep=time.sleep)
    start = time.now
    loop.run()
    return loop, [(tick, at - start) for tick, at in seen]


def test_paced_loop_steps_on_its_grid():
    loop, seen = run_paced(FakeTime(), 100, dict.fromkeys(range(1, 101), 300000))
    assert seen == [(k, k * P) for k in range(1, 101)]
    report = loop.statistics.report()
    assert (report.ticks, report.missed, report.clock_jumps) == (100, 0, 0)
    assert report.period_us.max == 1000.0
    assert report.lateness_us.max == 0.0
    assert report.response_us.max == 300.0


def test_small_lateness_does_not_accumulate():
    _, seen = run_paced(FakeTime(dict.fromkeys(range(1, 51), 70000)), 50)
    assert seen == [(k, k * P + 70_000) for k in range(1, 51)]


def test_late_start_of_the_loop_misses_nothing():
    time = FakeTime()
    seen: list[int] = []
    loop = PacedLoop(PERIOD, lambda tick: (seen.append(time.now), loop.stop()),
                     clock=time.clock, sleep=time.sleep)
    time.now += 5_000 * P
    begun = time.now
    loop.run()
    assert seen == [begun + P]
    assert loop.statistics.missed == 0


def test_late_first_wake_up_skips_whole_periods():
    loop, seen = run_paced(FakeTime({1: 3_400_000}), 3)
    assert seen == [(4, 4_400_000), (5, 5 * P), (6, 6 * P)]
    assert loop.statistics.missed == 3
    assert loop.statistics.lateness.max == 3_400_000


def test_long_callback_is_skipped_without_burst():
    loop, seen = run_paced(FakeTime(), 5, {3: 3_400_000})
    assert seen == [(1, P), (2, 2 * P), (3, 3 * P), (6, 6_400_000), (7, 7 * P)]
    assert loop.statistics.missed == 2
    assert loop.statistics.report().missed_percent == pytest.approx(100 * 2 / 7)


def test_clock_jump_forward_is_one_step_and_counted():
    hour = 3_600_000 * P
    loop, seen = run_paced(FakeTime({2: hour}), 4)
    assert [tick for tick, _ in seen] == [1, 3_600_002, 3_600_003, 3_600_004]
    assert loop.statistics.missed == 3_600_000
    assert loop.statistics.clock_jumps == 0


def test_clock_jump_backward_keeps_the_rate():
    time = FakeTime({3: -10_000 * P})
    loop, seen = run_paced(time, 5)
    assert [tick for tick, _ in seen] == [1, 2, 3, 4, 5]
    assert loop.statistics.clock_jumps == 1
    assert loop.statistics.missed == 0
    assert np.diff([at for _, at in seen[2:]]).tolist() == [P, P]
    assert time.sleeps == 6  # the interrupted one is slept once more, not for ten seconds


def test_sleep_that_ends_early_is_continued():
    loop, seen = run_paced(FakeTime({1: -400_000, 2: -100_000}), 2)
    assert seen == [(1, P), (2, 2 * P)]


def test_long_period_is_slept_in_pieces():
    time = FakeTime()
    loop = PacedLoop(10.0, lambda tick: None, clock=time.clock, sleep=time.sleep)
    sleep = loop._sleep

    def sleep_and_stop(seconds: float) -> None:
        sleep(seconds)
        loop.stop()
    loop._sleep = sleep_and_stop
    loop.run()
    assert time.sleeps == 1
    assert time.now - 7_000_000_123 <= 50 * P
    assert loop.statistics.ticks == 0


@settings(deadline=None, max_examples=60)
@given(
    late=st.dictionaries(st.integers(1, 40), st.integers(0, 5 * P)),
    work=st.dictionaries(st.integers(1, 40), st.integers(0, 5 * P)))
def test_one_step_per_period_whatever_happens(late, work):
    loop, seen = run_paced(FakeTime(late), 40, work)
    ticks = np.array([tick for tick, _ in seen])
    at = np.array([at for _, at in seen])
    assert (np.diff(ticks) >= 1).all()
    assert (at // P == ticks).all()  # each step lies in the period that its number names
    assert loop.statistics.ticks + loop.statistics.missed == ticks[-1]


@pytest.mark.parametrize('period', [0.0, -1e-3, float('nan')])
def test_bad_period_is_named(period):
    with pytest.raises(ArmsenseError, match='period'):
        PacedLoop(period, lambda tick: None)


def test_stop_from_another_thread():
    begun = threading.Event()
    loop = PacedLoop(PERIOD, lambda tick: begun.set())
    thread = threading.Thread(target=loop.run)
    thread.start()
    assert begun.wait(10)
    assert not loop.join(0.0)
    loop.stop()
    assert loop.join(10)
    thread.join(10)
    assert not thread.is_alive()


def test_stopped_loop_does_not_step():
    loop = PacedLoop(PERIOD, lambda tick: pytest.fail('stepped'))
    assert loop.join(0.0)
    loop.stop()
    loop.run()
    assert loop.statistics.ticks == 0


def test_failing_step_ends_the_loop_and_reaches_the_caller():
    loop = PacedLoop(PERIOD, lambda tick: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        loop.run()
    assert loop.stopped
    assert loop.join(0.0)


class FakeSource:
    """Plays a list of messages; None is a time-out; stops the loop at its end."""

    def __init__(self, messages: list) -> None:
        self.messages = messages
        self.received_ns = 0
        self.now = 1_000 * P
        self.loop: ReactiveLoop | None = None

    def wait(self, timeout: float):
        self.now += P
        self.received_ns = self.now - 40_000
        if not self.messages:
            self.loop.stop()
            return None
        return self.messages.pop(0)

    def clock(self) -> int:
        return self.now


class FakeEvents:
    def __init__(self, waiting: list) -> None:
        self.waiting = waiting

    def drain(self):
        while self.waiting:
            yield self.waiting.pop(0)


def run_reactive(source: FakeSource, step, **options) -> ReactiveLoop:
    loop = ReactiveLoop(source, step, clock=source.clock, wall=source.clock, **options)
    source.loop = loop
    loop.run()
    return loop


def message(seq: int) -> SimpleNamespace:
    return SimpleNamespace(seq=seq)


def test_reactive_loop_steps_once_per_message_and_counts_gaps():
    seen = []
    source = FakeSource([message(s) for s in (5, 6, 9, 10, 1, 2)])  # two lost, then a restart
    loop = run_reactive(source, lambda m: seen.append(m.seq))
    assert seen == [5, 6, 9, 10, 1, 2]
    assert loop.statistics.ticks == 6
    assert loop.statistics.missed == 2
    assert loop.statistics.report().lateness_us.max == 40.0
    assert loop.statistics.report().period_us.max == 1000.0


def test_a_step_that_hears_of_the_end_ends_the_loop():
    def step(tick: int) -> None:
        raise LoopEnded
    loop = PacedLoop(PERIOD, step)
    loop.run()
    assert loop.stopped
    assert loop.statistics.ticks == 0


def test_reactive_loop_measures_from_arrival_to_the_end_of_the_step():
    source = FakeSource([message(1)])

    def step(_):
        source.now += 25_000
    assert run_reactive(source, step).statistics.response.max == 65_000


def test_messages_without_seq_drive_a_loop_too():
    loop = run_reactive(FakeSource([SimpleNamespace(), SimpleNamespace()]), lambda m: None)
    assert (loop.statistics.ticks, loop.statistics.missed) == (2, 0)


def test_events_act_before_the_step_of_the_same_cycle():
    order: list = []
    events = FakeEvents(['hit', 'again'])
    run_reactive(FakeSource([message(1)]), lambda m: order.append(m.seq),
                 events=[(events, order.append)])
    assert order == ['hit', 'again', 1]


def test_silence_is_reported_and_events_still_served():
    order: list = []
    events = FakeEvents(['hit'])
    loop = run_reactive(FakeSource([None, None, message(3)]), lambda m: order.append(m.seq),
                        events=[(events, order.append)], on_silence=lambda: order.append('?'))
    assert order == ['hit', '?', '?', 3]
    assert loop.statistics.ticks == 1


def test_histogram_agrees_with_numpy():
    durations = np.random.default_rng(3).gamma(2.0, 40_000.0, 5_000).astype(int)
    histogram = Histogram()
    for duration in durations:
        histogram.add(int(duration))
    p50, p99, longest = histogram.quantiles()
    assert p50 == pytest.approx(np.percentile(durations, 50) * 1e-3, abs=1.1)
    assert p99 == pytest.approx(np.percentile(durations, 99) * 1e-3, abs=5.0)
    assert longest == pytest.approx(durations.max() * 1e-3)


def test_histogram_keeps_what_is_out_of_range():
    histogram = Histogram()
    assert histogram.quantiles() == (0.0, 0.0, 0.0)
    histogram.add(-5)
    assert histogram.quantiles().max == 0.0
    for _ in range(9):
        histogram.add(2_000_000_000)
    assert histogram.quantiles() == (2e6, 2e6, 2e6)


def test_reset_forgets():
    statistics = LoopStatistics()
    statistics.ticks, statistics.missed = 3, 1
    statistics.period.add(5 * P)
    statistics.reset()
    assert statistics.report() == LoopStatistics().report()


def test_a_loop_that_may_not_end_yet_keeps_its_pace():
    time, seen, asked = FakeTime(), [], []

    def step(tick):
        seen.append(time.now)
        if len(seen) == 3:
            loop.stop()
            loop.stop()                    # Ctrl-C reaches a node twice under `ros2 launch`

    def may_end():
        asked.append(len(seen))
        return len(seen) == 8

    loop = PacedLoop(PERIOD, step, clock=time.clock, sleep=time.sleep, may_end=may_end)
    start = time.now
    loop.run()
    assert [at - start for at in seen] == [k * P for k in range(1, 9)]
    assert asked == [3, 4, 5, 6, 7, 8]     # not before somebody wanted it to end


def test_a_reactive_loop_answers_on_until_it_may_end():
    states = [SimpleNamespace(seq=k) for k in range(1, 10)]
    seen, silences = [], []
    source = SimpleNamespace(received_ns=0, wait=lambda _: states.pop(0) if states else None)

    def step(state):
        seen.append(state.seq)
        loop.stop()

    loop = ReactiveLoop(source, step, on_silence=lambda: silences.append(len(seen)),
                        may_end=lambda: bool(silences))
    loop.run()
    assert seen == list(range(1, 10))
    assert silences == [9]


def test_a_loop_that_has_failed_finishes():
    steps = []

    def step(tick):
        steps.append(tick)
        if len(steps) == 2:
            raise RuntimeError

    time = FakeTime()
    loop = PacedLoop(PERIOD, step, clock=time.clock, sleep=time.sleep,
                     may_end=lambda: len(steps) >= 5)
    with pytest.raises(RuntimeError):
        loop.run()
    loop.finish()
    assert len(steps) == 5
    loop = PacedLoop(PERIOD, step, clock=time.clock, sleep=time.sleep)
    loop.finish()                          # nothing is due
    assert len(steps) == 5
