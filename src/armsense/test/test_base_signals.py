"""Delay, vibration, sensitivity."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import signal

from armsense.base.base_observer import DelayLine
from armsense.base.cell_layout import CellLayout
from armsense.base.sensitivity import (
    detectable_force,
    detectable_push,
    force_response,
)
from armsense.base.vibration import BandStop, VibrationFloor, VibrationMode
from armsense.errors import BadValue

DT = 0.01


def test_delay_line_interpolates_and_keeps_uneven_times():
    line = DelayLine(0.0255, 1e-3)
    rng = np.random.default_rng(0)
    t = 0.0
    for k in range(300):
        dt = rng.uniform(0.5e-3, 1.5e-3) if k else 0.0
        t += dt
        out = line.step(np.array([3.0 * t, -t]), dt)
    np.testing.assert_allclose(out, [3.0 * (t - 0.0255), -(t - 0.0255)], atol=1e-9)
    assert DelayLine(0.0, 1e-3).step(np.array([7.0]), 1e-3) == [7.0]


# -- vibration -------------------------------------------------------------------------------


def test_band_stop_is_the_textbook_filter():
    mode = VibrationMode(frequency=6.0, width=2.0)
    x = np.random.default_rng(1).standard_normal((500, 2)) + 5.0
    b, a = signal.iirnotch(6.0, 3.0, 100.0)
    zi = signal.lfilter_zi(b, a)[:, None] * x[0]
    expected, _ = signal.lfilter(b, a, x, axis=0, zi=zi)
    stop = BandStop((mode,), DT)
    np.testing.assert_allclose([stop.step(row) for row in x], expected, atol=1e-12)
    stop.reset()
    np.testing.assert_allclose([stop.step(row) for row in np.full((50, 2), 3.0)], 3.0)
    with pytest.raises(BadValue, match='frequency of a mode'):
        BandStop((VibrationMode(frequency=49.0, width=1.0),), DT)


def test_vibration_floor_learns_swings_but_no_collision():
    floor = VibrationFloor(1, DT, slowest=3.0, decay=2.0, hold=0.25)
    t = np.arange(0, 3, DT)
    for value in 60 * np.sin(2 * np.pi * 6.0 * t):
        level = floor.step(np.array([value]))
    assert level[0] == pytest.approx(60.0, rel=0.15)
    calm = VibrationFloor(1, DT, hold=0.25)
    seen = [calm.step(np.array([100.0 if k >= 100 else 0.0]))[0] for k in range(120)]
    assert max(seen) == 0.0                      # the step has not lifted its own threshold yet
    for _ in range(2000):
        level = floor.step(np.array([0.0]))
    assert level[0] < 0.1


# -- sensitivity -----------------------------------------------------------------------------

def layout():
    return CellLayout.upright([(0.4, -0.4), (0.4, 0.4), (-0.4, 0.4), (-0.4, -0.4)])


def test_response_is_force_and_lever():
    p, F = np.array([1.732, 0.055, 0.966]), np.array([1.0, 10.0, -10.0])
    moment = np.cross(p, F)
    np.testing.assert_allclose(force_response(layout(), p)[0] @ F, [F[2], moment[0], moment[1]])


def test_detectable_force_against_many_directions():
    rng = np.random.default_rng(3)
    threshold = np.array([30.0, 64.0, 64.0])
    for p in rng.uniform(-2, 2, (5, 3)):
        found = detectable_force(layout(), p, threshold)
        directions = rng.standard_normal((20000, 3))
        directions /= np.linalg.norm(directions, axis=1)[:, None]
        felt = np.abs(directions @ force_response(layout(), p)[0].T) / threshold
        smallest = 1.0 / felt.max(axis=1)
        assert smallest.max() <= found.worst * (1 + 1e-9)
        assert smallest.max() == pytest.approx(found.worst, rel=0.1)
        assert smallest.min() == pytest.approx(found.best, rel=0.02)
        at_worst = np.abs(force_response(layout(), p)[0] @ found.direction) / threshold
        assert at_worst.max() * found.worst == pytest.approx(1.0)


def test_thesis_limit_of_64_nm_is_32_n_at_two_metres():
    # Section 4.3.3: 64 Nm allow a vertical force of 64 N at 1 m, 32 N at 2 m.
    for distance, force in ((1.0, 64.0), (1.28, 50.0), (2.0, 32.0)):
        found = detectable_force(layout(), [distance, 0, 1.0], [1e9, 64.0, 64.0])
        assert found.axis[2] == pytest.approx(force)


def test_what_cannot_be_felt_is_said():
    found = detectable_force(layout(), [1.0, 0.0, 0.0], [30.0, 64.0, 64.0])
    assert found.worst == np.inf                     # in the plane of the cells, sideways
    assert found.direction[2] == pytest.approx(0.0, abs=1e-12)
    assert found.axis[0] == found.axis[1] == np.inf
    with pytest.raises(BadValue, match='threshold'):
        detectable_force(layout(), [1.0, 0, 0], [0.0, 1, 1])
    six = detectable_force(CellLayout.six_axis(), [1.0, 0.5, 0.0], [10.0] * 3 + [20.0] * 3)
    assert six.worst < 18.0


def test_smallest_push_just_crosses_a_threshold():
    cells, t = CellLayout.upright([(0.1, 0.1), (-0.1, 0.1), (-0.1, -0.1), (0.1, -0.1)]), [2, 1, 1]
    rng = np.random.default_rng(3)
    points, normals = rng.uniform(-1, 1, (20, 3)), rng.standard_normal((20, 3))
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    for p, n, size in zip(points, normals, detectable_push(cells, points, normals, t),
                          strict=True):
        felt = cells.felt(np.concatenate([-size * n, np.cross(p, -size * n)]))
        assert (np.abs(felt) / t).max() == pytest.approx(1.0)
    assert np.isinf(detectable_push(cells, [[0.0, 0.0, 0.0]], [[1.0, 0.0, 0.0]], t)[0])
