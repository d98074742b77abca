"""Observers that fall silent, also when the driver begins to count anew."""

from types import SimpleNamespace

import pytest

from armsense_control import arm_stream
from armsense_control.arm_stream import CollisionInbox, SILENCE

LATE = 3_600_000     # states, an hour
TOUCH = [0.0, 7.0, 0.0, 0.0]


class Topic:
    """Stands in for a subscription."""

    def __init__(self, *_, **__):
        self.waiting = []

    def take_latest(self):
        newest = self.waiting[-1] if self.waiting else None
        self.waiting.clear()
        return newest

    def drain(self):
        return iter(())


@pytest.fixture
def inbox(monkeypatch):
    monkeypatch.setattr(arm_stream, 'StreamSubscription', Topic)
    monkeypatch.setattr(arm_stream, 'DirectSubscription', Topic)
    return CollisionInbox(None, TOUCH, False)


def observe(inbox, seq):
    inbox._residuals.waiting.append(SimpleNamespace(
        seq=seq, filtered=TOUCH, valid=True, lasting=[], lasts_for=0.0, collision_seq=0))


def alive(inbox):
    for seq in range(LATE - 5, LATE):
        observe(inbox, seq)
        residual, _ = inbox.take(seq)
    assert residual.tolist() == TOUCH
    assert not inbox.silent


def test_a_dead_observer_does_not_count_as_watching_after_a_restart_of_the_driver(inbox):
    alive(inbox)
    for seq in range(1, 5 * SILENCE):
        residual, _ = inbox.take(seq)
        assert residual is None
        assert inbox.silent


def test_an_observer_that_was_missed_before_the_restart_is_missed_after_it(inbox):
    alive(inbox)
    inbox.take(LATE + SILENCE + 1)
    assert inbox.silent
    inbox.take(5)
    assert inbox.silent


def test_an_observer_that_answers_the_new_driver_watches_again(inbox):
    alive(inbox)
    inbox.take(1)
    observe(inbox, 1)
    residual, _ = inbox.take(2)
    assert residual.tolist() == TOUCH
    assert not inbox.silent
