"""Wrong cells, swapped cells, calibration."""

from __future__ import annotations

import numpy as np
import pytest

from armsense.base.cell_calibration import calibrate_cell, CalibrationFile
from armsense.base.cell_check import CellChecker, check_layout
from armsense.base.cell_layout import CellLayout
from armsense.errors import ArmsenseError, BadValue

SQUARE = [(0.1, 0.1), (-0.1, 0.1), (-0.1, -0.1), (0.1, -0.1)]
HEXAGON = [(np.cos(a), np.sin(a)) for a in np.arange(6) * np.pi / 3]


def felt_run(samples=600, seed=1):
    rng = np.random.default_rng(seed)
    t = np.linspace(0, 12, samples)[:, None]
    swing = np.sin(t * [1.0, 1.7, 2.3] + rng.uniform(0, 6, 3))
    return np.array([-30, 0, 0]) + [1.0, 0.6, 0.5] * swing


@pytest.mark.parametrize('cells', [SQUARE, HEXAGON])
@pytest.mark.parametrize('wrong', [0, 2, 3])
def test_a_wrong_cell_is_named(cells, wrong):
    layout = CellLayout.upright(cells)
    rng = np.random.default_rng(wrong)
    checker = CellChecker(layout, 0.02)
    bias = checker._parity.T @ rng.uniform(-3, 3, len(checker._parity))
    sound = felt_run() @ layout.spread.T + bias + 0.02 * rng.standard_normal((600, len(cells)))
    np.testing.assert_allclose(checker.learn_bias(sound), bias, atol=0.01)
    for force, felt in zip(sound, felt_run(), strict=True):
        assert checker.step(force, felt) is None
    for k in range(200):
        force = sound[k].copy()
        force[wrong] += 1.0
        fault = checker.step(force, felt_run()[k])
    assert fault is not None
    assert fault.cell == wrong
    assert fault.error == pytest.approx(1.0, rel=0.15)
    assert fault.contrast > 2.0


def test_a_collision_is_no_lying_cell():
    layout = CellLayout.upright(SQUARE)
    checker = CellChecker(layout, 0.02)
    felt = felt_run()
    pushed = felt + [-8.0, 2.0, 3.0]
    for k in range(200):
        assert checker.step(layout.spread @ pushed[k], felt[k]) is None


def test_without_a_prediction_only_six_cells_tell_which():
    rng = np.random.default_rng(0)
    for cells, decided in ((SQUARE, False), (HEXAGON, True)):
        layout = CellLayout.upright(cells)
        checker = CellChecker(layout, 0.02)
        for value in felt_run():
            force = layout.spread @ value + 0.02 * rng.standard_normal(len(cells))
            force[3] += 2.0
            fault = checker.step(force)
        assert fault is not None
        assert (fault.contrast > 2.0) == decided
        if decided:
            assert fault.cell == 3


def test_three_cells_cannot_check_each_other():
    checker = CellChecker(CellLayout.upright(SQUARE[:3]), 0.02)
    assert not checker.redundant
    assert checker.step(np.array([1.0, 2.0, 99.0]), np.zeros(3)) is None
    with pytest.raises(BadValue, match='noise'):
        CellChecker(CellLayout.upright(SQUARE), 0.0)


def test_swapped_cells_are_named():
    layout = CellLayout.upright(SQUARE)
    felt = felt_run()
    forces = felt @ layout.spread.T + 0.02 * np.random.default_rng(2).standard_normal((600, 4))
    assert check_layout(layout, forces, felt).fits
    report = check_layout(layout, forces[:, [0, 2, 1, 3]], felt)
    assert not report.fits
    assert report.message == 'load cells 2 and 3 are exchanged'
    turned = check_layout(layout, forces[:, [3, 0, 1, 2]], felt)
    assert not turned.fits
    assert 'another order' in turned.message
    # The order that is told puts the channels right.
    channels = forces[:, [3, 0, 1, 2]]
    np.testing.assert_allclose((channels[:, list(turned.order)] @ layout.collect.T).std(axis=0),
                               felt.std(axis=0), rtol=0.1)


def test_a_layout_that_no_order_mends():
    wrong = CellLayout.upright(np.array(SQUARE) * 3.0)
    felt = felt_run()
    forces = felt @ CellLayout.upright(SQUARE).spread.T
    report = check_layout(wrong, forces, felt)
    assert not report.fits
    assert 'check positions, gains and signs' in report.message
    with pytest.raises(ArmsenseError, match='does not move'):
        check_layout(wrong, forces, np.ones_like(felt))


def test_calibration_of_figure_3_5():
    # 20 kg cell on a converter of 1022 steps: 52.3 counts per kilogram were found.
    rng = np.random.default_rng(0)
    up = np.array([0, 2, 5, 9, 14, 20]) * 9.81
    loads = np.concatenate([up, up[::-1][1:]])
    readings = np.round(12 + 52.3 / 9.81 * loads + rng.uniform(-0.4, 0.4, len(loads)))
    cell = calibrate_cell(loads, readings)
    assert 9.81 / cell.gain == pytest.approx(52.3, rel=2e-3)          # counts per kilogram
    assert cell.offset == pytest.approx(12, abs=1)
    assert cell.linearity < 2e-3
    assert cell.hysteresis < 2e-3
    assert cell.force(12 + 523) == pytest.approx(98.1, rel=5e-3)


def test_hysteresis_and_linearity_are_measured():
    up = np.arange(0.0, 101.0, 10.0)
    loads = np.concatenate([up, up[::-1][1:]])
    bow = 0.4 * np.sin(np.pi * loads / 100)
    late = np.concatenate([np.zeros(11), 2.0 * np.sin(np.pi * up[::-1][1:] / 100)])
    cell = calibrate_cell(loads, 3.0 * (loads + late))
    assert cell.hysteresis == pytest.approx(0.02, rel=0.05)
    assert calibrate_cell(loads, 3.0 * loads).hysteresis == pytest.approx(0, abs=1e-9)
    bent = calibrate_cell(loads, 3.0 * (loads + bow))
    assert bent.hysteresis == pytest.approx(0, abs=1e-9)
    assert 0.001 < bent.linearity < 0.004


def test_calibration_file_and_bad_cells(tmp_path):
    file = CalibrationFile(cells=tuple(
        calibrate_cell([0, 5, 10, 5, 0], np.array([3, 8, 13, 8, 3]) * k) for k in (1, -2, 3)))
    file.write(tmp_path / 'cells.yaml')
    again = CalibrationFile.read(tmp_path / 'cells.yaml', 3)
    np.testing.assert_allclose(again.gains, [1, -0.5, 1 / 3])
    np.testing.assert_allclose(again.offsets, [3, -6, 9])
    with pytest.raises(BadValue, match=r'cells.yaml: number of cells is 3; it must be 4'):
        CalibrationFile.read(tmp_path / 'cells.yaml', 4)
    with pytest.raises(ArmsenseError, match='is the cell connected'):
        calibrate_cell([0, 5, 10], [7, 7, 7])
    with pytest.raises(BadValue, match='different loads'):
        calibrate_cell([0, 5, 5], [1, 2, 3])
    (tmp_path / 'bad.yaml').write_text('cells: [{gain: 0.0}]')
    with pytest.raises(ArmsenseError, match='gain'):
        CalibrationFile.read(tmp_path / 'bad.yaml')
