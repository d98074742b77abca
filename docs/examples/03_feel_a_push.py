"""Push a simulated arm and watch the momentum observer find out: when, where, how hard."""

import numpy as np

from armsense.model import Arm
from armsense.sim.closed_loop import ClosedLoop
from armsense.watch.collision_monitor import CollisionMonitor

PUSH = np.array([0.0, 12.0, 0.0])       # [N] sideways

model = Arm.load('laas4')
arm = ClosedLoop(model, monitor=CollisionMonitor(model), seed=1)
arm.run(0.5)

arm.plant.apply_force('link4', (0.1, 0.0, 0.0), PUSH, duration=0.2)
begin = arm.time
felt = None
while felt is None and arm.time < begin + 0.2:
    cycle = arm.step()
    if cycle.result is not None and cycle.result.detection is not None:
        felt = cycle

assert felt is not None, 'the push was not felt'
detection = felt.result.detection
print(f'felt after {1e3 * (felt.time - begin):.0f} ms at {model.joint_names[detection.joint]}: '
      f'residual {detection.residual.round(2)} Nm, thresholds {detection.threshold.round(2)} Nm')
