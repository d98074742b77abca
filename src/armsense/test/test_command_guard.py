"""The last check before the wire, limit by limit: what is just allowed and what just is not."""

from math import inf, nan, nextafter

import pytest

from armsense.boards.command_guard import CommandGuard, GuardLimits
from armsense.boards.mode import FaultKind
from armsense.types import Command

LIMITS = {'lower': [-1.0, -2.0], 'upper': [1.0, 2.0], 'velocity': [3.0, 4.0], 'torque': [5.0, 6.0],
          'damping': [0.5, 0.7], 'names': ['a', 'b'], 'position_margin': 0.25,
          'speed_margin': 1.5, 'step': 0.5}
HERE = [0.0, 0.0]


@pytest.fixture
def guard():
    return CommandGuard(GuardLimits(**LIMITS))


def command(**changes):
    fields = {'position': [0.0, 0.0], 'velocity': [0.0, 0.0], 'torque': [0.0, 0.0],
              'kp': [10.0, 10.0], 'kd': [0.1, 0.2], 'ki': [0.0, 0.0]}
    return Command(**(fields | changes))


@pytest.mark.parametrize('field', Command._fields)
@pytest.mark.parametrize('value', [nan, inf, -inf])
def test_a_number_that_is_none_is_named(guard, field, value):
    fault = guard.check(command(**{field: [0.0, value]}), HERE)
    assert fault.kind is FaultKind.COMMAND_NOT_FINITE
    assert f'{field} of b is {value}' in fault.explanation


@pytest.mark.parametrize('field', ['kp', 'kd', 'ki'])
def test_no_negative_gain(guard, field):
    fault = guard.check(command(**{field: [0.0, -1e-9]}), HERE)
    assert fault.kind is FaultKind.COMMAND_UNSUPPORTED
    assert 'negative gain of b' in fault.explanation


def test_an_integrator_only_where_the_boards_have_one(guard):
    wanted = command(ki=[0.0, 0.25])
    fault = guard.check(wanted, HERE)
    assert fault.kind is FaultKind.COMMAND_UNSUPPORTED
    assert 'ki of b is 0.25' in fault.explanation
    assert CommandGuard(GuardLimits(**LIMITS, integrates=True)).check(wanted, HERE) is None


@pytest.mark.parametrize('side', [1.0, -1.0])
def test_the_reference_may_be_a_step_away_and_no_more(guard, side):
    assert guard.check(command(position=[0.25 + 0.5 * side, 0.0]), [0.25, 0.0]) is None
    fault = guard.check(command(position=[0.25 + 0.5625 * side, 0.0]), [0.25, 0.0])
    assert fault.kind is FaultKind.COMMAND_STEP
    assert f'a: {0.5625 * side:+.3f} rad' in fault.explanation


def test_without_stiffness_the_reference_does_not_matter(guard):
    assert guard.check(command(position=[9.0, 0.0], kp=[0.0, 10.0]), HERE) is None


def test_within_the_limits_nothing_changes(guard):
    wanted = command(position=[1.0, -2.0], velocity=[3.0, -4.0], torque=[5.0, -6.0])
    assert guard.limited(wanted, HERE, [2.0, -2.0]) == wanted


@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_everything_is_cut_at_its_limit(guard, sign):
    wanted = command(position=[sign * 1.5, sign * 2.5], velocity=[sign * 9.0, sign * 9.0],
                     torque=[sign * 9.0, sign * 9.0])
    cut = guard.limited(wanted, HERE, HERE)
    assert cut.position == [sign * 1.0, sign * 2.0]
    assert cut.velocity == [sign * 3.0, sign * 4.0]
    assert cut.torque == [sign * 5.0, sign * 6.0]
    assert (cut.kp, cut.kd, cut.ki) == (wanted.kp, wanted.kd, wanted.ki)


@pytest.mark.parametrize('side', [1.0, -1.0])
def test_beyond_a_joint_limit_nothing_pushes_outwards(guard, side):
    outside = [side * 1.125, 0.0]
    outwards = command(velocity=[side * 2.5, side * 2.5], torque=[side * 2.5, side * 2.5])
    cut = guard.limited(outwards, outside, HERE)
    assert cut.velocity == [0.0, side * 2.5]     # the other joint goes on
    assert cut.torque == [0.0, side * 2.5]
    inwards = command(velocity=[-side * 2.5, 0.0], torque=[-side * 2.5, 0.0])
    back = guard.limited(inwards, outside, HERE)
    assert back.velocity[0] == -side * 2.5
    assert back.torque[0] == -side * 2.5


@pytest.mark.parametrize('side', [1.0, -1.0])
def test_beyond_a_joint_limit_damping_acts_while_the_joint_moves_on(guard, side):
    outside = [side * 1.125, 0.0]
    assert guard.limited(command(), outside, [side * 0.25, side * 0.25]).kd == [0.5, 0.2]
    assert guard.limited(command(), outside, [-side * 0.25, 0.0]).kd == [0.1, 0.2]
    assert guard.limited(command(), outside, HERE).kd == [0.1, 0.2]
    stiff = command(kd=[0.9, 0.2])
    assert guard.limited(stiff, outside, [side * 0.25, 0.0]).kd == [0.9, 0.2]


def test_at_the_limit_itself_the_command_is_free(guard):
    wanted = command(torque=[2.5, -2.5])
    assert guard.limited(wanted, [1.0, -2.0], [1.0, -1.0]) == wanted


@pytest.mark.parametrize('side', [1.0, -1.0])
def test_a_joint_may_pass_its_limit_by_the_margin(guard, side):
    assert guard.watch([side * 1.25, side * 2.25], HERE) is None
    fault = guard.watch([side * nextafter(1.25, 2.0), 0.0], HERE)
    assert fault.kind is FaultKind.POSITION_LIMIT
    assert f'a at {side * 1.25:.3f} rad, limits -1.000 .. 1.000' in fault.explanation


@pytest.mark.parametrize('side', [1.0, -1.0])
def test_a_joint_may_exceed_its_speed_by_the_margin(guard, side):
    assert guard.watch(HERE, [side * 4.5, side * 6.0]) is None
    fault = guard.watch(HERE, [0.0, side * nextafter(6.0, 7.0)])
    assert fault.kind is FaultKind.OVERSPEED
    assert f'b at {side * 6.0:.2f} rad/s, limit 4.00' in fault.explanation


def test_a_state_that_is_no_number_is_beyond_its_limits(guard):
    assert guard.watch([0.0, nan], HERE).kind is FaultKind.POSITION_LIMIT


def test_the_safe_state_brakes_and_pulls_nowhere(guard):
    zeros = [0.0, 0.0]
    assert guard.damping([0.3, 0.4]) == ([0.3, 0.4], zeros, zeros, zeros, [0.5, 0.7], zeros)
    assert guard.no_torque([0.3, 0.4]) == ([0.3, 0.4], zeros, zeros, zeros, zeros, zeros)
