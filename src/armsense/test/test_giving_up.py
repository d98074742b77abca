"""An arm that has given up lets go of what it pressed against, and does not jump when it is gone.

No observer runs, but for one test: the arm learns of the obstacle from its own errors.
"""

from dataclasses import replace

import numpy as np
import pytest

from armsense.boards.mode import Mode
from armsense.control.config import ControllerConfig
from armsense.control.motion_controller import MotionController
from armsense.model import Arm
from armsense.reaction.options import Phase
from armsense.sim.closed_loop import ClosedLoop
from armsense.trajectory import ErrorCode, point_to_point, Tolerances
from armsense.watch.collision_monitor import CollisionMonitor

pytestmark = pytest.mark.slow

PRESSED = 15.0   # [N] with which an arm may press after 0.5 s
JUMP = 0.05      # [rad]
EVERY_LAW = [('laas4', law) for law in (
    'computed_torque', 'pid_position', 'pd_gravity', 'joint_impedance', 'pi_velocity',
    'kinematic_joint', 'kinematic_cartesian')] + [
    ('biorob', 'elastic_state'), ('biorob', 'elastic_inverse_dynamics'),
    ('biorob', 'pid_position'), ('biorob', 'computed_torque'), ('tudor', 'oscillation_damping'),
    ('tudor', 'pid_position'), ('seven', 'computed_torque'), ('seven', 'pid_position')]
DEFAULT_LAWS = [('laas4', 'computed_torque'), ('laas4', 'pid_position'),
                ('biorob', 'elastic_state'), ('tudor', 'oscillation_damping'),
                ('seven', 'computed_torque')]


class Pressing:
    """An arm whose first joint drives the tool into a ball."""

    def __init__(self, arm, law=None, speed=0.3, tolerances=None, angle=0.3):
        model = Arm.load(arm)
        config = replace(ControllerConfig.of(model), floor=None)
        self.controller = MotionController(model, config, law)
        self.home = np.array(model.config.home)
        self.loop = ClosedLoop(model, controller=self.controller, seed=1)
        self.loop.run(0.2)
        turned = self.home.copy()
        turned[0] += angle
        there, ahead = (model.frame_pose(turned + [d, *turned[1:] * 0.0])[:3, 3]
                        for d in (0.0, 0.01))
        way = (ahead - there) / np.linalg.norm(ahead - there)
        self.loop.plant.place_obstacle('ball', there + 0.32 * way, radius=0.3, stiffness=10e3)
        turned[0] += 0.7
        self.status = self.controller.follow(point_to_point(
            self.home, turned, self.controller.limits, model, speed), tolerances)
        self.until(lambda: self.force > 0.0)
        assert self.force > 0.0

    @property
    def force(self):
        return sum(float(np.linalg.norm(c.force)) for c in self.loop.plant.contact)

    @property
    def q(self):
        return self.loop.plant.state.joint_position.copy()

    def until(self, condition, most=8.0):
        end = self.loop.time + most
        while not condition() and self.loop.time < end:
            self.loop.step()

    def expect_letting_go(self, seconds=1.0):
        """From now on: 0.5 s to let go, then hardly any force, then the ball is taken away."""
        self.loop.run(0.5)
        forces = []
        self.loop.run(seconds, lambda _: forces.append(self.force))
        assert max(forces) < PRESSED
        before = self.q
        self.loop.plant.remove_obstacle('ball')
        ways = []
        self.loop.run(0.5, lambda _: ways.append(np.abs(self.q - before).max()))
        assert max(ways) < JUMP
        assert self.loop.driver.mode == Mode.ENABLED


@pytest.mark.parametrize(('arm', 'law'), EVERY_LAW)
def test_an_arm_left_behind_holds_where_it_is(arm, law):
    pressing = Pressing(arm, law)
    pressing.until(lambda: not pressing.status.active)
    assert not pressing.status.active
    assert not pressing.status.succeeded
    pressing.expect_letting_go()


@pytest.mark.parametrize('told', ['hold', 'cancel'])
@pytest.mark.parametrize(('arm', 'law'), DEFAULT_LAWS)
def test_hold_and_cancel_let_go(arm, law, told):
    pressing = Pressing(arm, law)
    pressing.loop.run(0.08)
    getattr(pressing.controller, told)()
    pressing.expect_letting_go()
    assert pressing.status.cancelled


def test_a_goal_that_is_not_reached_lets_go():
    loose = Tolerances(path=np.zeros(4), goal=np.full(4, 0.05), goal_time=0.2)
    pressing = Pressing('laas4', tolerances=loose)
    pressing.until(lambda: not pressing.status.active)
    assert pressing.status.code is ErrorCode.GOAL_TOLERANCE_VIOLATED
    pressing.expect_letting_go()


@pytest.mark.parametrize('law', ['computed_torque', 'pid_position', 'pd_gravity',
                                 'joint_impedance', 'pi_velocity'])
def test_a_goal_without_tolerances_ends_where_the_arm_is(law):
    """Nobody watches how far the reference goes; the driver must not take it for a mistake."""
    pressing = Pressing('laas4', law, tolerances=Tolerances(path=np.zeros(4), goal=np.zeros(4)))
    pressing.until(lambda: not pressing.status.active)
    assert pressing.status.succeeded
    pressing.expect_letting_go()


def test_what_winds_up_after_a_hold_is_let_go_of_again():
    pressing = Pressing('laas4', 'pid_position', speed=0.02, angle=0.05)
    pressing.loop.run(0.05)                          # hardly any force yet
    pressing.controller.hold()
    pressing.expect_letting_go(6.0)


def test_an_arm_that_carries_more_than_it_knows_does_not_sink_with_every_hold():
    loop = ClosedLoop(Arm.load('laas4'), seed=1)
    loop.run(0.2)
    loop.plant.set_payload(0.5)
    loop.run(1.0)
    heights = []
    for _ in range(2):
        loop.controller.hold()
        loop.run(3.0, lambda _: heights.append(loop.plant.pose()[2, 3]))
    assert heights[0] - min(heights[:3000]) < 0.05
    assert np.ptp(heights[2500:]) < 1e-3             # told again, it does not sink again


def test_a_second_hold_does_not_disturb_the_first():
    """The reference is on its way to where the arm is, and goes on."""
    model = Arm.load('laas4')
    controller = MotionController(model)
    loop = ClosedLoop(model, controller=controller, monitor=CollisionMonitor(model), seed=1)
    loop.run(0.2)
    loop.plant.apply_force('link4', (0.0, 0.0, 0.0), (0.0, 0.0, -15.0), 0.14)
    loop.run(0.1)
    assert controller.phase is Phase.REACTING
    references = []
    for _ in range(2):
        controller.hold()
        loop.run(0.02, lambda _: references.append(controller.reference.q))
    speeds = np.abs(np.diff(references, axis=0)) / loop.dt
    assert (speeds <= 1.01 * controller.limits.velocity).all()


@pytest.mark.parametrize('seconds', [0.4, 1.0, 2.0])
def test_hold_in_a_retreat_is_no_contact(seconds):
    """A load that nobody told drives the retreat on; a hard stop of it would be felt."""
    model = Arm.load('laas4')
    controller = MotionController(model, replace(ControllerConfig.of(model), floor=None))
    controller.reaction.choose('retract')
    loop = ClosedLoop(model, controller=controller, monitor=CollisionMonitor(model), seed=1)
    loop.plant.set_payload(0.13)
    loop.run(0.5)
    loop.plant.apply_force('link4', (0.0, 0.0, 0.0), (0.0, 12.0, -6.0), 0.1)
    loop.run(seconds)
    assert controller.phase is Phase.REACTING
    assert np.abs(loop.plant.state.joint_velocity).max() > 0.1
    controller.hold()
    detections, speeds = [], []

    def note(cycle):
        detections.append(cycle.result.detection)
        speeds.append(np.abs(loop.plant.state.joint_velocity).max())
    loop.run(1.0, note)                        # it brakes, and lets go of what it presses against
    assert not any(detections)
    assert controller.phase is Phase.TRACKING
    assert max(speeds[-100:]) < 0.02
