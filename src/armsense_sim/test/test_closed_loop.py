"""The whole arm in one process: it follows, feels a push of known size, and repeats itself."""

import numpy as np
import pytest

from armsense_core.collision_monitor import CollisionMonitor, DetectionConfig
from armsense_core.model import ArmModel
from armsense_driver.arm_driver import Mode
from armsense_sim.closed_loop import ClosedLoop


@pytest.fixture
def model():
    return ArmModel.load('laas4')


def test_a_trajectory_is_followed_without_false_alarm(model):
    loop = ClosedLoop(model, monitor=CollisionMonitor(model), mismatch=0.03)
    loop.run(0.1)
    target = np.array([0.6, 0.4, 0.3, -0.3])
    status = loop.controller.follow_waypoints([1.0], [target])
    alarms = []
    loop.run(1.5, lambda c: alarms.append(c.result.detection) if c.result.detection else None)
    assert status.succeeded, status.text
    assert np.abs(loop.plant.state.joint_position - target).max() < 0.02
    assert alarms == []
    assert loop.driver.mode == Mode.ENABLED


def test_the_residual_is_the_push_times_the_jacobian(model):
    config = DetectionConfig(gain=60.0, threshold=(100.0,) * 4)       # watch, do not react
    loop = ClosedLoop(model, monitor=CollisionMonitor(model, config), noise=False)
    loop.run(0.3)
    force = np.array([0.0, -6.0, -2.0])
    loop.plant.apply_force('link4', [0.095, 0.0, 0.0], force)
    cycles = []
    loop.run(0.3, cycles.append)
    last = cycles[-1].result
    expected = model.jacobian(last.q)[:3].T @ force
    # Stiction of the joints (0.1 to 0.25 Nm) hides as much of the push from the motors.
    stiction = np.array([j.friction.coulomb for j in model.config.joints.values()])
    assert np.all(np.abs(last.filtered - expected) < stiction + 0.05)
    assert np.abs(expected).max() > 5 * stiction.max()


def test_a_push_is_detected_and_answered(model):
    loop = ClosedLoop(model, monitor=CollisionMonitor(model))
    loop.run(0.3)
    loop.plant.apply_force('link4', [0.095, 0.0, 0.0], [0.0, -12.0, 0.0], 0.2)
    detections = []
    loop.run(0.5, lambda c: detections.append(c.time) if c.result.detection else None)
    assert len(detections) >= 1
    assert detections[0] < 0.3 + 0.02
    assert loop.driver.mode == Mode.ENABLED, loop.driver.fault
    assert abs(loop.plant.state.joint_position[0]) > 0.02            # it yielded


def test_the_same_seed_is_the_same_run(model):
    ends = []
    for seed in (3, 3, 4):
        loop = ClosedLoop(model, monitor=CollisionMonitor(model), seed=seed)
        cycles = []
        loop.run(0.2, cycles.append)
        ends.append(np.array([c.result.raw for c in cycles]))
    assert np.array_equal(ends[0], ends[1])
    assert not np.array_equal(ends[0], ends[2])


def test_a_driver_that_ends_lowers_the_arm_as_softly_as_the_safe_state():
    """Joint 2 carries the arm; without current it would fall at 5 rad/s."""
    fastest = []
    for end in (lambda driver: driver.release(), lambda driver: driver.emergency_stop()):
        loop = ClosedLoop(ArmModel.load('laas4'), seed=1, home=np.array([0.0, 0.3, 0.0, -0.3]))
        loop.run(0.3)
        end(loop.driver)
        speeds = []
        loop.run(0.6, lambda _, loop=loop, speeds=speeds: speeds.append(
            abs(loop.plant.state.joint_velocity[1])))
        assert loop.driver.mode == Mode.DAMPING
        assert not loop.driver.released
        fastest.append(max(speeds))
    assert fastest[0] == fastest[1] < 1.3      # [rad/s]
