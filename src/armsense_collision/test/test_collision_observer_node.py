"""What the node tells of the states that it is given; stepped by hand, nobody listens."""

import numpy as np
import pytest
import rclpy

from armsense.model import Arm
from armsense.recordings.record import new_record
from armsense_collision.collision_observer_node import CollisionObserverNode
from armsense_msgs.msg import MotorStates
from armsense_node.health import Level

MODEL = Arm.load('laas4')
HOME = np.array(MODEL.config.home)
P = 1_000_000                               # [ns]
WALL = 1_700_000_000 * 10**9                # [ns]
NONE = np.zeros(4)
PUSH = np.array([0.0, 5.0, 0.0, 0.0])       # [Nm]


class Observer:
    """The node of an arm that rests at home."""

    def __init__(self, node):
        self.node, self.seq, self.leap = node, 0, 0
        self.state = new_record(MotorStates, 4, {'joint_position': 0, 'strain': 0})

    def feed(self, seconds, push=NONE):
        """Newest residual, and whether all of them counted."""
        out, counted = self.node._residuals.message, True
        for _ in range(round(seconds * 1e3)):
            self.seq += 1
            state = self.state
            state.seq, state.time_ns = self.seq, 77 * P + self.seq * P
            state.stamp_ns = WALL + self.seq * P + self.leap
            state.position, state.enabled = HOME, True
            state.torque = MODEL.gravity_torque(HOME) - push
            self.node._step(state)
            counted = counted and bool(out.valid)
        return out, counted

    @property
    def health(self):
        health, = self.node.health()
        return health


@pytest.fixture
def observer():
    rclpy.init(args=['--ros-args', '-p', 'autostart:=false'])
    node = CollisionObserverNode()
    try:
        node.configure()
        node.answers.open()
        observer = Observer(node)
        observer.feed(0.5)
        yield observer
    finally:
        node.destroy_node()
        rclpy.shutdown()


def test_residual_and_health_say_that_a_contact_lasts(observer):
    assert observer.health.message == 'watching, 0 collisions so far'
    residual, _ = observer.feed(2.0, PUSH)
    assert residual.lasting.tolist() == [False, True, False, False]
    assert residual.lasts_for == pytest.approx(2.0, abs=0.05)
    assert observer.health.level == Level.WARN
    assert observer.health.message.startswith(
        'watching for more: contact lasts on joint2, for 2.0 s now')
    residual, _ = observer.feed(1.0)
    assert (residual.lasting.any(), residual.lasts_for) == (False, 0.0)
    assert observer.health.message == 'watching, 1 collisions so far'


@pytest.mark.parametrize('leap', [-3600.0, -0.005, 0.2, 86400.0])     # [s]
def test_an_observer_does_not_notice_that_the_wall_clock_is_set(observer, leap):
    observer.leap = round(leap * 1e9)
    residual, counted = observer.feed(0.3)
    assert counted
    assert residual.collision_seq == 0
    residual, counted = observer.feed(0.05, PUSH)
    assert counted
    assert residual.collision_seq > 800
