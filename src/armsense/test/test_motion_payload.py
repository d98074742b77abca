"""Loads that an arm is told of."""

import math

from motion_loop import LIMITS, Loop, MODEL, NONE
import numpy as np
import pytest

from armsense.control import ArmState, board_torque
from armsense.control.motion_controller import MotionController
from armsense.errors import ArmsenseError
from armsense.reaction import Phase


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
