"""Collisions while a goal is driven, and at rest."""

from motion_loop import DT, GOAL, HIT, HOME, IdealLoop, LASTS, LIMITS, Loop, NONE, path, PUSH
import numpy as np
import pytest

from armsense.control.goal import GoalRefused
from armsense.errors import ArmsenseError
from armsense.reaction import Phase
from armsense.trajectory import ErrorCode


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
