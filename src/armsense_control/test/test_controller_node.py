"""What a controller's health says of collisions; the node is stepped by hand, nobody listens."""

from types import SimpleNamespace

import numpy as np
import pytest
import rclpy
from rclpy.task import Future
from std_srvs.srv import Trigger

from armsense.model import Arm
from armsense.recordings.record import new_record
from armsense_control.arm_stream import SILENCE
from armsense_control.dynamic_controller_node import DynamicController
from armsense_msgs.msg import MotorStates, Residual
from armsense_node.health import Level

HOME = np.array(Arm.load('laas4').config.home)
P = 1_000_000     # [ns]


class Controller:
    """The node of an arm that rests at home, and an observer that may speak."""

    def __init__(self, node):
        self.node, self.seq = node, 0
        self.state = new_record(MotorStates, 4, {'joint_position': 0, 'strain': 0})
        self.residual = None
        node._arm.inbox._residuals.take_latest = lambda: self.residual

    def step(self):
        self.seq += 1
        if self.residual is not None:
            self.residual.seq = self.seq
        state = self.state
        state.seq, state.time_ns, state.stamp_ns = self.seq, self.seq * P, self.seq * P
        state.position, state.enabled = HOME, True
        self.node._step(state)
        _, collisions = self.node.health()
        return collisions.level, collisions.message


@pytest.fixture
def controller():
    rclpy.init(args=['--ros-args', '-p', 'autostart:=false'])
    node = DynamicController()
    try:
        node.configure()
        node.answers.open()
        yield Controller(node)
    finally:
        node.destroy_node()
        rclpy.shutdown()


def test_watched_only_while_a_push_would_be_felt(controller):
    assert controller.step() == (Level.OK, 'no collision observer runs')
    controller.residual = residual = new_record(Residual, 4)
    residual.valid = True
    assert controller.step() == (Level.OK, 'watched')
    residual.lasting, residual.lasts_for = np.array([False, True, False, False]), 3.2
    assert controller.step() == (Level.WARN, 'contact lasts on joint2, for 3.2 s now')
    residual.lasting, residual.lasts_for = np.zeros(4, bool), 0.0
    assert controller.step() == (Level.OK, 'watched')
    controller.residual = None
    for _ in range(SILENCE):
        assert controller.step() == (Level.OK, 'watched')
    for _ in range(2):
        level, text = controller.step()
    assert level == Level.ERROR
    assert text.startswith('not noticed any more')


def test_home_is_left_to_who_plans_so_that_hold_is_served_meanwhile(controller):
    controller.step()
    node, plans, done = controller.node, [], Future()
    node._planning.close()
    node._planning = SimpleNamespace(submit=lambda plan: plans.append(plan) or done,
                                     close=lambda: None)
    answer = node._home(Trigger.Request(), Trigger.Response())
    answer.send(None)                                # it waits for the plan
    assert not node.controller._accepted
    done.set_result(plans[0]())
    assert node.controller._accepted
    with pytest.raises(StopIteration) as end:
        answer.send(None)
    assert end.value.value.success
