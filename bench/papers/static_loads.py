"""Static tests of thesis 003, tables 3.2 and 4.2, on simulated arms over simulated cells."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from armsense.base.cell_layout import CellLayout
from armsense.model import Arm
from armsense.sim import make_plant
from armsense.sim.sensors import CellErrors, SimulatedCells
from armsense.types import Array

DT, SETTLE, MEAN = 1e-3, 0.4, 1.0      # [s]


class StaticRow(NamedTuple):
    """One line of a table."""

    table: str
    force: float       # [N]
    axis: str
    predicted: float   # by statics, size [N, Nm]
    observed: float    # by the cells
    published: float   # difference in the thesis


# Force; Fz and My predicted and observed (table 3.2); Mx and My (table 4.2).
TABLE_3_2 = ((5.6, 0.6, 0.0), (16.0, 0.3, 0.1), (24.2, 0.7, 0.3), (25.1, 0.6, 0.4),
             (25.9, 0.7, 0.4))
TABLE_4_2 = ((10.0, 2.3, 3.3), (20.0, 3.7, 1.6), (30.0, 5.8, 3.0), (40.0, 6.9, 7.3))


def static_tables(seed: int = 0) -> list[StaticRow]:
    """Both tables."""
    rows = []
    errors = CellErrors(bits=11)       # 1022 steps of the positive range
    for force, fz, my in TABLE_3_2:
        p, felt = _load('crs_a255', 'tool', np.array([0.0, 0.0, -force]), seed, errors)
        rows += [StaticRow('3.2', force, 'Fz', force, -felt[0], fz),
                 StaticRow('3.2', force, 'My', p[0] * force, felt[2], my)]
    for force, mx, my in TABLE_4_2:
        # Sideways and downwards one after the other, as the table's predictions take them.
        p, side = _load('zeego', 'link4', np.array([0.0, force, 0.0]), seed, CellErrors(bits=16))
        _, down = _load('zeego', 'link4', np.array([0.0, 0.0, -force]), seed, CellErrors(bits=16))
        rows += [StaticRow('4.2', force, 'Mx', p[2] * force, -side[1], mx),
                 StaticRow('4.2', force, 'My', p[0] * force, down[2], my)]
    return rows


def _load(arm: str, frame: str, force: Array, seed: int,
          errors: CellErrors) -> tuple[Array, Array]:
    """Where the force acts, and the change of the felt wrench that it makes."""
    model = Arm.load(arm)
    config = model.config
    assert config.load_cells is not None
    home = np.array(config.home)
    plant, layout = make_plant(config), CellLayout.of_config(config.load_cells)
    cells = SimulatedCells(config.load_cells, seed, errors)
    plant.reset(home)
    hold = plant.holding_torque
    M = np.diag(model.mass_matrix(home))

    def mean() -> Array:
        felt = []
        for k in range(round((SETTLE + MEAN) / DT)):
            state = plant.state
            gap, rate = home - state.joint_position, state.joint_velocity
            # Stiff as a geared industrial arm: the weight must not move under the load.
            plant.step(hold + M * (3e4 * gap - 350.0 * rate), DT)
            if k * DT >= SETTLE and k % 5 == 0:
                felt.append(layout.wrench(cells.step(plant.base_wrench, 5 * DT)))
        return np.asarray(np.mean(felt, axis=0))
    before = mean()
    p = model.frame_pose(home, frame)[:3, 3]
    link = model.link_names[model.moving_joint(frame)]
    T = model.frame_pose(home, link)
    plant.apply_force(link, T[:3, :3].T @ (p - T[:3, 3]), force)
    return p, mean() - before
