import math

import pytest

from armsense_core.errors import ArmsenseError
from armsense_core.model import ArmModel
from armsense_driver.arm_driver import Mode
from armsense_driver.arm_limits import guard_limits
from armsense_driver.effort_bridge import EffortBridge
from armsense_driver.joint_map import JointCommand

NAMES = ['joint3', 'joint1', 'joint4', 'joint2']      # another order than the arm's
Q = [0.3, 0.1, 0.4, 0.2]
ZERO = [0.0] * 4


@pytest.fixture
def bridge():
    model = ArmModel.load('laas4')
    return EffortBridge(model.config, guard_limits(model))


def read(bridge, q=Q, dq=ZERO, effort=ZERO):
    return bridge.read(NAMES, q, dq, effort)


def command(**changes):
    values = dict(position=[0.1, 0.2, 0.3, 0.4], velocity=ZERO, torque=ZERO, kp=[10.0] * 4,
                  kd=[1.0] * 4, ki=ZERO)
    return JointCommand(**{**values, **changes})


def enabled(bridge):
    read(bridge)
    assert bridge.enable().success
    return bridge


def test_joints_are_sorted_by_name(bridge):
    reading = read(bridge, effort=[3.0, 1.0, 4.0, 2.0])
    assert reading.position == [0.1, 0.2, 0.3, 0.4]
    assert reading.torque == [1.0, 2.0, 3.0, 4.0]
    assert bridge.mode == Mode.DISABLED


def test_nothing_is_sent_before_it_is_enabled(bridge):
    bridge.give(command(torque=[5.0] * 4), 1)
    assert bridge.efforts(read(bridge)) == ZERO


def test_the_board_law_is_closed_here(bridge):
    enabled(bridge)
    bridge.give(command(position=[0.2, 0.2, 0.3, 0.3], torque=[0.0, 1.0, 0.0, 0.0]), 1)
    reading = read(bridge, dq=[0.5, 0.0, 0.0, 0.0])
    # kp * 0.1, feed-forward, kd * -0.5, kp * -0.1, by hand
    assert bridge.efforts(reading) == pytest.approx([1.0, 1.0, -0.5, -1.0])


def test_efforts_stay_within_the_torque_limits(bridge):
    enabled(bridge)
    bridge.give(command(torque=[1e3, -1e3, 1e3, -1e3]), 1)
    limits = bridge.guard.limits.torque
    efforts = bridge.efforts(read(bridge))
    assert efforts == pytest.approx([limits[0], -limits[1], limits[2], -limits[3]])


@pytest.mark.parametrize(('change', 'fault'), [
    (dict(torque=[math.nan, 0, 0, 0]), 'command_not_finite'),
    (dict(position=[2.0, 0.2, 0.3, 0.4]), 'command_step'),
    (dict(ki=[1.0] * 4), 'command_unsupported'),
])
def test_bad_commands_lead_to_damping(bridge, change, fault):
    enabled(bridge)
    bridge.give(command(**change), 1)
    reading = read(bridge, dq=[0.0, 0.5, 0.0, 0.0])
    assert bridge.mode == Mode.DAMPING
    assert bridge.fault.name == fault
    damping = bridge.guard.limits.damping
    assert bridge.efforts(reading) == pytest.approx([-0.5 * damping[0], 0.0, 0.0, 0.0])


def test_a_robot_that_falls_silent_is_noticed_and_latched(bridge):
    enabled(bridge)
    bridge.silence()
    assert bridge.fault.name == 'joint_states'
    assert 'without gravity compensation sinks' in bridge.fault.explanation
    assert not bridge.enable().success
    assert bridge.clear_fault().success
    assert bridge.enable().success


def test_a_silent_controller_is_noticed(bridge):
    enabled(bridge)
    bridge.give(command(), 1)
    for _ in range(25):
        read(bridge)
    assert bridge.fault.name == 'command_timeout'


def test_an_unanswered_collision_leads_to_damping(bridge):
    enabled(bridge)
    bridge.report_collision(5)
    for _ in range(12):
        bridge.give(command(), bridge.seq)
        read(bridge)
    assert bridge.fault.name == 'collision_unanswered'


def test_missing_joints_and_efforts_are_named(bridge):
    with pytest.raises(ArmsenseError, match='lacks joint2'):
        bridge.read(['joint1', 'joint3', 'joint4'], [0] * 3, [0] * 3, [0] * 3)
    with pytest.raises(ArmsenseError, match='effort of every joint'):
        bridge.read(NAMES, Q, ZERO, [])


def test_a_state_that_is_no_number_stops_the_arm(bridge):
    enabled(bridge)
    reading = read(bridge, q=[math.nan, 0.1, 0.4, 0.2])
    assert bridge.mode == Mode.DAMPING
    assert bridge.fault.name == 'joint_states'
    assert 'joint3 is at nan rad' in bridge.fault.explanation
    assert all(math.isfinite(e) for e in bridge.efforts(reading))


def test_who_moves_a_robot_needs_its_velocities_and_who_watches_it_does_not(bridge):
    assert all(math.isnan(v) for v in bridge.watch(NAMES, Q, [], ZERO).velocity)
    with pytest.raises(ArmsenseError, match='no velocities.*brake.*passive') as lack:
        bridge.read(NAMES, Q, [], ZERO)
    assert bridge.mode == Mode.DISCONNECTED
    assert bridge.fault is None
    bridge.silence(str(lack.value))
    assert 'no velocities' in bridge.enable().message
    read(bridge)                                      # with velocities
    assert bridge.enable().success
