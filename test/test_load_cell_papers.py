"""What the load cells' thesis does with recordings: delay, resonances, maps, repeated programs."""

from __future__ import annotations

import numpy as np
import pytest

from armsense.base.cell_layout import CellLayout
from armsense.errors import ArmsenseError, BadValue
from armsense.model import Arm
from bench.papers.free_run import find_modes, find_time_shift
from bench.papers.run_database import RecordedProgram, RunFollower
from bench.papers.sensitivity_figure import draw_sensitivity, sensitivity_map, workspace_grid

DT = 0.01


def layout():
    return CellLayout.upright([(0.4, -0.4), (0.4, 0.4), (-0.4, 0.4), (-0.4, -0.4)])


def wander(seconds, seed, k=3, period=DT):
    """Smooth signals, (N, k)."""
    rng = np.random.default_rng(seed)
    t = np.arange(0, seconds, period)[:, None]
    return sum(rng.uniform(0.5, 1, k) * np.sin(rng.uniform(0.3, 4, k) * t + rng.uniform(0, 6, k))
               for _ in range(5))


@pytest.mark.parametrize('delay', [1.54, 0.0, -0.37, 0.123])
def test_time_shift_is_found_between_the_samples(delay):
    fine = wander(40, 1, period=1e-3)
    rng = np.random.default_rng(2)
    start = 5000
    shift = round(delay * 1000)
    predicted = fine[start:start + 30000:10]
    measured = fine[start - shift:start - shift + 30000:10] * [1.0, 0.8, 1.1] + [50.0, 3.0, -2.0]
    measured = measured + 0.05 * rng.standard_normal(measured.shape)
    found = find_time_shift(measured, predicted, DT)
    assert found.delay == pytest.approx(delay, abs=2e-3)
    assert found.correlation > 0.97
    assert found.uncertainty < 0.1


def test_time_shift_refuses_what_has_nothing_in_common():
    with pytest.raises(ArmsenseError, match='little in common'):
        find_time_shift(np.random.default_rng(1).standard_normal((3000, 3)), wander(30, 6), DT)
    with pytest.raises(ArmsenseError, match='must move'):
        find_time_shift(wander(10, 1), np.ones((1000, 3)), DT)
    with pytest.raises(BadValue, match='shapes'):
        find_time_shift(np.zeros((5, 3)), np.zeros((4, 3)), DT)


def test_modes_are_found_with_their_size():
    t = np.arange(0, 60, DT)
    rng = np.random.default_rng(4)
    residual = 3.0 * rng.standard_normal((len(t), 3)) + 20 * np.sin(0.3 * t)[:, None]
    residual[:, 1] += 62.0 * np.sin(2 * np.pi * 6.3 * t)
    residual[:, 2] += 15.0 * np.sin(2 * np.pi * 14.0 * t)
    modes = find_modes(residual, DT)
    assert [m.frequency for m in modes] == pytest.approx([6.3, 14.0], abs=0.15)
    assert modes[0].amplitude == pytest.approx(62.0, rel=0.25)
    assert find_modes(rng.standard_normal((6000, 3)), DT) == ()
    with pytest.raises(BadValue, match='length of the run'):
        find_modes(residual[:10], DT)


def test_map_has_the_shape_of_figures_4_3():
    grid = workspace_grid()
    assert grid.shape == (9 * 21 * 11, 3)
    found = sensitivity_map(layout(), grid)
    # 4.3a: horizontal forces are felt by their height above the cells only.
    np.testing.assert_allclose(found.horizontal, np.sqrt(2) * grid[:, 2], atol=1e-12)
    # 4.3b: vertical forces better the farther away from the axis, and never not at all.
    np.testing.assert_allclose(found.vertical,
                               np.sqrt(1 + grid[:, 0]**2 + grid[:, 1]**2))
    # 4.3c: best far, high and to the side; in a corner of the box.
    assert np.abs(grid[np.argmax(found.overall)]).tolist() == [5.0, 5.0, 5.0]
    worst = grid[np.argmin(found.overall)]
    assert worst.tolist() == [1.0, 0.0, 0.0]


def test_figure_is_drawn(tmp_path):
    path = tmp_path / 'sensitivity.png'
    model = Arm.load('laas4')
    cells = CellLayout.of_config(model.config.load_cells)
    draw_sensitivity(model, cells, np.array(model.config.home), [0.5, 0.3, 0.3], path)
    assert path.stat().st_size > 10_000


def program(speed=1.0, seconds=10.0):
    """A path out and back with a rest in the middle, run at another speed."""
    t = np.arange(0, seconds / speed, DT) * speed
    s = np.interp(t, [0, 4, 6, 10], [0, 1, 1, 0])
    s = s * s * (3 - 2 * s)
    q = np.stack([s, 0.5 * np.sin(2 * s), -s], axis=1)
    felt = np.stack([-100 + 5 * s, 10 * np.cos(2 * s), 20 * s], axis=1)
    return q, felt


@pytest.mark.parametrize('speed', [1.0, 0.85, 1.15])
def test_run_is_compared_with_warped_time(speed):
    rng = np.random.default_rng(7)
    q, felt = program()
    recorded = RecordedProgram.of_run(q, felt, DT)
    follower = RunFollower(recorded)
    q, felt = program(speed)
    largest = 0.0
    for position, value in zip(q, felt, strict=True):
        reading = follower.step(position + 1e-4 * rng.standard_normal(3), value, DT)
        assert reading.valid
        largest = max(largest, np.abs(reading.residual).max())
    assert largest < 0.35
    assert reading.progress == pytest.approx(10.0, abs=0.3)


def test_collision_shows_against_the_recording_and_leaving_the_path_is_said():
    q, felt = program()
    follower = RunFollower(RecordedProgram.of_run(q, felt, DT))
    for k in range(300):
        reading = follower.step(q[k], felt[k] + ([-5.0, 0, 2] if k > 250 else 0), DT)
    np.testing.assert_allclose(reading.residual, [-5.0, 0, 2], atol=0.1)
    assert not follower.step(q[300] + 0.3, felt[300], DT).valid


def test_several_runs_give_mean_and_spread(tmp_path):
    rng = np.random.default_rng(8)
    q, felt = program()
    runs = [felt + rng.standard_normal(3) * [0.5, 0.1, 0.2] for _ in range(12)]
    recorded = RecordedProgram.of_run(q, runs[0], DT)
    for run in runs[1:]:
        recorded = recorded.with_run(q, run)
    assert recorded.runs == 12
    np.testing.assert_allclose(recorded.felt, np.mean(runs, axis=0), atol=0.1)
    inner = slice(50, 350)
    spread = np.std(runs, axis=0, ddof=1)
    np.testing.assert_allclose(recorded.spread[inner], spread[inner], rtol=0.2)
    recorded.write(tmp_path / 'program.npz')
    again = RecordedProgram.read(tmp_path / 'program.npz')
    np.testing.assert_array_equal(again.felt, recorded.felt)
    with pytest.raises(ArmsenseError, match='leaves the recorded path'):
        recorded.with_run(q + 1.0, felt)
