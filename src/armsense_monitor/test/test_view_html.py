"""Pieces of the page that say what is missing."""

import pytest

from armsense_monitor import view_html
from armsense_monitor.arm_history import ArmHistory, Health, Mode
from armsense_monitor.view_html import health


def test_a_node_that_fell_silent_is_stale_whatever_it_said():
    text = health({'motor_board: arm': Health(0, 'enabled', heard=100.0),
                   'recorder: bag': Health(0, '7 messages', heard=112.0)})
    dead, alive = text.split('recorder: bag')
    assert 'stale' in dead
    assert 'silent for 12 s; before: enabled' in dead
    assert 'stale' not in alive
    assert 'silent' not in alive


def test_lines_of_the_same_second_are_all_fresh():
    text = health({'motor_board: arm': Health(0, 'enabled', heard=100.0),
                   'recorder: bag': Health(1, 'empty', heard=101.2)})
    assert 'stale' not in text
    assert 'warning' in text


def test_an_arm_that_is_silent_is_not_shown_as_live():
    history = ArmHistory(['joint1'])
    history.mode = Mode('enabled', '', '')
    assert 'no data' not in view_html.status(history, 'live', 0.9)
    text = view_html.status(history, 'live', 12.4)
    assert 'no data for 12 s' in text
    assert text.index('grayscale') < text.index('enabled')
    assert 'no data yet' in view_html.status(history, 'live', float('inf'))


def test_time_counts_from_the_start_not_from_1970():
    history = ArmHistory(['joint1'])
    for t in (1.7e9, 1.7e9 + 2.5):
        history.add_position(t, [0.0])
    assert '2.5 s since the start' in view_html.status(history, 'live')


def test_contact_that_lasts_is_named_with_its_joints():
    history = ArmHistory(['joint1', 'joint2'])
    history.lasting = (['joint2'], 7.2)
    assert 'contact lasts</span>at joint2 for 7 s' in view_html.status(history, 'live')


def test_rates_of_driver_and_observer():
    history = ArmHistory(['joint1'])
    for k in range(50):
        history.hear('driver', 10.0 + 0.01 * k)
    assert 'driver 100 Hz' in view_html.rates(history, 10.5)
    assert 'observer silent' in view_html.rates(history, 10.5)
    assert 'driver silent' in view_html.rates(history, 12.0)
    assert history.silence(12.0) == pytest.approx(1.51)
