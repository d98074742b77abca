"""The whole arm in one process: it follows, feels a push of known size, and repeats itself."""

from dataclasses import replace

import numpy as np
import pytest

from armsense.boards.mode import Mode
from armsense.control.config import ControllerConfig
from armsense.control.motion_controller import MotionController
from armsense.model import Arm
from armsense.reaction.options import Phase
from armsense.sim.closed_loop import ClosedLoop
from armsense.trajectory import point_to_point
from armsense.watch.collision_monitor import CollisionMonitor, DetectionConfig


@pytest.fixture
def model():
    return Arm.load('laas4')


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


@pytest.mark.parametrize('moving', [False, True])
def test_a_driver_that_ends_lowers_the_arm_as_softly_as_the_safe_state(moving):
    """Joint 2 carries the arm; without current it would fall at 5 rad/s."""
    model, fastest = Arm.load('laas4'), []
    home = np.array([0.0, 0.3, 0.0, -0.3])
    for end in (lambda driver: driver.release(), lambda driver: driver.emergency_stop()):
        loop = ClosedLoop(model, seed=1, home=home)
        loop.run(0.3)
        if moving:
            loop.controller.follow(point_to_point(home, home + [2.0, 0.0, 0.0, 0.0],
                                                  loop.controller.limits, model, 0.8))
            loop.run(0.4)
        before = abs(loop.plant.state.joint_velocity[0])
        end(loop.driver)
        speeds = []
        loop.run(0.6, lambda _, loop=loop, speeds=speeds: speeds.append(
            np.abs(loop.plant.state.joint_velocity)))
        assert loop.driver.mode == Mode.DAMPING
        assert not loop.driver.released
        assert (before > 2.0) == moving
        assert max(speeds, key=lambda dq: dq[0])[0] < before + 0.2
        fastest.append(max(dq[1] for dq in speeds))
    assert fastest[0] == fastest[1] < 1.3      # [rad/s]


def test_an_arm_that_floats_after_a_collision_stays_slow_when_its_load_falls_off():
    """It was told of 0.3 kg, which now lift it; without a limit it reaches 3.6 rad/s."""
    model = Arm.load('laas4')
    controller = MotionController(model, replace(ControllerConfig.of(model), floor=None))
    controller.reaction.choose('float')
    loop = ClosedLoop(model, controller=controller, monitor=CollisionMonitor(model), seed=1)
    loop.run(0.3)
    loop.plant.set_payload(0.3)
    controller.set_payload(0.3)
    loop.monitor.set_model(model.with_payload(0.3))
    loop.run(0.5)
    loop.plant.apply_force('link4', (0.0, 0.0, 0.0), (0.0, 10.0, 0.0), 0.05)
    loop.run(0.03)
    assert controller.phase is Phase.REACTING
    loop.plant.set_payload(0.0)
    speeds = []
    loop.run(1.5, lambda _: speeds.append(np.abs(loop.plant.state.joint_velocity).max()))
    assert 0.5 < max(speeds) < 2.0             # it moves, and is braked beyond 1 rad/s
    assert loop.driver.mode == Mode.ENABLED
