"""Touches of a simulated arm, judged by what it announced."""

import numpy as np
import pytest

from armsense_monitor.arm_history import Applied, ArmHistory, Event
from armsense_monitor.challenge import Challenge


def live(challenge, history, begin, end, force=0.0, event=None):
    """Let time pass [s] under a force [N], with a collision at a time [s]."""
    for t in np.arange(begin, end, 0.04):
        history.add_position(t, [0.0])
        history.applied = Applied(t, 'link1' if force else '', np.zeros(3),
                                  np.array([0.0, force, 0.0]))
        if event is not None and t <= event < t + 0.04:
            history.add_event(Event(0, event, 'joints', 'link1', 'joint1', 1.0, 0.5, 0.9))
        challenge.update(history)


def test_best_is_the_strongest_touch_that_was_not_noticed():
    challenge, history = Challenge(), ArmHistory(['joint1'])
    live(challenge, history, 0.0, 1.0)
    live(challenge, history, 1.0, 2.0, force=3.0)
    live(challenge, history, 2.0, 3.0)
    assert challenge.best == pytest.approx(3.0)
    assert challenge.last == '3.0 N at most: not noticed'
    live(challenge, history, 3.0, 4.0, force=8.0, event=3.1)
    live(challenge, history, 4.0, 5.0)
    assert challenge.best == pytest.approx(3.0)
    assert challenge.last == '8.0 N at most: noticed after 100 ms'
    live(challenge, history, 5.0, 6.0, force=2.0)
    live(challenge, history, 6.0, 7.0)
    assert challenge.best == pytest.approx(3.0)


def test_an_event_just_after_a_touch_counts_and_one_long_before_does_not():
    challenge, history = Challenge(), ArmHistory(['joint1'])
    live(challenge, history, 0.0, 1.0, event=0.5)
    live(challenge, history, 1.0, 1.2, force=5.0)
    live(challenge, history, 1.2, 2.0, event=1.3)
    assert challenge.best == 0.0
    live(challenge, history, 3.0, 3.2, force=5.0)
    live(challenge, history, 3.2, 4.0)
    assert challenge.best == pytest.approx(5.0)


def test_a_run_that_begins_anew_forgets_a_touch_that_went_on():
    challenge, history = Challenge(), ArmHistory(['joint1'])
    live(challenge, history, 10.0, 11.0, force=5.0)
    live(challenge, history, 0.0, 2.0)
    assert challenge.best == 0.0
