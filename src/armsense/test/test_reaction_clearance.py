"""Motions that nobody has planned keep off the floor and off the arm itself."""

from dataclasses import replace

import numpy as np
import pytest

from armsense.control import ArmState
from armsense.control.config import ControllerConfig
from armsense.control.motion_controller import MotionController
from armsense.model import Arm
from armsense.reaction import Phase
from armsense.trajectory import Clearance, Guard, QuinticSpline
from armsense.trajectory.reference import sample_at, sample_grid
from armsense.types import Collision

MODEL = Arm.load('laas4')
HOME = np.array(MODEL.config.home)
LOW = np.array([0.0, -0.1, 0.0, -0.1])        # the hand is not far above the floor
HIT = Collision('joint2', 'link3')
DT = 5e-3
NONE = np.zeros(4)
CLEARANCE = Clearance(MODEL, floor=0.0, self_distance=0.01)


class Led:
    """An arm that is always where it is led."""

    def __init__(self, q, **options):
        config = ControllerConfig.of(MODEL)
        self.controller = MotionController(MODEL, replace(
            config, reaction=replace(config.reaction, **options)))
        self.q, self.room = np.array(q), []
        self.run(DT)

    def run(self, seconds, residual=NONE, hit=None, until=lambda: False, blocked=False):
        for _ in range(max(1, round(seconds / DT))):
            self.controller.step(ArmState.rigid(self.q, np.zeros(4)), residual, hit, DT)
            hit = None
            if not blocked:
                self.q = self.controller.reference.q
            self.room.append(CLEARANCE.room(self.controller.reference.q))
            if until():
                return


def downwards():
    """Torques of a force that pushes the tool down [Nm]."""
    return np.array([0.0, 0.0, -60.0]) @ MODEL.jacobian(LOW)[:3]


@pytest.mark.parametrize('strategy', ['retract', 'resume'])
def test_a_push_towards_the_floor_ends_above_it(strategy):
    assert CLEARANCE.room(LOW) > 0.0
    arm = Led(LOW, strategy=strategy, retract_distance=(1.5,))
    arm.run(1.0, downwards(), HIT)
    assert min(arm.room) > -1e-9
    assert CLEARANCE.room(arm.q) < CLEARANCE.room(LOW)      # it did yield
    free = Led(LOW, strategy=strategy, retract_distance=(1.5,))
    free.controller.reaction._retreat._guard = None
    free.run(1.0, downwards(), HIT)
    assert min(free.room) < -0.05                           # what would have happened


def test_an_arm_told_to_hold_on_its_way_to_the_floor_ends_above_it():
    """Softly where there is room; where the retreat could just stop, as hard as that."""
    ways = []
    for cycles in range(8, 60, 2):
        arm = Led(LOW + [0.0, 0.1, 0.0, 0.0], strategy='retract', retract_distance=(1.5,))
        arm.run(cycles * DT, downwards(), HIT)
        speed, place = np.abs(arm.controller.reference.dq).max(), arm.q
        arm.controller.hold()
        arm.run(0.5)
        assert min(arm.room) > -1e-9
        assert not arm.controller.moving
        if speed > 0.4:
            ways.append(float(np.abs(arm.q - place).max()) / speed)
    assert max(ways) > 0.05                                 # [s] softly
    assert min(ways) < 0.04


def test_an_arm_below_the_floor_may_leave_it():
    low = LOW.copy()
    while CLEARANCE.room(low) > -0.02:
        low[1] -= 0.01
    arm = Led(low, strategy='retract')
    arm.run(0.5, -downwards(), HIT)
    assert CLEARANCE.room(arm.q) > CLEARANCE.room(low) + 0.02


def test_a_resumption_whose_way_back_meets_the_floor_is_refused():
    arm = Led(HOME, strategy='stop')
    status = arm.controller.follow_waypoints([1.5], [HOME + [0.6, 0.0, 0.0, 0.0]],
                                             reaction='resume')
    arm.run(0.6)
    arm.run(DT, np.array([-2.0, 0.0, 0.0, 0.0]), HIT)
    reached = arm.controller._queue.interrupted[0], arm.controller._queue.interrupted[1]
    below = QuinticSpline([0.0, 1.0], [LOW - [0.0, 0.6, 0.0, 0.0]] * 2)
    arm.controller._queue.interrupted = below, reached[1] * 0.5   # as if the path were there
    arm.run(8.0, until=lambda: not status.active)
    assert arm.controller.phase is Phase.HOLDING
    assert 'the way back to the path is not free' in status.text
    assert min(arm.room) > 0.0


@pytest.mark.parametrize('guarded', [True, False])
def test_clearance_is_not_regained_through_the_floor(guarded):
    """It would be regained downwards, where the contact pushed."""
    arm = Led(LOW, strategy='stop', clearance=0.3)
    status = arm.controller.follow_waypoints([2.0], [LOW + [0.6, 0.0, 0.0, 0.0]],
                                             reaction='resume')
    if not guarded:
        arm.controller.reaction._guard = None
    arm.run(0.6)
    arm.run(0.02, downwards(), HIT)
    arm.run(8.0, until=lambda: not status.active)
    if guarded:
        assert min(arm.room) > 0.0
        assert status.text == 'there is no room to regain clearance'
    else:
        assert min(arm.room) < -0.05                        # what would have happened


def test_an_arm_held_on_the_way_back_of_a_retrace_stays_where_it_is():
    arm = Led(HOME, strategy='retrace')
    arm.controller.follow_waypoints([1.0], [HOME + [1.0, 0.0, 0.0, 0.0]])
    arm.run(0.7)
    held = arm.q
    arm.run(DT, np.zeros(4), HIT)
    arm.run(3.0, blocked=True)                       # nobody hears of a second contact
    assert arm.controller.phase is Phase.HOLDING
    assert 'left behind' in arm.controller.explanation
    np.testing.assert_allclose(arm.controller.reference.q, held, atol=1e-9)


@pytest.mark.parametrize('arm', ['laas4', 'biorob', 'tudor', 'seven'])
def test_no_link_comes_closer_than_the_arm_moves(arm):
    model = Arm.load(arm)
    clearance = Clearance(model, floor=0.0, self_distance=0.0)
    rng = np.random.default_rng(3)
    lower, upper = model.position_limits
    for _ in range(200):
        a = rng.uniform(lower, upper)
        b = a + rng.normal(size=model.n) * rng.choice([0.01, 0.1, 0.5])
        moved = np.abs(b - a) @ clearance.reach
        for measure in (clearance.smallest_distance, clearance.lowest_point):
            assert abs(measure(b)[0] - measure(a)[0]) <= moved + 1e-6


def test_a_guard_measures_seldom_and_never_allows_what_is_too_close():
    guard, count = Guard(CLEARANCE), []
    measured = CLEARANCE.room
    rng = np.random.default_rng(1)
    q = LOW.copy()
    try:
        CLEARANCE.room = lambda q: count.append(1) or measured(q)
        for _ in range(2000):
            wanted = q + 1e-3 * rng.normal(size=4)
            if guard.allows(q, wanted):
                q = wanted
            assert measured(q) > 0.0
    finally:
        del CLEARANCE.room
    assert len(count) < 400


def test_the_check_of_a_long_goal_that_moves_little_measures_seldom():
    """The cost of planning: on a grid of 0.02 s a minute has 3000 samples, of two distances."""
    count = []

    class Counting(Clearance):
        def _place(self, q):                          # before every measurement
            count.append(1)
            super()._place(q)
    clearance = Counting(MODEL, floor=0.0, self_distance=0.01)
    count.clear()
    assert clearance.check(QuinticSpline([0.0, 60.0], [HOME, HOME + [0.1, 0.0, 0.0, 0.0]])) == []
    assert 2 <= len(count) < 60


@pytest.mark.parametrize('seed', range(5))
def test_what_the_check_leaves_out_breaks_nothing(seed):
    rng = np.random.default_rng(seed)
    ways = np.vstack([HOME, HOME + 0.8 * rng.normal(size=(6, 4))])
    path = QuinticSpline(np.arange(7.0), ways)
    samples = sample_grid(path, 0.02)
    lowest = min(CLEARANCE.lowest_point(q)[0] for q in samples.q)
    found = {v.kind: v.value for v in CLEARANCE.check(path)}
    assert ('floor' in found) == (lowest < 0.0)
    if 'floor' in found:
        assert found['floor'] == pytest.approx(lowest, abs=1e-12)


def test_many_samples_at_once_are_those_one_by_one():
    rng = np.random.default_rng(2)
    path = QuinticSpline(np.cumsum(rng.uniform(0.1, 1.0, 9)), rng.normal(size=(9, 4)))
    times = np.append(np.linspace(0.0, path.duration, 400), path.waypoints[0])
    many = sample_at(path, np.sort(times))
    for t, *rows in zip(*many, strict=True):
        one = path.sample(float(t))
        for values, expected in zip(rows, one[:4], strict=True):
            np.testing.assert_allclose(values, expected, rtol=1e-9, atol=1e-9)
