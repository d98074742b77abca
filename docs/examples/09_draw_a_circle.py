"""Lead the tool of a simulated arm around a circle; what cannot be reached is refused."""

import numpy as np

from armsense.control.goal import GoalRefused
from armsense.model import Arm
from armsense.sim.closed_loop import ClosedLoop
from armsense.task import Pose, TaskGoal

RADIUS, DURATION = 0.08, 3.0            # [m], [s]

model = Arm.load('laas4')
arm = ClosedLoop(model, seed=1)
arm.run(0.2)
tool = Pose.of_matrix(arm.model.frame_pose(np.array(model.config.home)))

out = (tool.position - [0.0, 0.0, 0.167]) / np.linalg.norm(tool.position - [0.0, 0.0, 0.167])
side = np.array([0.0, 1.0, 0.0])
up = np.cross(out, side)                # the circle lies across the line from the shoulder
u = np.linspace(0.0, 1.0, 60)[1:]
angles = 2 * np.pi * u - np.sin(2 * np.pi * u)      # at rest at both ends
circle = [Pose(tool.position + RADIUS * (np.sin(a) * side + (np.cos(a) - 1) * up), tool.rotation)
          for a in angles]
status = arm.controller.follow_task_path(TaskGoal(poses=circle, times=DURATION * u))

center, errors = tool.position - RADIUS * up, []
arm.run(DURATION + 0.2, lambda _: errors.append(
    np.linalg.norm(arm.plant.pose()[:3, 3] - center) - RADIUS))
print(f'circle {"drawn" if status.succeeded else status.text}; '
      f'radius off by at most {1e3 * np.abs(errors).max():.1f} mm')

try:
    arm.controller.follow_task_path(TaskGoal(poses=[Pose.of([1.0, 0.0, 0.5])]))
except GoalRefused as refusal:
    print(f'refused: {refusal}')
