"""Goals that replace a moving one: whatever the planning costs, all that is driven was checked."""

from pathlib import Path
import sys

import numpy as np
import pytest

from armsense.control import ArmState
from armsense.control.goal import GoalRefused, GoalStatus
from armsense.control.motion_controller import MotionController
from armsense.errors import ArmsenseError
from armsense.model import Arm
from armsense.trajectory import ErrorCode, point_to_point
from armsense.types import Collision

sys.path.insert(0, str(Path(__file__).parent))
from reference_checker import ReferenceChecker

pytestmark = pytest.mark.slow

MODELS = {name: Arm.load(name) for name in ('laas4', 'seven')}
DT = 1e-3


class Driven:
    """An arm that is always where it is led; planning takes as long as a test says."""

    def __init__(self, arm='laas4', speed=1.0):
        self.model = MODELS[arm]
        self.controller = MotionController(self.model)
        limits = self.controller.limits
        self.q = np.array(self.model.config.home)
        self.q[0] = limits.lower[0] + 0.2
        self.checker = ReferenceChecker(self.controller, DT)
        self.run(DT)
        goal = self.q.copy()
        goal[0] = limits.upper[0] - 0.2
        self.first = self.controller.follow(
            point_to_point(self.q, goal, limits, self.model, speed))
        self.run(0.45 * self.first.duration)
        assert np.abs(self.controller.reference.dq).max() > 0.5 * speed * limits.velocity[0]

    def run(self, seconds):
        zero = np.zeros(self.model.n)
        for _ in range(max(1, round(seconds / DT))):
            self.controller.step(ArmState.rigid(self.q, zero), zero, None, DT)
            self.checker.note()
            self.q = self.controller.reference.q

    def plan_slowly(self, delay, meanwhile=lambda: None):
        """The loop goes on for a time [s] while a goal is checked."""
        check = self.controller._planner.check

        def slow(trajectory, now):
            if delay:
                self.run(delay)
            meanwhile()
            return check(trajectory, now)
        self.controller._planner.check = slow


def waypoints(driven, seconds=5.0):
    """On around where the arm is led now, slowly."""
    times = np.arange(1.5, seconds + 1.0, 1.5)
    rows = np.tile(driven.controller.reference.q, (len(times), 1))
    rows[:, 0] += 0.6 + 0.2 * np.sin(0.5 * times)
    rows[:, -1] += 0.1 * np.sin(0.7 * times)
    return times, rows


@pytest.mark.parametrize('delay', [0.0, 0.02, 0.2, 0.3, 1.0, 3.0])
@pytest.mark.parametrize('arm', MODELS)
@pytest.mark.parametrize('seconds', [5.0])
def test_a_goal_that_preempts_keeps_all_limits(arm, delay, seconds):
    driven = Driven(arm)
    times, rows = waypoints(driven, seconds)
    driven.plan_slowly(delay)
    try:
        status = driven.controller.follow_waypoints(times, rows)
    except GoalRefused:
        assert delay == 3.0                          # meanwhile the arm was too far away
        rows = [driven.first.desired.q]
    else:
        driven.run(seconds + 1.0)
        assert status.succeeded
        assert driven.first.preempted or delay == 3.0
    driven.run(1.0)
    driven.checker.expect_kept()
    np.testing.assert_allclose(driven.q, rows[-1], atol=1e-6)


@pytest.mark.parametrize('delay', [0.0, 0.2, 3.0])
def test_a_goal_back_to_where_the_arm_came_from_is_refused_or_keeps_all_limits(delay):
    driven = Driven()
    back = driven.controller.reference.q - [0.5, 0.0, 0.0, 0.0]
    driven.plan_slowly(delay)
    try:
        status = driven.controller.follow_waypoints([0.8], [back])
    except GoalRefused:
        status = None
    driven.run(3.0)
    driven.checker.expect_kept()
    assert status is None or status.succeeded


def test_goals_one_after_the_other_keep_all_limits():
    driven = Driven(speed=0.5)
    rng = np.random.default_rng(1)
    refused = 0
    for _ in range(12):
        away = driven.controller.reference.q + rng.uniform(-0.3, 0.3, 4)
        try:
            driven.controller.follow_waypoints([rng.uniform(0.6, 1.5)],
                                               [driven.controller.limits.inside(away)])
        except GoalRefused:
            refused += 1
        driven.run(rng.uniform(0.02, 0.6))
    driven.run(2.0)
    driven.checker.expect_kept()
    assert refused < 6
    assert not driven.controller.moving


@pytest.mark.parametrize('delay', [0.02, 1.0])
@pytest.mark.parametrize('what', ['hold', 'cancel', 'cancel this', 'float', 'collision', 'off'])
def test_what_is_overtaken_while_it_is_planned_never_begins(what, delay):
    driven = Driven()
    controller, status = driven.controller, GoalStatus()

    def meanwhile():
        zero = np.zeros(4)
        if what == 'collision':
            controller.step(ArmState.rigid(driven.q, zero), zero,
                            Collision('joint1', 'link3'), DT)
        elif what == 'off':
            controller.rest()
            driven.run(DT)
        elif what == 'float':
            controller.switch('float')
            driven.run(DT)
        elif what == 'cancel this':
            controller.cancel(status)
        else:
            getattr(controller, what)()
    driven.plan_slowly(delay, meanwhile)
    try:
        controller.follow_waypoints(*waypoints(driven), status=status)
    except ArmsenseError:
        assert what in ('collision', 'float')         # noticed before it was accepted
        return
    driven.run(1.0)
    assert not status.active
    assert not status.succeeded
    assert status.time == 0.0
    assert status.cancelled == (what == 'cancel this')
    driven.checker.expect_kept()


def test_a_goal_that_waits_for_its_time_is_ended_by_hold():
    driven = Driven()
    driven.controller.hold()
    driven.run(1.0)
    status = driven.controller.follow_waypoints([1.0], [driven.q + 0.1],
                                                start=driven.controller.time + 1.0)
    driven.run(0.5)
    driven.controller.hold()
    driven.run(1.5)
    assert status.cancelled
    assert status.text == 'the arm was told to hold'
    assert not driven.controller.moving


@pytest.mark.parametrize(('times', 'text'), [
    ([1e6], 'lasts 1e\\+06 s; at most 600 s'), ([float('inf')], 'lasts inf s'),
    ([float('nan')], 'lasts nan s'), (np.linspace(1.0, 500.0, 30_000), '30000 waypoints')])
def test_a_goal_that_would_take_for_ever_is_refused_before_it_is_planned(times, text):
    driven = Driven()
    driven.controller._planner.join = driven.controller._planner.check = None
    with pytest.raises(GoalRefused, match=text) as caught:
        driven.controller.follow_waypoints(times, np.tile(driven.q, (len(times), 1)))
    assert caught.value.code is ErrorCode.INVALID_GOAL
