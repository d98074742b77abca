"""What the soak of all nodes makes of its diary."""

import math

from bench.bench_soak import growth
from bench.bench_soak_nodes import AFTER, BETWEEN, Diary, FELT, scenario


def diary(**other):
    given = {'pushes': [10.0, 20.0, 30.0], 'switched': [(1.0, True), (25.0, False), (29.5, True)],
             'events': [(10.05, 'joints'), (20.0 + FELT + 0.01, 'joints'), (10.1, 'base')]}
    return Diary(**(given | other))


def test_pushes_count_while_the_arm_is_on_and_has_been_for_a_while():
    assert diary().watched() == [10.0, 20.0]                     # at 30 s it was just enabled
    assert diary(switched=[]).watched() == []
    assert diary(switched=[(1.0, True), (20.1, False)]).watched() == [10.0]


def test_what_comes_too_late_or_never_is_lost():
    assert diary().lost('joints') == [20.0]
    assert diary().lost('base') == [20.0]
    assert diary(events=[]).lost('joints') == [10.0, 20.0]
    assert diary(events=[(9.9, 'joints'), (20.1, 'joints')]).lost('joints') == [10.0]


def test_what_an_arm_says_of_itself_explains_what_it_did_not_feel():
    told = diary(events=[])
    for time, word in ((2.0, ''), (9.0, 'contact lasts'), (9.5, 'contact lasts'), (15.0, '')):
        told.say('joints', time, word)
    assert told.words['joints'] == [(2.0, ''), (9.0, 'contact lasts'), (15.0, '')]
    assert told.lost('joints') == [20.0]
    assert told.unfelt('joints') == told.lost('base') == [10.0, 20.0]


def test_false_alarms_have_no_cause():
    found = diary(faults=[(40.0, 40.5)], events=[
        (10.5, 'joints'), (10.0 + AFTER + 0.1, 'joints'), (40.3, 'joints'),
        (40.5 + AFTER - 0.1, 'joints'), (40.5 + AFTER + 0.1, 'joints'), (15.0, 'base')])
    assert found.false_alarms('joints') == [10.0 + AFTER + 0.1, 40.5 + AFTER + 0.1]
    assert found.false_alarms('base') == [15.0]


def test_the_scenario_fills_the_time_and_is_seeded():
    events = scenario(0.5, seed=1)
    pushes = [event['time'] for event in events if 'push' in event]
    faults = [event for event in events if 'fault' in event]
    assert 1800.0 - BETWEEN[1] < max(pushes) < 1800.0
    assert max(fault['time'] for fault in faults) < 1800.0
    assert min(b - a for a, b in zip(pushes, pushes[1:], strict=False)) >= BETWEEN[0]
    assert len({fault['fault']['name'] for fault in faults}) > 5
    assert events == scenario(0.5, seed=1) != scenario(0.5, seed=2)


def test_growth_is_the_slope_after_the_beginning():
    warm = [(hour / 10.0, 100.0 + min(30.0 * hour, 60.0)) for hour in range(9)]
    assert abs(growth(warm)) < 1e-9
    assert abs(growth([(h, m + 3.0 * h) for h, m in warm]) - 3.0) < 1e-9
    assert math.isnan(growth(warm[:2]))


def test_nobody_watches_an_arm_that_says_nothing():
    diary = Diary(pushes=[5.0])
    diary.note(0.0, 1.0, True)
    for k in range(1, 600):
        diary.note(1.0 + 0.01 * (k - 1), 1.0 + 0.01 * k, True)
    assert diary.watched() == [5.0]
    silent = Diary(pushes=[5.0, 9.0])
    silent.note(0.0, 1.0, True)
    silent.note(4.99, 5.0, True)
    silent.note(5.0, 5.3, True)                   # a board answered nonsense for so long
    silent.note(9.99, 10.0, True)
    assert silent.watched() == [9.0]
    assert silent.switched == [(1.0, True), (5.0, False), (5.3, True)]
