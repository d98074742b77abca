"""Goals and resumptions while a contact lasts."""

from dataclasses import replace

from motion_loop import GOAL, HIT, IdealLoop, LASTS, path, PUSH
import numpy as np
import pytest

from armsense.control.config import ControllerConfig
from armsense.control.goal import GoalRefused
from armsense.control.motion_controller import MotionController
from armsense.errors import ArmsenseError
from armsense.model import Arm
from armsense.reaction import Phase
from armsense.trajectory import ErrorCode
from armsense.watch.collision_monitor import release_level


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
    model = Arm.load(arm)
    MotionController(model)
    MotionController(model, release=0.5 * release_level(model))
    config = ControllerConfig.of(model)
    loud = replace(config, reaction=replace(config.reaction, quiet=(100.0,)))
    with pytest.raises(ArmsenseError, match='reaction.quiet of joint1 is 100.0; it must be at '):
        MotionController(model, loud)
