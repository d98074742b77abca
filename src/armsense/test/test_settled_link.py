"""The link of a contact once its residual has settled."""

import numpy as np
import pytest

from armsense.model import Arm
from armsense.watch.collision_monitor import CollisionMonitor

THRESHOLD = np.array([0.5, 0.5, 0.2, 0.2])


@pytest.fixture(scope='module')
def monitor():
    return CollisionMonitor(Arm.load('laas4'))


def torque_of(monitor, q, force):
    """Of a force [N] on the hand."""
    return monitor.model.jacobian(q)[:3].T @ np.asarray(force)


def test_an_outer_joint_that_shows_later_names_the_outer_link(monitor):
    q = np.array([0.2, 0.6, 0.4, 0.8])
    settled = torque_of(monitor, q, [0.0, 12.0, -6.0])
    begun = np.where(np.arange(4) == 1, 1.1 * THRESHOLD, 0.1 * THRESHOLD)
    first = monitor.isolate(begun, THRESHOLD).joint
    assert first == 1
    assert monitor.settled_joint(settled, THRESHOLD, first) == 3


def test_a_contact_never_moves_inwards(monitor):
    inner = np.array([3.0, 2.0, 0.0, 0.0])
    assert monitor.isolate(inner, THRESHOLD).joint == 1
    assert monitor.settled_joint(inner, THRESHOLD, 3) == 3


def test_a_share_of_a_hard_impact_beyond_the_contact_is_no_load(monitor):
    peak = np.array([40.0, 20.0, 1.1, 1.1]) * THRESHOLD     # errors of the mass matrix
    assert monitor.settled_joint(peak, THRESHOLD, 1) == 1
