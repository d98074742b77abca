"""Targets for the tool: followed while they come, within the limits; silence brakes the arm."""

from motion_loop import DT, HIT, HOME, LIMITS, Loop, MODEL, NONE, PUSH
import numpy as np
import pytest
from reference_checker import ReferenceChecker

from armsense.control.goal import GoalRefused
from armsense.reaction.options import Phase
from armsense.task import Pose, TaskGoal, TaskTarget
from armsense.trajectory import point_to_point

TOOL = Pose.of_matrix(MODEL.frame_pose(HOME))
ASIDE = np.array([0.0, 0.2, 0.0, 0.0, 0.0, 0.0])     # [m/s]


def tool(q):
    return MODEL.frame_pose(q)[:3, 3]


class Sent(Loop):
    """Somebody sends a target in every cycle."""

    def __init__(self, **options):
        super().__init__(**options)
        self.checker = ReferenceChecker(self.controller, DT)

    def send(self, seconds, target=None, **options):
        for _ in range(round(seconds / DT)):
            if target is not None:
                self.controller.target(target)
            self.run(DT, **options)
            options.pop('hit', None)
            self.checker.note()


def test_a_twist_moves_the_tool_at_its_speed():
    loop = Sent()
    loop.send(0.2, TaskTarget(twist=ASIDE))
    before = tool(loop.controller.reference.q)
    loop.send(0.3, TaskTarget(twist=ASIDE))
    np.testing.assert_allclose(tool(loop.controller.reference.q) - before, 0.3 * ASIDE[:3],
                               atol=2e-3)
    assert loop.controller.moving
    loop.checker.expect_kept()


def test_a_silent_sender_brakes_the_arm():
    loop = Sent()
    loop.send(0.5, TaskTarget(twist=ASIDE))
    silent = tool(loop.q)
    loop.send(0.5)
    assert not loop.controller.moving
    assert not loop.controller.reference.dq.any()
    # 0.1 s of patience and a soft stop of as much again.
    assert 0.01 < np.linalg.norm(tool(loop.q) - silent) < 0.2 * 0.2
    loop.checker.expect_kept()
    loop.send(0.3, TaskTarget(twist=ASIDE))
    assert loop.controller.moving


def test_a_pose_is_reached_without_passing_it():
    loop = Sent()
    goal = Pose(TOOL.position + [0.0, 0.2, 0.0], TOOL.rotation)
    furthest = 0.0
    for _ in range(100):
        loop.send(0.01, TaskTarget(goal))
        furthest = max(furthest, tool(loop.controller.reference.q)[1])
    np.testing.assert_allclose(tool(loop.q), goal.position, atol=1e-4)
    assert furthest < 0.2 + 1e-4
    loop.checker.expect_kept()


@pytest.mark.parametrize('twist', [[0.5, 0.0, 0.4], [-0.5, 0.0, -0.4], [0.0, 0.0, -1.0],
                                   [3.0, -3.0, 0.0]])
def test_no_target_leads_beyond_limits_floor_or_reach(twist):
    loop = Sent()
    loop.send(3.0, TaskTarget(twist=np.array([*twist, 0.0, 0.0, 0.0])))
    loop.checker.expect_kept()
    assert loop.controller._planner._clearance.room(loop.controller.reference.q) > -1e-3
    loop.send(1.0, TaskTarget(TOOL))                 # the way back is open
    assert np.linalg.norm(tool(loop.q) - TOOL.position) < 0.5


def test_after_a_collision_the_sender_must_be_silent_before_the_arm_follows_again():
    loop = Sent()
    loop.controller.reaction.choose('stop')
    loop.send(0.5, TaskTarget(twist=ASIDE))
    loop.send(1.5, TaskTarget(twist=ASIDE), hit=HIT)
    assert loop.controller.phase is Phase.HOLDING
    assert 'contact' in loop.controller.refused_targets
    stopped = tool(loop.q)
    loop.send(0.15)
    loop.send(0.3, TaskTarget(twist=-ASIDE))
    assert loop.controller.phase is Phase.TRACKING
    assert tool(loop.q)[1] < stopped[1] - 0.03


@pytest.mark.parametrize('stop', ['hold', 'cancel'])
def test_hold_and_cancel_stop_it(stop):
    loop = Sent()
    loop.send(0.3, TaskTarget(twist=ASIDE))
    getattr(loop.controller, stop)()
    loop.send(0.6, TaskTarget(twist=ASIDE))          # still sent, and ignored
    assert not loop.controller.moving
    assert loop.controller.refused_targets
    loop.checker.expect_kept()


def test_targets_replace_goals_and_goals_wait_for_silence():
    loop = Sent()
    goal = point_to_point(HOME, HOME + [0.5, 0.0, 0.0, 0.0], LIMITS, MODEL)
    status = loop.controller.follow(goal)
    loop.send(0.2)
    loop.send(0.2, TaskTarget(twist=-ASIDE))
    assert status.preempted
    with pytest.raises(GoalRefused, match='targets'):
        loop.controller.follow_task_path(TaskGoal(poses=[TOOL]))
    loop.send(0.6)
    assert loop.controller.follow_task_path(TaskGoal(poses=[TOOL])).active
    loop.send(1.0)
    np.testing.assert_allclose(tool(loop.q), TOOL.position, atol=1e-4)
    loop.checker.expect_kept()


def test_none_is_followed_while_a_hand_leads_a_contact_lasts_or_motors_are_off():
    loop = Sent(law='float')
    loop.send(0.2, TaskTarget(twist=ASIDE))
    assert 'hand' in loop.controller.refused_targets
    loop = Sent()
    for _ in range(100):
        loop.controller.target(TaskTarget(twist=ASIDE))
        loop.controller.step(loop.arm.state, PUSH, None, DT, 'contact lasts on joint2')
    assert 'contact lasts' in loop.controller.refused_targets
    loop = Sent()
    loop.send(0.2, TaskTarget(twist=ASIDE))
    loop.controller.rest()
    loop.send(0.3, TaskTarget(twist=ASIDE), residual=NONE)
    assert not loop.controller.moving
