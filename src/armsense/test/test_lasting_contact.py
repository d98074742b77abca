"""Touches after touches: what an arm that is already in contact feels, says and refuses."""

from dataclasses import replace

import numpy as np
import pytest

from armsense.control.config import ControllerConfig
from armsense.control.goal import GoalRefused
from armsense.control.motion_controller import MotionController
from armsense.model import Arm
from armsense.reaction import Phase
from armsense.sim.closed_loop import ClosedLoop
from armsense.trajectory import point_to_point, QuinticSpline
from armsense.watch.collision_monitor import CollisionMonitor

pytestmark = pytest.mark.slow

MODEL = Arm.load('laas4')


class Life:
    """One arm through a history, without floor."""

    def __init__(self, strategy, **reaction):
        config = ControllerConfig.of(MODEL)
        self.controller = MotionController(MODEL, replace(
            config, floor=None, reaction=replace(config.reaction, **reaction)))
        self.controller.reaction.choose(strategy)
        self.loop = ClosedLoop(MODEL, controller=self.controller, monitor=CollisionMonitor(MODEL))
        self.plant = self.loop.plant
        self.detections, self.forces = [], []
        self.phases = set()
        self.run(1.0)

    def run(self, seconds):
        """Number of collisions that were reported meanwhile."""
        before, self.forces = len(self.detections), []
        self.loop.run(seconds, self._note)
        return len(self.detections) - before

    def _note(self, cycle):
        self.forces.append(sum(float(np.linalg.norm(c.force)) for c in self.plant.contact))
        if cycle.result.detection is not None:
            self.detections.append(cycle.time)
        self.phases.add(self.controller.phase)

    def swing_into_a_wall(self):
        """A goal that leads joint 1 through a wall beside the hand, although a contact lasts."""
        q = self.controller.reference.q
        way = point_to_point(q, q + np.array([0.8, 0.0, 0.0, 0.0]), self.controller.limits, MODEL,
                             0.5)
        with pytest.raises(GoalRefused, match='contact lasts on joint2'):
            self.controller.follow(way)
        tool = self.plant.pose()[:3, 3]
        self.plant.place_obstacle('wall', tool + np.array([0.0, 0.22, 0.0]), box=(0.3, 0.1, 0.4),
                                  stiffness=10e3)
        return self.controller.follow(way, allow_lasting=True)


@pytest.mark.parametrize('strategy', ['stop', 'retract'])
def test_whoever_leans_on_the_arm_hides_no_wall(strategy):
    life = Life(strategy)
    life.plant.apply_force('link4', (0.0, 0.0, 0.0), (0.0, 0.0, -3.0))
    assert life.run(4.0) == 1                     # one contact is one collision
    assert life.controller.phase is Phase.HOLDING
    status = life.swing_into_a_wall()
    assert life.run(2.0) == 1
    assert not status.active
    assert sum(force > 4.0 for force in life.forces) < 50       # [ms] 3 N are those that lean


def test_a_payload_that_nobody_told_and_a_light_touch_hide_no_wall():
    life = Life('retract')
    life.plant.set_payload(0.12)
    assert life.run(1.0) == 0                     # below the threshold
    life.plant.apply_force('link4', (0.0, 0.0, 0.0), (0.0, 12.0, 0.0), 0.1)
    assert life.run(4.0) == 1
    life.swing_into_a_wall()
    assert life.run(2.0) >= 1
    assert sum(force > 1.0 for force in life.forces) < 50


def test_a_payload_off_centre_and_a_touch_let_nothing_go_on_by_itself():
    life = Life('resume', timeout=1.0)
    life.plant.set_payload(0.05, (0.3, 0.0, 0.0))
    assert life.run(0.5) == 0                     # below the threshold
    q = life.controller.reference.q
    way = np.array([q, q + np.array([1.1, 0.0, 0.0, 0.0])])
    status = life.controller.follow(QuinticSpline([0.0, 3.0], way, np.zeros((2, 4)),
                                                  np.zeros((2, 4))))
    life.run(1.0)
    life.plant.apply_force('link4', (0.0, 0.0, 0.0), (0.0, -12.0, 0.0), 0.1)
    assert life.run(4.0) >= 1
    assert life.phases == {Phase.TRACKING, Phase.REACTING, Phase.HOLDING}
    assert life.controller.phase is Phase.HOLDING
    assert status.suspended


@pytest.mark.parametrize('strategy', ['stop', 'retract'])
def test_a_wall_is_felt_by_every_goal_that_leads_into_it(strategy):
    life = Life(strategy)
    goal = life.controller.reference.q + np.array([0.8, 0.0, 0.0, 0.0])
    tool = life.plant.pose()[:3, 3]
    life.plant.place_obstacle('wall', tool + np.array([0.0, 0.22, 0.0]), box=(0.3, 0.1, 0.4),
                              stiffness=10e3)
    for _ in range(3):
        status = life.controller.follow(point_to_point(
            life.controller.reference.q, goal, life.controller.limits, MODEL, 0.5),
            allow_lasting=True)
        assert life.run(2.0) >= 1
        assert not status.succeeded
        assert life.forces[-1] < 15.0


def test_a_payload_that_is_told_late_ends_the_contact():
    life = Life('stop')
    life.plant.set_payload(0.3)
    assert life.run(2.0) == 1
    assert life.controller.lasting.startswith('contact lasts on joint2')
    life.controller.set_payload(0.3)
    life.loop.monitor.set_model(MODEL.with_payload(0.3))
    assert life.run(1.0) == 0
    assert life.controller.lasting == ''
    life.controller.home()


def test_contradicting_thresholds_are_refused():
    config = ControllerConfig.of(MODEL)
    loud = replace(config, reaction=replace(config.reaction, quiet=(0.4, 0.4, 0.15, 0.132)))
    controller = MotionController(MODEL, loud)            # as far as config/detection.yaml knows
    monitor = CollisionMonitor(MODEL)
    lower = CollisionMonitor(MODEL, thresholds=monitor.detector.thresholds.scaled(0.8))
    with pytest.raises(ValueError, match=r'reaction.quiet of joint1 is 0.4; .* at most 0.36 Nm'):
        ClosedLoop(MODEL, controller=controller, monitor=lower)
