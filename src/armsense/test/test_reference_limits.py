"""What an arm is led by keeps velocity and acceleration, also in reactions and when it lets go.

The reference may begin anew only in the cycle of a collision, or where a joint is that a contact
pushes (`ReferenceChecker`).
"""

from dataclasses import replace

import numpy as np
import pytest
from reference_checker import ReferenceChecker

from armsense.control.config import ControllerConfig
from armsense.control.motion_controller import MotionController
from armsense.model import Arm
from armsense.reaction.options import Phase
from armsense.sim.closed_loop import ClosedLoop
from armsense.trajectory import point_to_point
from armsense.watch.collision_monitor import CollisionMonitor

pytestmark = pytest.mark.slow

FORCE = {'laas4': 15.0, 'biorob': 10.0, 'tudor': 25.0, 'seven': 40.0}   # [N] felt at once


class Watched:
    """An arm whose reference is looked at in every cycle."""

    def __init__(self, arm, strategy='retract', law=None, watches=True):
        self.model = Arm.load(arm)
        config = replace(ControllerConfig.of(self.model), floor=None)
        self.controller = MotionController(self.model, config, law)
        self.loop = ClosedLoop(self.model, controller=self.controller, seed=1,
                               monitor=CollisionMonitor(self.model) if watches else None)
        self.controller.reaction.choose(strategy)
        self.checker = ReferenceChecker(self.controller, self.loop.dt)
        self.phases = set()
        self.run(0.2)

    def run(self, seconds):
        def note(_):
            self.checker.note()
            self.phases.add(self.controller.phase)
        self.loop.run(seconds, note)

    def drive(self, speed=0.4, way=0.8):
        start = self.controller.reference.q
        goal = start.copy()
        goal[0] += way
        return self.controller.follow(point_to_point(start, goal, self.controller.limits,
                                                     self.model, speed))

    def push(self, seconds, sign=1.0):
        arm = self.model.name
        self.loop.plant.apply_force(self.model.link_names[-1], np.zeros(3),
                                    (0.0, sign * FORCE[arm], 0.0), seconds)


@pytest.mark.parametrize('strategy', ['stop', 'retract', 'retrace', 'float', 'resume'])
def test_a_reaction_in_motion_keeps_the_limits(strategy):
    arm = Watched('laas4', strategy)
    arm.drive()
    arm.run(0.5)
    arm.push(0.3, -1.0)
    arm.run(2.5)
    assert Phase.REACTING in arm.phases
    arm.checker.expect_kept()


@pytest.mark.parametrize('name', ['biorob', 'tudor', 'seven'])
def test_other_arms_retract_within_the_limits(name):
    arm = Watched(name)
    arm.push(0.3)
    arm.run(1.0)
    assert Phase.REACTING in arm.phases
    arm.checker.expect_kept()
    assert arm.checker.restarts <= 2                 # the start of the loop, the collision


@pytest.mark.parametrize('told', ['hold', 'cancel'])
def test_giving_up_in_a_retreat_keeps_the_limits(told):
    arm = Watched('laas4')
    arm.push(0.3)
    arm.run(0.15)
    assert arm.controller.phase is Phase.REACTING
    assert np.abs(arm.controller.reference.dq).max() > 0.1
    getattr(arm.controller, told)()
    arm.run(1.0)
    arm.checker.expect_kept()
    assert arm.checker.restarts <= 2


@pytest.mark.parametrize(('name', 'law'), [('laas4', 'computed_torque'), ('biorob', None)])
def test_letting_go_keeps_the_limits(name, law):
    """A wall that nobody feels: the goal is aborted, and the reference comes out of it."""
    arm = Watched(name, law=law, watches=False)
    tool = arm.loop.plant.pose()[:3, 3]
    turned = np.array(arm.model.config.home)
    turned[0] += 0.3
    there = arm.model.frame_pose(turned)[:3, 3]
    way = (there - tool) / np.linalg.norm(there - tool)
    arm.loop.plant.place_obstacle('ball', there + 0.32 * way, radius=0.3, stiffness=10e3)
    status = arm.drive(speed=0.3, way=1.0)
    arm.run(3.0)
    assert not status.active
    assert not status.succeeded
    arm.checker.expect_kept()
    assert arm.checker.restarts <= 2                 # the start; biorob's slow joint
