"""Only a URDF and joint states with efforts: the observer on numbers of your own.

Here the numbers are those of a pendulum at rest that somebody pushes after half a second.
"""

import math
from pathlib import Path
import tempfile

import numpy as np

from armsense.model import Arm
from armsense.watch.collision_monitor import CollisionMonitor

URDF = """<robot name="pendulum"><link name="base_link"/><link name="rod"><inertial>
  <origin xyz="0.5 0 0"/><mass value="2"/>
  <inertia ixx="0.01" iyy="0.2" izz="0.2" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="hinge" type="revolute"><parent link="base_link"/><child link="rod"/>
  <axis xyz="0 1 0"/><limit lower="-3" upper="3" velocity="2" effort="30"/></joint></robot>"""
RATE, ANGLE = 500.0, 0.4            # [Hz], [rad]
WEIGHT = 2 * 9.81 * 0.5 * math.cos(ANGLE)     # [Nm] that the motor must hold

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder, 'pendulum.urdf')
    path.write_text(URDF)
    model = Arm.load(path)

monitor = CollisionMonitor(model)
for k in range(500):
    time = k / RATE
    push = 8.0 if time > 0.5 else 0.0                        # [Nm] about the hinge
    result = monitor.step([ANGLE], [-WEIGHT - push], [], [], True, 1.0 / RATE)
    if result.detection is not None:
        break

assert result.detection is not None, 'the push was not felt'
print(f'felt at {time:.3f} s: residual {result.filtered[0]:+.2f} Nm, threshold '
      f'{np.round(result.threshold[0], 2)} Nm (15 % of the effort limit)')
