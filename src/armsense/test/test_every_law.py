"""Every law that an arm has gains for drives it, in the closed loop."""

import numpy as np
import pytest

from armsense.boards.mode import Mode
from armsense.control.config import ControllerConfig
from armsense.control.motion_controller import MotionController
from armsense.model import Arm
from armsense.share import arm_names
from armsense.sim.closed_loop import ClosedLoop
from armsense.trajectory import Limits, point_to_point

pytestmark = pytest.mark.slow

PAIRS = [(arm, law) for arm in arm_names()
         for law in sorted(ControllerConfig.of(Arm.load(arm)).laws)]


@pytest.mark.parametrize(('arm', 'law'), PAIRS)
def test_a_law_drives_its_arm(arm, law):
    model = Arm.load(arm)
    loop = ClosedLoop(model, controller=MotionController(model, law=law))
    loop.run(0.2)
    if law != 'float':                     # which follows a hand alone
        start = loop.controller.reference.q
        goal = start + np.where(start > 0.0, -0.1, 0.1)
        loop.controller.follow(point_to_point(start, goal, Limits.of(model), model, 0.3))
    loop.run(1.0)
    assert loop.driver.mode is Mode.ENABLED, loop.driver.fault
    away = np.abs(loop.plant.state.joint_position - loop.controller.reference.q)
    sags = loop.controller._laws.find(law).drivetrain.elastic     # behind springs
    assert away.max() < (0.3 if sags else 0.1)
