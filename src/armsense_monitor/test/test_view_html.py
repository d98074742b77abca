"""Pieces of the page that say what is missing."""

from armsense_monitor.arm_history import Health
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
