"""Ring buffers, events and their surroundings."""

import numpy as np
import pytest

from armsense_monitor.arm_history import (
    ArmHistory,
    Contact,
    Event,
    Mode,
    thin,
    TimeSeries,
    Window,
)

EVENT = Event(0, 2.0, 'joints', 'link4', 'joint1', -3.0, 1.0, 0.99)


def history_of(seconds, rate=1000):
    """Joint 1 of two is pushed to twice its threshold at t = 2 s."""
    history = ArmHistory(('joint1', 'joint2'))
    for k in range(round(seconds * rate)):
        t = k / rate
        history.add_position(t, [0.1 * t, -t])
        history.add_residual(t, [2.0 if t >= 2.0 else 0.1, 0.0], [1.0, 0.5], True)
    return history


def test_series_keeps_the_newest_rows_in_order():
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(1000, 3))
    series = TimeSeries(3, 100)
    for k, row in enumerate(rows):
        series.append(0.01 * k, row)
    window = series.window(-1.0, 100.0)
    assert len(series) == len(window.time) == 100
    np.testing.assert_array_equal(window.values, rows[-100:])
    middle = series.window(9.495, 9.705)
    np.testing.assert_array_equal(middle.values, rows[950:971])


def test_series_leaves_out_rows_that_come_late():
    series = TimeSeries(1, 10)
    for t in (1.0, 2.0, 1.5, 3.0):
        series.append(t, [t])
    assert series.window(0.0, 9.0).time.tolist() == [1.0, 2.0, 3.0]


def test_thin_keeps_a_peak_of_one_sample():
    values = np.zeros((5000, 2))
    values[1234, 0], values[4000, 1] = -7.0, 5.0
    small = thin(Window(np.arange(5000.0), values), 100)
    assert len(small.time) <= 100
    assert small.values[:, 0].min() == -7.0
    assert small.values[:, 1].max() == 5.0
    assert np.all(np.diff(small.time) > 0.0)


def test_ratio_is_the_newest_residual_over_its_threshold():
    history = history_of(2.5)
    np.testing.assert_allclose(history.ratio, [2.0, 0.0])
    history.add_residual(2.6, [9.0, 9.0], [1.0, 1.0], False)    # not valid: nothing to show
    np.testing.assert_allclose(history.ratio, [0.0, 0.0])


def test_forensic_window_is_half_a_second_before_and_after_and_survives_the_ring():
    history = history_of(2.3)
    history.add_event(EVENT)
    event = history.events[0]
    history.settle()
    assert not history.forensic(event).complete
    for k in range(2300, 16_000):              # long after the ring has turned over
        history.add_residual(k / 1000, [0.0, 0.0], [1.0, 0.5], True)
        if k % 40 == 0:
            history.settle()
    forensic = history.forensic(event)
    assert forensic.complete
    assert forensic.residual.time[0] == pytest.approx(1.5)
    assert forensic.residual.time[-1] == pytest.approx(2.5)
    before = forensic.residual.time < 2.0
    assert np.all(forensic.residual.values[before, 0] == 0.1)
    assert np.all(forensic.residual.values[~before & (forensic.residual.time < 2.3), 0] == 2.0)
    assert np.all(forensic.threshold.values == [1.0, 0.5])


def test_contact_belongs_to_the_event_of_its_stamp_and_is_shown_while_fresh():
    history = history_of(2.1)
    history.add_event(EVENT._replace(time=1.0))
    history.add_event(EVENT)
    contact = Contact(2.0, np.array([0.1, 0.2, 0.3]), np.array([0.0, -12.0, 0.0]))
    history.add_contact(contact)
    assert history.present_contact() is contact
    assert history.contacts == {2: contact}
    history.add_contact(contact._replace(time=1.7))      # of no event
    assert len(history.contacts) == 1
    history.add_position(4.2, [0.0, 0.0])
    assert history.present_contact() is None


def test_restarted_clock_begins_a_new_run_but_latched_states_stay():
    history = history_of(2.1)
    history.mode = Mode('enabled', '', '')
    history.add_event(EVENT)
    history.add_position(0.001, [0.3, 0.4])
    assert history.events == []
    assert history.time == pytest.approx(0.001)
    assert history.mode == Mode('enabled', '', '')


def test_old_events_make_room():
    history = ArmHistory(('joint1',))
    for k in range(60):
        history.add_event(EVENT._replace(time=float(k)))
    assert [history.events[0].number, history.events[-1].number] == [11, 60]
