"""The whole arm in one process: MuJoCo plant, emulated boards, driver, controller. No ROS."""

import numpy as np

from armsense.model import Arm
from armsense.sim.closed_loop import ClosedLoop
from armsense.trajectory import Limits, point_to_point

model = Arm.load('laas4')
arm = ClosedLoop(model, seed=1)
arm.run(0.2)                                        # the controller takes over and holds

start = np.array(model.config.home)
goal = start + np.array([0.5, -0.3, 0.2, 0.4])      # [rad]
motion = point_to_point(start, goal, Limits.of(model), model, speed=0.4)
arm.controller.follow(motion)

errors = []


def note(cycle):
    wanted = motion.sample(cycle.time - begin).q
    errors.append(np.abs(cycle.state.q - wanted).max())


begin = arm.time
arm.run(motion.duration, note)
print(f'{motion.duration:.2f} s of motion, largest error {max(errors):.4f} rad, '
      f'driver {arm.driver.mode.name}')
