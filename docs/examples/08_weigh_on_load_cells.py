"""Four cheap load cells under the base: what they should feel, and what a push adds to it."""

import numpy as np

from armsense.base.cell_layout import CellLayout
from armsense.model import Arm

model = Arm.load('laas4')
layout = CellLayout.of_config(model.config.load_cells)
q, rest = np.array(model.config.home), np.zeros(model.n)

wrench = model.base_wrench(q, rest, rest)        # that the arm exerts on its support
cells = layout.spread @ layout.selection @ wrench
print('weight on the cells [N]', cells.round(2), 'sum', cells.sum().round(2))

force = np.array([0.0, 0.0, -5.0])               # [N] somebody presses on the hand
point = model.frame_pose(q, model.tool_frame)[:3, 3]
pressed = wrench + np.concatenate([force, np.cross(point, force)])
felt = layout.collect @ (layout.spread @ layout.selection @ pressed - cells)
print(f'change: Fz {felt[0]:+.2f} N, Mx {felt[1]:+.2f} Nm, My {felt[2]:+.2f} Nm')
print(f'so the force acts at x {-felt[2] / felt[0]:+.3f} m, y {felt[1] / felt[0]:+.3f} m; '
      f'the hand is at x {point[0]:+.3f} m, y {point[1]:+.3f} m')
