"""Markers of RViz: a ball that leaves its shell is a residual beyond its threshold."""

from builtin_interfaces.msg import Time
import numpy as np
import pytest
from visualization_msgs.msg import Marker

from armsense.model import Arm
from armsense_monitor.arm_history import ArmHistory, Contact, Event
from armsense_monitor.markers_node import markers, THRESHOLD_RADIUS

MODEL = Arm.load('laas4')
Q = np.array([0.3, 0.6, 0.0, -0.6])


def history_of(residual):
    history = ArmHistory(MODEL.joint_names)
    history.add_position(1.0, Q)
    history.add_residual(1.0, residual, [1.0, 0.5, 0.5, 0.5], True)
    return history


def by_name(array):
    return {(marker.ns, marker.id): marker for marker in array.markers}


def test_residual_is_drawn_in_proportion_to_its_threshold_at_its_joint():
    found = by_name(markers(MODEL, history_of([0.5, -1.0, 0.0, 0.1]), Time(sec=1)))
    assert found['residual', 0].scale.x == pytest.approx(2 * THRESHOLD_RADIUS * 0.5)
    assert found['residual', 1].scale.x == pytest.approx(2 * THRESHOLD_RADIUS * 2.0)
    assert found['residual', 1].color.r > 0.8           # beyond: red
    assert found['residual', 0].color.g > found['residual', 0].color.r
    assert found['threshold', 1].scale.x == pytest.approx(2 * THRESHOLD_RADIUS)
    place = found['residual', 3].pose.position
    np.testing.assert_allclose([place.x, place.y, place.z], MODEL.joint_poses(Q)[3][:3, 3])
    assert found['residual', 0].header.frame_id == 'base_link'


def test_contact_comes_with_its_arrow_and_goes():
    history = history_of([0.0] * 4)
    history.add_event(Event(0, 1.0, 'joints', 'link4', 'joint1', 2.0, 1.0, 0.9))
    history.add_contact(Contact(1.0, np.array([0.1, 0.2, 0.3]), np.array([0.0, -10.0, 0.0])))
    found = by_name(markers(MODEL, history, Time(sec=1)))
    tail, head = found['force', 0].points
    assert (head.x, head.y, head.z) == (0.1, 0.2, 0.3)
    assert tail.y > head.y                               # the arrow points along the force
    assert found['contact', 0].action == Marker.ADD
    history.add_position(9.0, Q)
    found = by_name(markers(MODEL, history, Time(sec=9)))
    assert found['force', 0].action == found['contact', 0].action == Marker.DELETE
