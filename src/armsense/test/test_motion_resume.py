"""What waits to resume after a collision, and does not any more."""

from motion_loop import DT, HIT, HOME, IdealLoop, LASTS, LIMITS, NONE, path, PUSH
import numpy as np
import pytest

from armsense.errors import ArmsenseError
from armsense.reaction import Phase
from armsense.trajectory import ErrorCode


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
