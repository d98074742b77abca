"""No command beyond limits, whatever the law says; no jump of torque at a change."""

import itertools
from pathlib import Path
import sys

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
import numpy as np
import pytest

from armsense.control import ArmState, board_torque, Command, Limiter, Switcher
from armsense.control.config import ControllerConfig
from armsense.control.goal import Goal
from armsense.control.motion_controller import MotionController
from armsense.control.trajectory_queue import Segment
from armsense.model import Arm
from armsense.trajectory import Limits
from bench.motions import fourier_test

sys.path.insert(0, str(Path(__file__).parent))
from control_helpers import ElasticArm, RigidArm

MODEL = Arm.load('laas4')
LIMITS = Limits.of(MODEL)
LIMITER = Limiter(MODEL, LIMITS)
DT = 1e-3

anything = arrays(float, 4, elements=st.floats(-1e6, 1e6))
wild = arrays(float, 4, elements=st.floats(allow_nan=True, allow_infinity=True))
gain = arrays(float, 4, elements=st.floats(0.0, 1e5))


def within(command, state):
    slack = 1e-6
    assert all(np.isfinite(values).all() for values in command)
    assert (command.position >= LIMITS.lower - slack).all()
    assert (command.position <= LIMITS.upper + slack).all()
    assert (np.abs(command.velocity) <= LIMITS.velocity + slack).all()
    assert (np.abs(command.torque) <= LIMITS.torque + slack).all()
    assert all((g >= 0.0).all() for g in command[3:])
    if state.finite:
        assert (np.abs(board_torque(command, state)) <= LIMITS.torque * (1 + 1e-6)).all()


@settings(max_examples=150, deadline=None)
@given(q=anything, dq=anything, position=anything, velocity=anything, torque=anything, kp=gain,
       kd=gain, ki=gain)
def test_any_command_is_brought_within_the_limits(q, dq, position, velocity, torque, kp, kd, ki):
    state = ArmState.rigid(q, dq)
    limited = LIMITER.apply(Command(position, velocity, torque, kp, kd, ki), state)
    within(limited.command, state)
    assert limited.reason == ''


@settings(max_examples=100, deadline=None)
@given(position=wild, velocity=wild, torque=wild, kp=wild)
def test_no_number_becomes_damping_with_a_reason(position, velocity, torque, kp):
    state = ArmState.rigid(np.zeros(4), np.full(4, 2.0))
    kp = np.abs(kp)
    command = Command(position, velocity, torque, kp, np.ones(4), np.zeros(4))
    limited = LIMITER.apply(command, state)
    within(limited.command, state)
    if not all(np.isfinite(values).all() for values in command):
        assert limited.reason
        assert not limited.command.kp.any()
        assert not limited.command.torque.any()


def test_what_fits_passes_unchanged_and_saturation_reaches_the_limit():
    state = ArmState.rigid(np.zeros(4), np.zeros(4))
    small = Command(np.full(4, 0.01), np.zeros(4), np.full(4, 0.1), np.full(4, 10.0),
                    np.ones(4), np.zeros(4))
    assert LIMITER.apply(small, state).command is small
    large = small._replace(kp=np.full(4, 1e5))
    limited = LIMITER.apply(large, state)
    assert limited.saturated
    np.testing.assert_allclose(board_torque(limited.command, state), LIMITS.torque)


@settings(max_examples=60, deadline=None)
@given(theta=wild, dtheta=wild)
def test_damping_brakes_and_never_drives(theta, dtheta):
    state = ArmState.rigid(theta, dtheta)
    command = LIMITER.damping(state)
    within(command, state)
    if state.finite:
        assert (board_torque(command, state) * np.sign(dtheta) <= 1e-9).all()


def test_a_fade_begins_with_the_old_torque_and_ends_with_the_new():
    switcher = Switcher(LIMITS.torque, 0.2)
    old, new = LIMITS.torque * 0.9, -LIMITS.torque * 0.9
    switcher.start(old, new, DT)
    zero = np.zeros(4)
    torques = [switcher.apply(Command(zero, zero, new, zero, zero, zero), DT).torque
               for _ in range(400)]
    np.testing.assert_allclose(torques[0], old)
    np.testing.assert_allclose(torques[-1], new)
    steps = np.abs(np.diff(torques, axis=0)) / LIMITS.torque
    assert steps.max() <= 0.05


def arm_for(model):
    home = np.array(model.config.home)
    if model.name == 'biorob':
        return ElasticArm(model, home)
    return RigidArm(model, home)


@pytest.mark.parametrize('name', ['laas4', 'biorob'])
def test_switching_any_two_laws_in_motion_makes_no_torque_step(name):
    model = Arm.load(name)
    limits = Limits.of(model)
    laws = [law for law in ControllerConfig.of(model).laws if law != 'float']
    path = fourier_test(model, seed=3, frequency=0.2, use=0.6)
    worst = {}
    for first, second in itertools.permutations(laws, 2):
        controller = MotionController(model, law=first)
        arm = arm_for(model)
        controller.step(arm.state, None, None, DT)
        _drive(controller, path)                     # as `follow`, but already in motion
        last, step = None, 0.0
        for k in range(160):
            if k == 120:
                controller.switch(second)
            command = controller.step(arm.state, None, None, DT)
            torque = board_torque(command, arm.state)
            if last is not None and k >= 119:
                step = max(step, float(np.max(np.abs(torque - last) / limits.torque)))
            last = torque
            arm.step(command, DT)
        worst[first, second] = step
    assert controller.law_name == second
    bad = {pair: step for pair, step in worst.items() if step > 0.05}
    assert not bad


def _drive(controller, path):
    goal = Goal(path, controller.config.tolerances(path.n), controller.limits.joints)
    controller._queue.goal = goal
    controller._queue._now = Segment(controller.time - 0.6, path, goal)


def test_a_payload_comes_without_a_jump_and_is_then_carried():
    loaded = MODEL.with_payload(0.5)
    controller = MotionController(MODEL, law='pd_gravity')
    arm = RigidArm(MODEL, np.array(MODEL.config.home))
    last, step = None, 0.0
    for k in range(1500):
        if k == 100:
            controller.set_payload(0.5)
        command = controller.step(arm.state, None, None, DT)
        torque = board_torque(command, arm.state)
        if last is not None:
            step = max(step, float(np.max(np.abs(torque - last) / LIMITS.torque)))
        last = torque
        arm.step(command, DT)
    assert step <= 0.05
    rest = ArmState.rigid(arm.state.q, np.zeros(4))
    still = controller.step(rest, None, None, DT)
    np.testing.assert_allclose(still.torque, loaded.gravity_torque(arm.state.q), atol=1e-9)


@pytest.mark.parametrize('sign', [1.0, -1.0])
def test_a_motor_at_its_velocity_limit_is_not_driven_faster(sign):
    limits = Limits.of(MODEL)
    limiter, zero = Limiter(MODEL, limits), np.zeros(4)
    home = np.array(MODEL.config.home)
    pushing = Command(home, zero, sign * limits.torque, zero, zero, zero)
    shares = []
    for speed in (0.5, 0.9, 1.0, 1.2, 3.0):
        state = ArmState.rigid(home, sign * speed * limits.velocity)
        command = limiter.apply(pushing, state).command
        shares.append(sign * board_torque(command, state) / limits.torque)
    expected = [1.0, 0.5, 0.0, -1.0, -1.0]             # fades from 80 %, brakes beyond
    np.testing.assert_allclose(shares, np.tile(expected, (4, 1)).T, atol=1e-9)
    braking = limiter.apply(pushing, ArmState.rigid(home, -sign * 2.0 * limits.velocity))
    assert not braking.saturated                       # torque against the motion stays
