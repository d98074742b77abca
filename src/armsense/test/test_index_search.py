"""The search for the encoder index at the start."""

from dataclasses import replace
import math

from driver_arm import SmallArm
import numpy as np

from armsense.boards.emulator.faults import Injection
from armsense.boards.mode import Mode
from armsense.model import Arm, ArmConfig


def searching(faults=(), start=None, **settings):
    """An arm that has begun to search its indices, at home or at `start` [rad]."""
    config = ArmConfig.load('laas4')
    start = config.home if start is None else start
    joints = {name: replace(joint, offset=angle)
              for (name, joint), angle in zip(config.joints.items(), start, strict=True)}
    arm = SmallArm(faults, config=replace(config, joints=joints, boards=replace(
        config.boards, index_search=True)), index_search=True, **settings)
    arm.q = np.array(start)
    arm.silent = True
    arm.run(0.02)
    assert arm.driver.enable().success
    return arm


def test_index_search_finds_the_pulse_and_moves_the_zero_once():
    arm = searching()
    arm.run(3.0)
    assert arm.driver.mode == Mode.ENABLED, arm.driver.fault
    # Motor angles now count from the index pulse, which is at angle 0 of a shaft turn.
    for joint, position, q in zip(arm.config.joints.values(), arm.driver.reading.position, arm.q,
                                  strict=True):
        from_index = (position - joint.offset) * joint.gear_ratio
        shaft = q * joint.gear_ratio
        assert abs((from_index - shaft + math.pi) % math.tau - math.pi) < 0.01
    arm.silent = False
    arm.controller = lambda reading: arm.hold(reading)._replace(position=list(reading.position))
    arm.run(0.2)
    assert arm.driver.mode == Mode.ENABLED, arm.driver.fault


def follow_search(arm):
    """Until it ends: joint angles [rad] and which indices were met, each (steps, 4)."""
    angles, met = [], []
    encoders = [motor.encoder for board in arm.rack.rack.boards for motor in board.motors]
    while arm.driver.mode == Mode.STARTING:
        arm.step()
        angles.append(arm.q.copy())
        met.append([encoder.index_detected for encoder in encoders])
    return np.array(angles), np.array(met)


HIDDEN = Injection('index_missing', board=1, parameters={'motor': 0})     # of joint 3


def test_an_index_that_never_comes_is_looked_for_within_a_turn_either_way():
    arm = searching([HIDDEN])
    angles, met = follow_search(arm)
    assert arm.driver.fault.name == 'index_not_found'
    assert 'joint3' in arm.driver.fault.explanation
    turns = (angles - angles[0]) * [j.gear_ratio for j in arm.config.joints.values()] / math.tau
    assert np.ptp(turns, axis=0).max() < 2.3
    assert turns[:, 2].max() > 1.0
    assert turns[:, 2].min() < -1.0
    for joint in (0, 1, 3):                         # stands still where its index was met
        found = turns[met[:, joint], joint]
        assert np.ptp(found) < 0.2
    arm.run(0.2)
    assert np.abs(arm.dq).max() < 0.05


def test_the_search_turns_round_before_a_limit():
    low, high = Arm.load('laas4').position_limits
    arm = searching([HIDDEN], start=[0.0, 0.6, high[2] - 0.05, -0.6])
    angles, _ = follow_search(arm)
    assert arm.driver.fault.name == 'index_not_found'
    assert np.all(angles < high)
    assert np.all(angles > low)


def test_a_search_that_takes_too_long_ends():
    arm = searching([HIDDEN], start_timeout=1.0)
    arm.run(1.1)
    assert arm.driver.fault.name == 'index_not_found'
    assert 'joint3' in arm.driver.fault.explanation
