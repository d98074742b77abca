"""Faults, lost states and any input at all."""

import math

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from motion_loop import DT, HIT, HOME, IdealLoop, LIMITS, Loop, MODEL, NONE, path, PUSH
import numpy as np
import pytest

from armsense.control import ArmState, board_torque, JOINT_SPACE_LAWS
from armsense.control.goal import GoalRefused
from armsense.control.motion_controller import MotionController
from armsense.reaction import Phase
from armsense.trajectory import ErrorCode


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
                            'joint_impedance', 'task_pd', 'cartesian_impedance', 'force',
                            'disturbance_observer']),
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
