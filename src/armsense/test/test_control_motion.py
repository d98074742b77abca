"""The whole controller: goals, refusals, stops, collisions, faults, any input."""

from dataclasses import replace
import math
from pathlib import Path
import sys

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
import numpy as np
import pytest

from armsense.control import ArmState, board_torque, JOINT_SPACE_LAWS
from armsense.control.config import ControllerConfig
from armsense.control.goal import GoalRefused
from armsense.control.motion_controller import MotionController
from armsense.errors import ArmsenseError
from armsense.model import ArmModel
from armsense.reaction import CollisionEvent, Phase
from armsense.trajectory import ErrorCode, Limits, point_to_point, QuinticSpline, Tolerances
from armsense.watch.collision_monitor import release_level

sys.path.insert(0, str(Path(__file__).parent))
from control_helpers import RigidArm

MODEL = ArmModel.load('laas4')
LIMITS = Limits.of(MODEL)
HOME = np.array(MODEL.config.home)
GOAL = HOME + np.array([0.5, 0.3, -0.4, 0.3])
HIT = CollisionEvent('joint1', 'link3')
DT = 1e-3
NONE = np.zeros(4)
PUSH = np.array([-2.0, 0.0, 0.0, 0.0])


class Loop:
    """Controller and arm, cycle by cycle."""

    def __init__(self, law='computed_torque', q=HOME):
        self.controller = MotionController(MODEL, law=law)
        self.arm = RigidArm(MODEL, np.array(q, float))
        self.torques = []
        self.run(DT)

    def run(self, seconds, residual=NONE, hit=None, until=lambda: False, external=0.0, dt=DT):
        for _ in range(max(1, round(seconds / dt))):
            command = self.controller.step(self.arm.state, residual, hit, dt)
            hit = None
            self.torques.append(board_torque(command, self.arm.state))
            self.arm.step(command, dt, external)
            if until():
                break
        return self.controller.status

    @property
    def q(self):
        return self.arm.state.q


class IdealLoop:
    """Controller of an arm that is always where it is led, in cycles of 5 ms."""

    def __init__(self, law='computed_torque', **options):
        config = ControllerConfig.of(MODEL)
        self.controller = MotionController(MODEL, replace(
            config, reaction=replace(config.reaction, **options)), law)
        self.q, self.log, self.command = HOME, [], None
        self.run(0.0)

    def run(self, seconds, residual=NONE, hit=None, until=lambda: False, led=False, lasting=''):
        for _ in range(max(1, round(seconds / 5e-3))):
            self.command = self.controller.step(ArmState.rigid(self.q, NONE), residual, hit, 5e-3,
                                                lasting)
            hit = None
            if not led:
                self.q = self.controller.reference.q
            self.log.append(self.q)
            if until():
                break
        return self.controller.status

    def run_to(self, *phases, residual=NONE):
        self.run(20.0, residual, until=lambda: self.controller.phase in phases)
        assert self.controller.phase in phases

    def speeds(self):
        """Of the arm over the logged cycles [rad/s], (N, n)."""
        return np.abs(np.diff(self.log, axis=0)) / 5e-3


def path(duration=1.2, goal=GOAL):
    return QuinticSpline([0.0, duration], [HOME, goal], np.zeros((2, 4)), np.zeros((2, 4)))


# -- contacts that last -----------------------------------------------------------------------

LASTS = 'contact lasts on joint2, for 3.2 s now'


def goals(controller):
    """Every way to send the arm somewhere."""
    return (lambda **allow: controller.follow(path(), **allow),
            lambda **allow: controller.follow_waypoints([1.2], [GOAL], **allow),
            lambda **_: controller.home())


@pytest.mark.parametrize('which', range(3))
def test_no_goal_while_a_contact_lasts(which):
    loop = IdealLoop()
    loop.run(0.0, lasting=LASTS)
    with pytest.raises(GoalRefused, match=r'joint2, for 3.2 s now; take it away.*set_payload.*'
                                          'contact=allowed'):
        goals(loop.controller)[which]()
    loop.run(0.0)
    goals(loop.controller)[which]()                   # it has ended
    loop.run(0.1)
    assert loop.controller.moving


@pytest.mark.parametrize('which', range(2))
def test_a_goal_may_allow_a_contact_that_lasts(which):
    loop = IdealLoop()
    loop.run(0.0, lasting=LASTS)
    status = goals(loop.controller)[which](allow_lasting=True)
    loop.run(0.3, lasting=LASTS)
    assert status.active
    loop.run(0.0, PUSH, HIT, lasting=LASTS)           # what is new is answered all the same
    assert loop.controller.phase is Phase.REACTING
    assert not status.active


def test_a_contact_that_begins_to_last_before_the_goal_begins():
    loop = IdealLoop()
    status = loop.controller.follow(path())
    loop.run(0.0, lasting=LASTS)
    assert not status.active
    assert status.code is ErrorCode.INVALID_GOAL
    assert status.text.startswith(LASTS)
    assert not loop.controller.moving


def test_whoever_ignores_contacts_also_ignores_lasting_ones():
    loop = IdealLoop()
    loop.run(0.0, lasting=LASTS)
    loop.controller.follow(path(), reaction='ignore')
    loop.run(0.1, lasting=LASTS)
    assert loop.controller.moving


def test_no_resumption_while_a_contact_lasts():
    loop = IdealLoop(strategy='stop')
    loop.controller.follow(path())
    loop.run(0.5)
    loop.run(0.0, PUSH, HIT)
    loop.run(1.0, lasting=LASTS)
    assert loop.controller.phase is Phase.HOLDING
    with pytest.raises(ArmsenseError, match='joint2, for 3.2 s now: nothing resumes'):
        loop.controller.resume()
    loop.run(0.0)
    loop.controller.resume()
    loop.run_to(Phase.TRACKING)
    np.testing.assert_allclose(loop.q, GOAL, atol=1e-6)


@pytest.mark.parametrize('arm', ['laas4', 'biorob', 'tudor', 'seven', 'crs_a465'])
def test_what_is_quiet_to_a_reaction_is_free_to_the_detector(arm):
    """Also with calibrated thresholds that are lower than those of the file."""
    model = ArmModel.load(arm)
    MotionController(model)
    MotionController(model, release=0.5 * release_level(model))
    config = ControllerConfig.of(model)
    loud = replace(config, reaction=replace(config.reaction, quiet=(100.0,)))
    with pytest.raises(ArmsenseError, match='reaction.quiet of joint1 is 100.0; it must be at '):
        MotionController(model, loud)


# -- goals ------------------------------------------------------------------------------------

def test_a_trajectory_is_driven_to_its_goal():
    loop = Loop()
    status = loop.controller.follow(path())
    loop.run(0.6)
    assert 0.4 < status.progress < 0.6
    assert loop.controller.moving
    loop.run(1.0)
    assert status.succeeded
    assert status.progress == 1.0
    np.testing.assert_allclose(loop.q, GOAL, atol=5e-3)


def test_waypoints_are_joined_to_the_present_motion_without_a_jump():
    loop = Loop()
    first = loop.controller.follow(path())
    loop.run(0.5)
    second = loop.controller.follow_waypoints([0.8, 1.6], [HOME + 0.1, HOME])
    for _ in range(200):                             # it begins in a moment
        before = loop.controller.reference
        loop.run(DT)
        after = loop.controller.reference
        np.testing.assert_allclose(after.dq, before.dq, atol=0.05)
        np.testing.assert_allclose(after.q, before.q + before.dq * DT, atol=1e-4)
    assert first.preempted
    loop.run(2.0)
    assert second.succeeded
    np.testing.assert_allclose(loop.q, HOME, atol=5e-3)


@pytest.mark.parametrize(('times', 'rows', 'text'), [
    ([0.2], [GOAL], 'joint1: acceleration 72'),
    ([2.0], [HOME + [0, 1.6, 0, 0]], 'joint2: position'),
    ([3.0], [np.array([0.0, -0.6, 0.0, 0.0])], 'floor'),
    ([1.0, 0.5], [GOAL, HOME], 'ascending'),
    ([1.0], [[float('nan')] * 4], 'finite'),
    ([0.0, 1.0], [GOAL, HOME], 'away from where'),
    ([1.0], [[0.0, 0.0]], '2 joints'),
    ([1.0], [0.0, 0.0], '0 joints'),
])
def test_what_would_break_a_limit_is_refused_before_anything_moves(times, rows, text):
    loop = Loop()
    with pytest.raises(GoalRefused, match=text):
        loop.controller.follow_waypoints(times, rows)
    loop.run(0.2)
    assert not loop.controller.moving
    np.testing.assert_allclose(loop.q, HOME, atol=1e-6)


def away(duration):
    """Waypoints that begin and end beside the arm."""
    beside = HOME + [0.049, 0.0, 0.0, 0.0]
    return [0.0, duration], [beside, beside]


def moving(speed):
    """Waypoints that begin where the arm is, but in motion [rad/s]."""
    return ([0.0, 0.5, 1.2],
            [HOME, HOME + [0.3 * speed, 0, 0, 0], HOME + [0.35 * speed + 0.3, 0, 0, 0]],
            [[speed, 0, 0, 0], [0.4 * speed, 0, 0, 0], NONE])


@pytest.mark.parametrize(('waypoints', 'gentle'), [
    (away(0.001), True), (away(0.05), True), (away(0.5), True), (moving(0.2), True),
    (moving(2.5), False), (moving(3.5), False), (moving(4.5), False)])
def test_the_way_onto_a_trajectory_keeps_the_limits_or_is_refused(waypoints, gentle):
    loop = IdealLoop()
    try:
        status = loop.controller.follow_waypoints(*waypoints)
    except GoalRefused:
        assert not gentle
        return
    loop.log, driven = [HOME], []

    def watch():
        driven.append(loop.controller.reference[1:4])
        return not status.active
    loop.run(2.5, until=watch)
    assert status.succeeded
    np.testing.assert_allclose(loop.q, waypoints[1][-1], atol=1e-9)
    assert (loop.speeds() <= LIMITS.velocity).all()
    for k, limit in enumerate((LIMITS.velocity, LIMITS.acceleration, LIMITS.jerk)):
        values = np.array([NONE if row[k] is None else row[k] for row in driven])
        assert (np.abs(values) <= 1.01 * limit).all()   # the check looks every 4 ms


def test_a_short_trajectory_that_ends_in_motion_is_refused_also_from_beside_it():
    q = np.array([HOME, HOME + [0.01, 0, 0, 0]]) + [0.02, 0, 0, 0]
    with pytest.raises(GoalRefused, match='end velocity'):
        IdealLoop().controller.follow_waypoints([0.0, 0.1], q, [NONE, [0.2, 0, 0, 0]])


@pytest.mark.parametrize('terms', [
    lambda nan: {'tolerances': Tolerances(path=np.full(4, nan), goal=np.zeros(4))},
    lambda nan: {'tolerances': Tolerances(path=np.zeros(4), goal=np.full(4, nan))},
    lambda nan: {'tolerances': Tolerances(path=np.zeros(4), goal=np.zeros(4), goal_time=nan)},
    lambda nan: {'start': nan}])
def test_terms_that_are_no_numbers_are_refused(terms):
    loop = IdealLoop()
    with pytest.raises(ArmsenseError, match='nan'):
        loop.controller.follow_waypoints([1.2], [GOAL], **terms(math.nan))
    loop.run(0.1)
    assert not loop.controller.moving


def test_refusals_carry_code_and_violation():
    loop = Loop()
    with pytest.raises(GoalRefused) as caught:
        loop.controller.follow(path(0.15))
    assert caught.value.code is ErrorCode.INVALID_GOAL
    assert caught.value.violations[0].joint == 'joint1'
    with pytest.raises(GoalRefused) as caught:
        loop.controller.follow(QuinticSpline([0, 1], np.zeros((2, 3))))
    assert caught.value.code is ErrorCode.INVALID_JOINTS
    with pytest.raises(GoalRefused, match='no state'):
        MotionController(MODEL).follow(path())


def test_cancel_stops_smoothly_on_the_path():
    loop = Loop()
    status = loop.controller.follow(path())
    loop.run(0.5)
    loop.controller.cancel()
    accelerations = []
    for _ in range(600):
        loop.run(DT)
        accelerations.append(np.abs(loop.controller.reference.ddq))
    assert status.cancelled
    assert not loop.controller.moving
    assert (np.max(accelerations, axis=0) <= 1.02 * LIMITS.acceleration).all()
    here, way = loop.controller.reference.q, path()
    assert min(np.abs(way.sample(t).q - here).max() for t in np.linspace(0.4, 0.9, 800)) < 1e-3
    np.testing.assert_allclose(loop.arm.state.dq, 0.0, atol=1e-2)


def test_home_and_hold():
    loop = Loop(q=GOAL)
    status = loop.controller.home()
    loop.run(6.0, until=lambda: not status.active)
    assert status.succeeded
    np.testing.assert_allclose(loop.q, HOME, atol=0.05)
    loop.controller.hold()
    loop.run(0.1)
    assert loop.controller.phase is Phase.TRACKING


def test_path_tolerance_aborts_and_brakes():
    loop = Loop(law='joint_impedance')
    tight = Tolerances(path=np.full(4, 1e-4), goal=np.full(4, 0.1))
    status = loop.controller.follow(path(), tight)
    loop.run(1.0, external=np.array([2.0, 0, 0, 0]))
    assert status.code is ErrorCode.PATH_TOLERANCE_VIOLATED
    assert 'joint1: path error' in status.text
    assert not loop.controller.reference.dq.any()


@pytest.mark.parametrize('law', ['pi_velocity', 'pid_position', 'kinematic_joint', 'pd_gravity',
                                 'computed_torque', 'joint_impedance'])
def test_an_arm_pushed_aside_at_rest_comes_back_within_its_velocity_limits(law):
    loop = Loop(law)
    loop.run(1.0)                                    # until the law carries the arm
    before = loop.q
    push = 1.1 * LIMITS.torque * [1, 0, 0, 0]
    loop.run(1.0, external=push, until=lambda: loop.q[0] - before[0] > 0.3)
    assert loop.q[0] - before[0] > 0.2
    for _ in range(60):                              # somebody holds it there
        loop.run(0.05, external=push * np.clip(10 * (0.3 + before[0] - loop.q[0]), -1, 1))
    speeds = []

    def watch():
        speeds.append(loop.arm.state.dq)
        return False
    loop.run(3.0, until=watch)
    assert (np.abs(speeds).max(axis=0) <= LIMITS.velocity).all()
    np.testing.assert_allclose(loop.q, before, atol=0.02)


def test_goal_at_the_joint_limit_is_reached():
    limit = HOME.copy()
    limit[3] = LIMITS.lower[3]
    loop = Loop()
    status = loop.controller.follow(point_to_point(HOME, limit, LIMITS, speed=0.5))
    loop.run(4.0, until=lambda: not status.active)
    assert status.succeeded
    assert (loop.controller.reference.q >= LIMITS.lower - 1e-9).all()


# -- collisions -------------------------------------------------------------------------------

def test_stop_halts_and_aborts_the_goal_in_the_same_cycle():
    loop = Loop()
    status = loop.controller.follow(path(), reaction='stop')
    loop.run(0.5)
    speed = np.abs(loop.arm.state.dq).max()
    loop.run(DT, np.array([-2.0, 0, 0, 0]), HIT)
    assert loop.controller.phase is Phase.REACTING
    assert not loop.controller.reference.dq.any()
    assert not status.active
    assert 'link3' in status.text
    loop.run(0.3)
    assert np.abs(loop.arm.state.dq).max() < 0.05 * speed
    loop.run(0.4)
    assert loop.controller.phase is Phase.HOLDING


def test_resume_drives_the_rest_at_reduced_speed():
    loop = Loop()
    status = loop.controller.follow(path(), reaction='resume')
    loop.run(0.5)
    loop.run(0.05, np.array([-2.0, 0, 0, 0]), HIT)
    assert status.suspended
    loop.run(20.0, until=lambda: loop.controller.phase is Phase.RESUMING)
    assert loop.controller.phase is Phase.RESUMING
    speeds = []

    def watch():
        speeds.append(np.abs(loop.arm.state.dq).max())
        return not status.active
    loop.run(20.0, until=watch)
    assert status.succeeded
    assert loop.controller.phase is Phase.TRACKING
    np.testing.assert_allclose(loop.q, GOAL, atol=0.01)
    nominal = max(np.abs(path().sample(t).dq).max() for t in np.linspace(0, 1.2, 50))
    assert max(speeds) < 0.5 * nominal


def test_a_second_collision_while_resuming_reacts_again():
    loop = Loop()
    status = loop.controller.follow(path(), reaction='resume')
    loop.run(0.5)
    for _ in range(2):
        loop.run(0.02, np.array([-2.0, 0, 0, 0]), HIT)
        assert loop.controller.phase is Phase.REACTING
        loop.run(20.0, until=lambda: loop.controller.phase is Phase.RESUMING)
        loop.run(0.3)
    loop.run(20.0, until=lambda: not status.active)
    assert status.succeeded
    np.testing.assert_allclose(loop.q, GOAL, atol=0.01)


def test_a_goal_that_gives_up_resuming_is_aborted_and_resume_counts_anew():
    loop = Loop()
    status = loop.controller.follow(path(), reaction='resume')
    attempts = loop.controller.config.reaction.attempts
    for _ in range(attempts + 1):
        loop.run(6.0, until=lambda: loop.controller.phase in (Phase.TRACKING, Phase.RESUMING))
        loop.run(0.2)
        loop.run(DT, np.array([-3.0, 0.0, 0.0, 0.0]), HIT)
    assert status.active
    loop.run(6.0, until=lambda: not status.active)
    assert status.code is ErrorCode.PATH_TOLERANCE_VIOLATED
    assert f'gave up after {attempts}' in status.text
    loop.controller.resume()
    loop.run(12.0, until=lambda: loop.controller.phase is Phase.TRACKING)
    np.testing.assert_allclose(loop.q, GOAL, atol=2e-3)


def test_a_second_retrace_goes_back_the_way_the_arm_came():
    loop = IdealLoop(strategy='retrace')
    loop.controller.follow(path())
    loop.run(0.6)
    first = loop.q
    loop.run(0.0, PUSH, HIT)
    loop.run_to(Phase.HOLDING)
    loop.controller.resume()
    loop.run_to(Phase.RESUMING)
    loop.run(0.5)
    second = loop.q
    assert second[0] < first[0]
    loop.log = [second]
    loop.run(0.0, PUSH, HIT)
    loop.run_to(Phase.HOLDING)
    assert (loop.speeds() <= LIMITS.velocity).all()
    assert loop.speeds().max() < np.abs(path().sample(0.6).dq).max()   # no faster than driven
    assert (np.array(loop.log)[:, 0] <= second[0] + 1e-9).all()        # never back to the contact


def test_a_goal_whose_contact_never_ends_gives_up_at_last():
    loop = IdealLoop(resume_timeout=2.0)
    status = loop.controller.follow(path(), reaction='resume')
    loop.run(0.5)
    loop.run(0.0, PUSH, HIT)
    loop.run(1.5, lasting=LASTS)
    assert status.suspended
    loop.run(1.0, lasting=LASTS)
    assert not status.active
    assert status.code is ErrorCode.PATH_TOLERANCE_VIOLATED
    assert 'of waiting to resume: contact lasts on joint2' in status.text
    loop.run(1.0)
    assert loop.controller.phase is Phase.HOLDING    # nobody goes on by itself
    loop.controller.resume()                         # but whoever is told to
    loop.run_to(Phase.RESUMING)


def test_float_lets_a_hand_guide_and_hold_takes_over_without_a_jump():
    loop = Loop()
    loop.controller.follow(path(), reaction='float')
    loop.run(0.5)
    loop.run(DT, np.array([-2.0, 0, 0, 0]), HIT)
    loop.run(0.5, external=np.array([0.5, 0, 0, 0]))
    guided = loop.q
    loop.torques.clear()
    loop.run(0.3)
    loop.controller.hold()
    loop.run(0.5)
    steps = np.abs(np.diff(loop.torques, axis=0)) / LIMITS.torque
    assert steps.max() <= 0.05
    assert loop.controller.phase is Phase.TRACKING
    assert guided[0] > HOME[0]


@pytest.mark.parametrize('mass', [0.1, 0.3, 0.6])
def test_an_arm_that_floats_without_the_load_it_was_told_of_stays_slow(mass):
    loop = Loop('float')
    loop.controller.set_payload(mass)
    speeds = []

    def watch():
        speeds.append(np.abs(loop.arm.state.dq).max())
        return False
    loop.run(2.0, until=watch)
    assert 0.5 < max(speeds) < 2.0                   # frictionless: it would not stop


def test_a_payload_that_the_motors_cannot_hold_is_refused():
    loop = Loop()
    loop.run(0.1)
    before = loop.torques[-1].copy()
    for mass in (1e6, 20.0, math.nan):
        with pytest.raises(ArmsenseError, match='payload of .* kg: joint2 would|mass'):
            loop.controller.set_payload(mass)
    loop.run(0.1)
    np.testing.assert_allclose(loop.torques[-1], before, atol=0.01)
    loop.controller.set_payload(0.4)


STRETCHED = np.zeros(4)


def test_a_payload_is_refused_before_the_arm_has_moved_at_all():
    controller = MotionController(MODEL)
    with pytest.raises(ArmsenseError, match='payload of 300 kg: joint2 would'):
        controller.set_payload(300.0)                # grams, and the motors are off


def test_a_payload_that_cannot_be_held_where_the_motors_are_enabled_is_not_driven():
    controller, mass = MotionController(MODEL), 1.2
    controller.set_payload(mass)                     # at home they could hold it
    arm = ArmState.rigid(STRETCHED, NONE)
    heavy = np.abs(MODEL.with_payload(mass).gravity_torque(arm.q)) > LIMITS.torque
    assert heavy.any()
    for _ in range(3):
        assert not board_torque(controller.step(arm), arm).any()
        assert controller.phase is Phase.SAFE
        assert 'the payload that was told: joint2 would' in controller.explanation
        controller.clear_fault()
    controller.set_payload(0.1)
    controller.clear_fault()
    controller.step(arm)
    assert controller.phase is Phase.TRACKING
    assert not controller.explanation


@pytest.mark.parametrize('ahead', [1e9, math.inf])
def test_a_goal_that_begins_in_the_far_future_is_refused(ahead):
    loop = IdealLoop()
    with pytest.raises(GoalRefused, match='from now; at most 600 s'):
        loop.controller.follow_waypoints([1.2], [GOAL], start=loop.controller.time + ahead)


def test_nobody_waits_for_a_goal_that_was_cancelled_before_its_time():
    loop = IdealLoop()
    later = loop.controller.follow_waypoints([1.2], [GOAL], start=loop.controller.time + 500.0)
    loop.run(0.1)
    loop.controller.cancel(later)
    loop.run(0.0)
    assert not loop.controller.moving
    assert loop.controller.home().active
    loop.run(1.0)
    assert loop.controller.status.succeeded


def test_an_arm_that_verifies_while_it_lets_go_takes_goals_afterwards():
    loop = IdealLoop(strategy='resume', quiet_time=0.05, timeout=0.5)
    status = loop.controller.follow(path())
    loop.run(0.5)
    loop.run(DT, PUSH, HIT, led=True)                # left behind by its reference
    loop.run(2.0, PUSH, until=lambda: loop.controller.lets_go, led=True)
    assert loop.controller.phase is Phase.HOLDING
    loop.run_to(Phase.VERIFYING)
    loop.run_to(Phase.RESUMING)
    loop.run(20.0, until=lambda: not status.active)
    assert status.succeeded
    assert not loop.controller.lets_go
    assert loop.controller.follow_waypoints([1.0], [HOME + 0.1]).active


# -- what waits to resume, and does not any more -------------------------------------------------

def waiting(**options):
    """An arm on which somebody leans, and whose goal waits to go on."""
    loop = IdealLoop(strategy='resume', **options)
    status = loop.controller.follow(path())
    loop.run(0.5)
    loop.run(0.0, PUSH, HIT, lasting=LASTS)
    loop.run(4.0, PUSH, lasting=LASTS)
    assert loop.controller.phase is Phase.HOLDING
    assert status.suspended
    return loop, status


def test_a_goal_for_later_ends_the_one_that_waits_to_resume():
    loop, status = waiting()
    later = loop.controller.follow_waypoints([1.0], [loop.q], start=loop.controller.time + 60.0,
                                             allow_lasting=True)
    loop.run(0.0, PUSH, lasting=LASTS)
    assert not status.active
    assert status.preempted
    loop.controller.cancel(later)
    loop.run(0.1)
    assert not loop.controller.moving
    with pytest.raises(ArmsenseError, match='no interrupted trajectory'):
        loop.controller.resume()


@pytest.mark.parametrize('strategy', ['stop', 'retract', 'float', 'retrace'])
def test_a_goal_that_waits_to_resume_ends_where_a_collision_is_answered_otherwise(strategy):
    loop, status = waiting()
    loop.controller.reaction.choose(strategy)
    loop.run(0.0, 2.0 * PUSH, HIT, lasting=LASTS)
    assert not status.active
    assert status.code is ErrorCode.PATH_TOLERANCE_VIOLATED
    assert strategy in status.text


def test_an_arm_whose_goal_was_cancelled_does_not_move_when_it_is_left_alone():
    loop, status = waiting(retract_distance=(0.01,), clearance=0.2)
    loop.controller.cancel()
    loop.run(0.1, PUSH, lasting=LASTS)
    assert status.cancelled
    held = loop.q
    loop.run(5.0)
    np.testing.assert_array_equal(loop.q, held)


@pytest.mark.parametrize('how', ['residual', 'unknown', 'lasting', 'cancel', 'hold'])
def test_an_arm_that_stops_on_its_way_to_the_clearance_keeps_its_acceleration(how):
    loop, _ = waiting(retract_distance=(0.01,), clearance=0.3)
    loop.run(9.0, until=lambda: np.abs(loop.controller.reference.dq).max() > 0.09)
    assert loop.controller.phase is Phase.VERIFYING
    del loop.log[:-3]
    if how in ('cancel', 'hold'):
        getattr(loop.controller, how)()
    loop.run(1.0, {'residual': PUSH, 'unknown': None}.get(how, NONE),
             lasting=LASTS if how == 'lasting' else '')
    assert loop.controller.phase is (Phase.TRACKING if how == 'hold' else Phase.HOLDING)
    change = np.abs(np.diff(loop.log, 2, axis=0)) / 5e-3**2
    assert change.max() < 0.5 * LIMITS.acceleration.min()
    assert 0.0 < np.abs(loop.log[-1] - loop.log[2]).max() < 0.01


def test_hold_while_the_arm_still_brakes_on_that_way():
    loop, _ = waiting(retract_distance=(0.01,), clearance=0.3)
    loop.run(9.0, until=lambda: np.abs(loop.controller.reference.dq).max() > 0.09)
    del loop.log[:-3]
    loop.run(0.0, None)
    assert loop.controller.phase is Phase.HOLDING
    loop.controller.hold()
    loop.run(1.0)
    assert np.abs(np.diff(loop.log, 2, axis=0)).max() / 5e-3**2 < 0.5 * LIMITS.acceleration.min()


def test_hold_after_a_collision_and_a_goal_right_after_it():
    loop = IdealLoop(strategy='stop')
    loop.controller.follow(path())
    loop.run(0.5)
    loop.run(0.0, PUSH, HIT)
    loop.run_to(Phase.HOLDING)
    loop.controller.hold()
    status = loop.controller.follow_waypoints([1.0], [HOME])
    loop.run(1.5)
    assert status.succeeded


def test_goals_are_refused_while_reacting_and_accepted_while_holding():
    loop = Loop()
    loop.controller.follow(path(), reaction='stop')
    loop.run(0.4)
    loop.run(DT, np.array([-2.0, 0, 0, 0]), HIT)
    with pytest.raises(GoalRefused, match='reacting'):
        loop.controller.follow_waypoints([1.0], [HOME])
    loop.run(1.0)
    status = loop.controller.follow_waypoints([1.0], [HOME])
    loop.run(1.5)
    assert status.succeeded


def accepted_late(loop):
    """A goal that was planned before, and accepted when `loop` had gone on; a way to accept it."""
    accept, late = loop.controller._accept, []
    loop.controller._accept = lambda *goal: late.append(goal)
    loop.controller.follow(path())
    loop.controller._accept = accept
    return lambda: accept(*late[0])


@pytest.mark.parametrize('before', [True, False])
def test_a_goal_accepted_while_the_motors_go_off_ends_and_is_never_driven(before):
    loop = Loop()
    accept = accepted_late(loop)
    status = accept() if before else None
    loop.controller.rest()
    status = status or accept()
    loop.controller.rest()
    assert not status.active
    assert status.code is ErrorCode.INVALID_GOAL
    assert status.text == 'the motors are not enabled'
    loop.run(1.5)                                    # on again
    np.testing.assert_allclose(loop.q, HOME, atol=5e-3)
    later = loop.controller.follow(path())
    loop.run(1.5)
    assert later.succeeded


def test_a_goal_accepted_when_a_collision_came_does_not_end_the_reaction():
    loop = Loop()
    loop.controller.reaction.choose('retract')
    accept = accepted_late(loop)
    loop.run(DT, hit=HIT)
    status = accept()
    loop.run(DT)
    assert loop.controller.phase is Phase.REACTING
    assert not status.active
    assert 'the controller is reacting: ' in status.text


def test_a_goal_accepted_when_a_fault_came_ends():
    for late in (True, False):
        loop = Loop()
        accept = accepted_late(loop)
        status = None if late else accept()
        loop.controller.step(loop.arm.state, NONE, None, math.nan)
        status = status or accept()
        loop.run(DT)
        assert loop.controller.phase is Phase.SAFE
        assert not status.active
        assert status.text


@pytest.mark.parametrize('end', ['success', 'cancel', 'failure', 'hand'])
def test_a_goals_own_reaction_ends_with_the_goal(end):
    loop = IdealLoop(strategy='stop')
    status = loop.controller.follow(path(), reaction='ignore')
    loop.run(0.5)
    loop.run(0.0, PUSH, HIT)
    assert loop.controller.phase is Phase.TRACKING
    loop.controller.reaction.choose('retract')
    assert loop.controller.reaction.strategy == 'ignore'
    if end == 'cancel':
        loop.controller.cancel()
    elif end == 'hand':
        loop.controller.switch('float')
    loop.run(1.5, led=end == 'failure')              # an arm that is left behind fails
    assert not status.active
    assert status.succeeded == (end == 'success')
    assert loop.controller.reaction.strategy == 'retract'
    loop.controller.switch('computed_torque')
    loop.run(0.0)
    loop.run(0.0, PUSH, HIT)
    assert loop.controller.phase is Phase.REACTING
    assert loop.controller.explanation.startswith('retract')


def test_a_collision_leaves_the_goal_its_own_reaction_for_the_rest():
    loop = IdealLoop(strategy='stop')
    loop.controller.follow(path(), reaction='retract')
    loop.run(0.5)
    loop.run(0.0, PUSH, HIT)
    loop.run_to(Phase.HOLDING)
    loop.controller.resume()
    loop.run_to(Phase.RESUMING)
    assert loop.controller.reaction.strategy == 'retract'
    loop.run_to(Phase.TRACKING)
    assert loop.controller.reaction.strategy == 'stop'


def touched_at_rest(loop):
    """A touch by which the arm yields only a little, and all that follows from it."""
    rest = loop.q
    loop.log = []
    loop.run(0.02, PUSH, HIT)
    loop.run(8.0)
    assert not loop.controller.moving
    assert not loop.controller.reference.dq.any()
    assert np.abs(np.array(loop.log) - rest).max() < 0.1


def test_a_touch_at_rest_does_not_drive_a_finished_goal_again():
    loop = IdealLoop(strategy='resume')
    status = loop.controller.follow(path())
    loop.run(0.5)
    loop.run(0.02, PUSH, HIT)
    loop.run(20.0, until=lambda: not status.active)
    assert status.succeeded
    touched_at_rest(loop)
    assert status.succeeded
    assert loop.controller.phase is Phase.TRACKING


@pytest.mark.parametrize('held', [True, False])
def test_a_touch_at_rest_does_not_drive_an_aborted_goal_on(held):
    loop = IdealLoop(strategy='stop')
    status = loop.controller.follow(path())
    loop.run(0.5)
    loop.run(0.0, PUSH, HIT)
    loop.run_to(Phase.HOLDING)
    if held:
        loop.controller.hold()
        loop.run(0.1)
    loop.controller.reaction.choose('resume')
    touched_at_rest(loop)
    assert status.code is ErrorCode.PATH_TOLERANCE_VIOLATED
    if held:
        with pytest.raises(ArmsenseError, match='no interrupted'):
            loop.controller.resume()
    else:
        loop.controller.resume()
        loop.run_to(Phase.TRACKING)
        np.testing.assert_allclose(loop.q, GOAL, atol=1e-9)


def test_a_collision_while_a_cancelled_goal_comes_to_rest_does_not_revive_it():
    loop = IdealLoop(strategy='resume')
    status = loop.controller.follow(path())
    loop.run(0.5)
    loop.controller.cancel()
    loop.run(0.0)
    assert loop.controller.moving
    touched_at_rest(loop)
    assert status.cancelled
    assert not status.active
    assert not status.suspended


@pytest.mark.parametrize(('phase', 'after'), [
    (Phase.HOLDING, Phase.HOLDING), (Phase.VERIFYING, Phase.HOLDING),
    (Phase.RESUMING, Phase.TRACKING)])
def test_an_arm_that_a_hand_leads_does_not_resume_by_itself(phase, after):
    loop = IdealLoop(strategy='resume')
    status = loop.controller.follow(path())
    loop.run(0.5)
    loop.run(0.0, PUSH, HIT)
    loop.run_to(phase, residual=PUSH if phase is Phase.HOLDING else NONE)
    loop.controller.switch('float')
    loop.run(3.0, led=True)
    assert loop.controller.phase is after
    assert status.cancelled
    rest = loop.q
    loop.controller.switch('computed_torque')
    loop.run(3.0)
    assert loop.controller.phase is after
    assert not loop.controller.moving
    np.testing.assert_allclose(loop.q, rest, atol=1e-9)
    if after is Phase.HOLDING:                       # the rest is kept for those who ask for it
        loop.controller.resume()
        loop.run_to(Phase.TRACKING)
        np.testing.assert_allclose(loop.q, GOAL, atol=1e-9)


def test_the_rest_of_an_aborted_goal_can_be_resumed_until_it_is_driven():
    loop = IdealLoop(strategy='stop')
    loop.controller.follow(path())
    loop.run(0.5)
    loop.run(0.0, PUSH, HIT)
    loop.run_to(Phase.HOLDING)
    loop.controller.resume()
    loop.run_to(Phase.VERIFYING)
    loop.run(0.0, PUSH)                              # still there
    assert loop.controller.phase is Phase.HOLDING
    loop.controller.resume()
    loop.run_to(Phase.RESUMING)
    loop.run(0.3)
    loop.run(0.0, PUSH, HIT)                         # there again
    loop.run_to(Phase.HOLDING)
    loop.controller.resume()
    loop.run_to(Phase.TRACKING)
    assert loop.controller.status.succeeded
    np.testing.assert_allclose(loop.q, GOAL, atol=1e-9)


@pytest.mark.parametrize('strategy', ['stop', 'retract', 'resume'])
def test_a_collision_interrupts_the_goal_also_without_a_quiet_time(strategy):
    loop = IdealLoop(strategy=strategy, quiet_time=0.0)
    status = loop.controller.follow(path())
    loop.run(0.5)
    loop.run(0.0, hit=HIT)
    assert status.suspended == (strategy == 'resume')
    assert status.active == (strategy == 'resume')
    assert not loop.controller.moving


def test_resume_needs_something_to_resume():
    with pytest.raises(ArmsenseError, match='no interrupted'):
        Loop().controller.resume()


# -- faults and any input ---------------------------------------------------------------------

@pytest.mark.parametrize('field', ['q', 'dq', 'theta', 'dtheta'])
def test_nan_in_means_safe_until_cleared(field):
    loop = Loop()
    status = loop.controller.follow(path())
    loop.run(0.3)
    bad = loop.arm.state._replace(**{field: np.array([0.0, np.nan, 0.0, 0.0])})
    command = loop.controller.step(bad, NONE, None, DT)
    assert loop.controller.phase is Phase.SAFE
    assert all(np.isfinite(values).all() for values in command)
    assert not command.kp.any()
    assert not command.torque.any()
    assert command.kd.all()
    assert status.code is ErrorCode.PATH_TOLERANCE_VIOLATED
    loop.run(0.2)
    assert loop.controller.phase is Phase.SAFE   # good states alone do not clear it
    with pytest.raises(GoalRefused, match='safe'):
        loop.controller.home()
    loop.controller.clear_fault()
    loop.run(0.5)
    assert loop.controller.phase is Phase.TRACKING
    np.testing.assert_allclose(loop.arm.state.dq, 0.0, atol=0.02)


@pytest.mark.parametrize('phase', [Phase.TRACKING, Phase.REACTING, Phase.HOLDING,
                                   Phase.VERIFYING, Phase.RESUMING])
def test_clearing_no_fault_changes_nothing(phase):
    loops = IdealLoop('kinematic_joint', strategy='resume'), IdealLoop('kinematic_joint',
                                                                       strategy='resume')
    for loop in loops:
        loop.controller.follow(path())
        loop.run(0.5)
        if phase is not Phase.TRACKING:
            loop.run(0.0, PUSH, HIT)
            loop.run_to(phase)
        loop.log = []
    loops[0].controller.clear_fault()
    for loop in loops:
        loop.run(0.1)
        assert loop.controller.status.active
    assert loops[0].controller.phase is loops[1].controller.phase
    np.testing.assert_array_equal(loops[0].log, loops[1].log)
    np.testing.assert_array_equal(loops[0].command, loops[1].command)


def test_what_fades_when_a_fault_comes_is_not_there_when_it_is_cleared():
    loop = IdealLoop('kinematic_joint')              # carries nothing yet
    loop.controller.switch('pd_gravity')
    loop.run(0.0)
    assert np.abs(loop.command.torque - MODEL.gravity_torque(HOME)).max() > 1.0
    loop.controller.step(ArmState.rigid(HOME, NONE), NONE, None, math.nan)
    loop.controller.clear_fault()
    loop.run(0.0)
    np.testing.assert_allclose(loop.command.torque, MODEL.gravity_torque(HOME), atol=1e-9)


@pytest.mark.parametrize('law', JOINT_SPACE_LAWS)
def test_a_hit_at_rest_does_not_drop_the_arm(law):
    loop = Loop(law)
    loop.controller.reaction.choose('stop')
    loop.run(1.2)                                    # until the law carries the arm
    rest = loop.q
    loop.torques = loop.torques[-1:]
    loop.run(0.1, hit=HIT)
    assert loop.controller.phase is Phase.REACTING
    assert (np.abs(np.diff(loop.torques, axis=0)) < 0.05 * LIMITS.torque).all()
    np.testing.assert_allclose(loop.q, rest, atol=1e-3)


@pytest.mark.parametrize('dt', [float('nan'), -0.001, 0.2])
def test_lost_states_and_bad_clocks_are_safe(dt):
    loop = Loop()
    loop.controller.step(loop.arm.state, NONE, None, dt)
    assert loop.controller.phase is Phase.SAFE
    assert loop.controller.explanation


@pytest.mark.parametrize('law', ['pi_velocity', 'pid_position', 'kinematic_joint', 'pd_gravity',
                                 'computed_torque', 'joint_impedance'])
def test_jitter_and_lost_states_do_not_spoil_tracking(law):
    rng = np.random.default_rng(1)
    loop = Loop(law=law)
    status = loop.controller.follow(path(1.5))
    worst = 0.0
    for _ in range(2500):
        dt = DT * rng.uniform(0.5, 1.5) * (rng.integers(2, 6) if rng.random() < 0.01 else 1)
        loop.run(dt, dt=dt)
        worst = max(worst, np.abs(loop.controller.reference.q - loop.q).max())
        if not status.active:
            break
    assert status.succeeded
    assert worst < 0.1


state_arrays = arrays(float, 4, elements=st.floats(allow_nan=True, allow_infinity=True, width=32))


@settings(max_examples=60, deadline=None)
@given(law=st.sampled_from(['pi_velocity', 'pid_position', 'kinematic_joint',
                            'kinematic_cartesian', 'pd_gravity', 'computed_torque',
                            'joint_impedance']),
       strategy=st.sampled_from(['ignore', 'stop', 'retract', 'float', 'retrace', 'resume']),
       rows=st.lists(st.tuples(state_arrays, state_arrays, state_arrays,
                               st.floats(-0.001, 0.06), st.booleans()), min_size=1, max_size=8))
def test_no_input_makes_a_command_beyond_the_limits(law, strategy, rows):
    controller = CONTROLLERS.setdefault(law, MotionController(MODEL, law=law))
    controller.reaction.choose(strategy)
    controller.clear_fault()
    controller.step(ArmState.rigid(HOME, NONE), NONE, None, DT)
    for q, dq, residual, dt, hit in rows:
        state = ArmState.rigid(q, dq)
        command = controller.step(state, residual, HIT if hit else None, dt)
        assert all(np.isfinite(values).all() for values in command)
        assert (command.position >= LIMITS.lower - 1e-6).all()
        assert (command.position <= LIMITS.upper + 1e-6).all()
        assert (np.abs(command.velocity) <= LIMITS.velocity + 1e-6).all()
        assert (np.abs(command.torque) <= LIMITS.torque + 1e-6).all()
        if state.finite:
            assert (np.abs(board_torque(command, state)) <= LIMITS.torque * (1 + 1e-6)).all()


CONTROLLERS: dict[str, MotionController] = {}
