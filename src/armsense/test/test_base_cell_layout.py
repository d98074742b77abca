from __future__ import annotations

import numpy as np
import pytest

from armsense.base.cell_layout import CellLayout
from armsense.errors import ArmsenseError, BadValue
from armsense.model import ArmConfig
from armsense.model.arm_config import LoadCellsConfig

G = 9.81
SQUARE = [(0.1, 0.1), (-0.1, 0.1), (-0.1, -0.1), (0.1, -0.1)]


def test_crs_a255_is_equations_3_1_and_3_2():
    layout = CellLayout.of_config(ArmConfig.load('crs_a255').load_cells)
    s = np.array([3.0, 5.0, 7.0, 11.0])   # [kg]
    fz, mx, my = layout.wrench(s * G)
    assert fz == pytest.approx(-s.sum() * G)
    assert mx == pytest.approx((s[0] + s[1] - s[2] - s[3]) * 0.0935 * G)
    assert my == pytest.approx((s[0] + s[3] - s[1] - s[2]) * 0.0635 * G)


def test_zeego_is_equations_4_1_and_4_2():
    layout = CellLayout.of_config(ArmConfig.load('zeego').load_cells)
    s = np.array([300.0, 320.0, 210.0, 190.0])
    _, mx, my = layout.wrench(s * G)
    assert mx == pytest.approx((s[0] + s[3] - s[1] - s[2]) * 0.4 * G)
    assert my == pytest.approx((s[0] + s[1] - s[2] - s[3]) * 0.4 * G)


# Table 3.2: masses on the x axis of the CRS A255, 0.254 m from its origin.
@pytest.mark.parametrize(('force', 'fz', 'my', 'seen_fz', 'seen_my'), [
    (5.6, 5.6, 1.4, 6.2, 1.4), (16.0, 16.0, 4.1, 16.3, 4.0), (24.2, 24.2, 6.1, 24.9, 5.8),
    (25.1, 25.1, 6.4, 25.7, 6.0), (25.9, 25.9, 6.6, 26.6, 6.2)])
def test_static_test_of_table_3_2(force, fz, my, seen_fz, seen_my):
    layout = CellLayout.of_config(ArmConfig.load('crs_a255').load_cells)
    wrench = np.array([0, 0, -force, *np.cross([0.254, 0, 0], [0, 0, -force])])
    cells = layout.spread @ layout.felt(wrench)
    felt = layout.wrench(np.round(cells * 1022 / 196) * 196 / 1022)   # steps of the converter
    # Nearer to the predicted value than the printed observation was, or half a step of a cell.
    assert abs(-felt[0] - fz) <= max(abs(seen_fz - fz), 0.2)
    assert abs(felt[2] - my) <= max(abs(seen_my - my), 0.05)
    assert felt[1] == pytest.approx(0.0, abs=0.04)


@pytest.mark.parametrize('count', [3, 4, 5, 8])
def test_any_number_of_cells_anywhere(count):
    rng = np.random.default_rng(count)
    positions = rng.uniform(-1, 1, (count, 2))
    layout = CellLayout.upright(positions)
    forces = rng.uniform(0, 100, count)
    # Independent of the class: every cell pushes the support down at its place.
    force = np.array([0, 0, -forces.sum()])
    moment = sum(np.cross([*p, 0], [0, 0, -f]) for p, f in zip(positions, forces, strict=True))
    np.testing.assert_allclose(layout.wrench(forces), [force[2], moment[0], moment[1]])
    felt = np.array([-50.0, 3.0, -7.0])
    np.testing.assert_allclose(layout.wrench(layout.spread @ felt), felt)


def test_height_moves_the_reference_of_the_moments():
    layout = CellLayout.upright(SQUARE, height=-0.04)
    p, F = np.array([0.3, 0.2, 0.5]), np.array([4.0, -3.0, 2.0])
    felt = layout.felt(np.concatenate([F, np.cross(p, F)]))
    about_cells = np.cross(p - [0, 0, -0.04], F)
    np.testing.assert_allclose(felt, [F[2], about_cells[0], about_cells[1]])


def test_six_axis_sensor_in_another_place():
    from scipy.spatial.transform import Rotation
    R = Rotation.from_euler('xyz', [0.2, -0.5, 1.1]).as_matrix()
    place = np.array([0.1, -0.2, -0.3])
    layout = CellLayout.six_axis(place, R)
    p, F = np.array([0.3, 0.2, 0.5]), np.array([4.0, -3.0, 2.0])
    reading = np.concatenate([R.T @ F, R.T @ np.cross(p - place, F)])
    np.testing.assert_allclose(layout.wrench(reading), [*F, *np.cross(p, F)], atol=1e-12)
    assert layout.names == ('Fx', 'Fy', 'Fz', 'Mx', 'My', 'Mz')
    config = LoadCellsConfig(kind='six_axis', positions=((0.1, -0.2),), height=-0.3)
    np.testing.assert_allclose(CellLayout.of_config(config).collect,
                               CellLayout.six_axis(place).collect)


def test_a_missing_cell_is_told_by_the_others():
    layout = CellLayout.upright(SQUARE)
    felt = np.array([-30.0, 1.0, -2.0])
    bias = 2.0 * np.array([1.0, -1.0, 1.0, -1.0])    # the cells press against each other
    force = layout.spread @ felt + bias
    force[2] = np.nan
    valid = np.array([True, True, False, True])
    np.testing.assert_allclose(layout.wrench(force, valid, bias), felt)
    two = np.array([True, False, False, True])
    assert not layout.can_do_with(two)
    with pytest.raises(ArmsenseError, match='without load cell 2, 3 the others cannot'):
        layout.wrench(force, two)


def test_five_cells_can_lose_one_but_not_to_a_line():
    layout = CellLayout.upright([(0, 0), (1, 0), (2, 0), (1, 1), (0.5, 0.7)])
    assert layout.can_do_with(np.array([True, True, True, True, False]))
    assert not layout.can_do_with(np.array([True, True, True, False, False]))


def test_bad_layouts_are_named():
    with pytest.raises(BadValue, match='number of load cells is 2'):
        CellLayout.upright([(0, 0), (1, 0)])
    with pytest.raises(BadValue, match='not in a line'):
        CellLayout.upright([(0, 0), (1, 1), (2, 2), (3, 3)])
    with pytest.raises(ArmsenseError, match='no load cells'):
        CellLayout.of_config(None)
    with pytest.raises(BadValue, match='3 positive'):
        CellLayout.upright([(0, 0), (1, 0), (0, 1)], stiffness=[1, 2])


def test_stiffer_cells_carry_more():
    layout = CellLayout.upright(SQUARE, stiffness=[3, 1, 3, 1])
    # Two diagonals carry the same plane: the stiffer one three times as much.
    np.testing.assert_allclose(layout.spread @ [-40.0, 0, 0], [15, 5, 15, 5])
    np.testing.assert_allclose(layout.covariance(0.1)[0, 0], 4 * 0.01)
