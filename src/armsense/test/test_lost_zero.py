"""Encoders that lose their zero: nobody drives an arm whose positions are wrong."""

from driver_arm import DT, in_motion, power_cycle, SmallArm
import numpy as np
import pytest

from armsense.boards import mode as modes
from armsense.boards.arm_driver import ArmDriver, DriverSettings
from armsense.boards.emulator.board import LoopbackTransport
from armsense.boards.emulator.faults import Injection
from armsense.boards.mode import FaultKind, Mode


def test_large_loss_of_counts_is_a_jump_and_a_small_one_is_tolerated():
    arm = in_motion([Injection('lost_counts', parameters={'counts': 8})])
    arm.run(0.3)
    assert arm.driver.mode == Mode.ENABLED
    arm = in_motion([Injection('lost_counts', parameters={'counts': 2048})])
    arm.run(0.3)
    assert arm.driver.fault.name == 'jump'


def test_a_host_that_reads_late_sees_no_jump():
    arm = in_motion([])
    arm.dq[:] = 4.0                  # a hard knock; 0.07 rad until the host reads again
    arm.stalled = True
    arm.run(0.018)
    arm.stalled = False
    arm.run(0.002)
    assert arm.driver.fault is None


def test_boards_that_answer_between_two_late_steps_show_no_jump():
    """An arm at 8 rad/s; the simulator's step is 4 ms late, its boards turn on, clock and all."""
    arm = in_motion([])
    arm.dq[:] = 8.0
    arm.rack.step(DT, arm.q, arm.dq)
    arm.driver.cycle()
    arm.rack.rack.lead = lambda: 0.004
    arm.driver.cycle()
    assert arm.driver.fault is None


def disabled_arm(faults):
    """An arm that rested with its motors off for a while, by a clock of the host."""
    arm = SmallArm(clock=lambda: round(1e9 * arm.time))
    arm.start()
    arm.driver.disable()
    arm.run(0.6)
    assert arm.driver.mode == Mode.DISABLED
    for fault in faults:
        arm.rack.rack.inject(fault)
    return arm


@pytest.mark.parametrize('board', [0, 1])
def test_a_counter_that_wraps_while_the_motors_are_off_loses_the_zero(board):
    arm = disabled_arm([Injection('rollover', board=board)])
    arm.run(0.1)
    assert arm.driver.mode == Mode.DAMPING
    assert arm.driver.fault.name == 'jump'
    assert not arm.driver.enable().success


def test_positions_are_said_to_be_wrong_until_the_motors_are_ready_again():
    arm = disabled_arm([Injection('rollover')])
    assert not arm.driver.lost_zero
    arm.run(0.1)
    arm.driver.emergency_stop()                  # which is shown, and does not hide it
    assert arm.driver.fault.name == 'emergency_stop'
    assert 'jumped' in arm.driver.lost_zero
    power_cycle(arm)
    arm.run(0.1)
    while not arm.driver.clear_fault().success:
        arm.run(0.01)
    assert arm.driver.lost_zero
    arm.driver.enable()
    arm.run(1.0)
    assert arm.driver.mode == Mode.ENABLED
    assert not arm.driver.lost_zero


def test_an_arm_without_current_may_be_carried_by_hand_while_the_host_sleeps():
    arm = disabled_arm([])
    arm.dq[:] = 4.0
    arm.run(0.05)
    arm.dq[:] = 3.0
    arm.stalled = True
    arm.run(0.3)
    arm.stalled = False
    arm.run(0.1)
    assert arm.driver.mode == Mode.DISABLED


def test_a_latched_board_error_needs_a_power_cycle():
    arm = in_motion([Injection('driver_fault')])
    arm.run(0.1)
    answer = arm.driver.clear_fault()
    assert not answer.success
    assert 'power-cycle' in answer.message
    arm.rack.rack.power_cycle(0)
    arm.run(0.02)
    answer = arm.driver.clear_fault()               # the encoders of board 0 count anew
    assert not answer.success
    assert 'home pose' in answer.message
    assert arm.driver.clear_fault().success


def lose_power(arm):
    """Supply and cable are gone for a while."""
    transports = [link.transport for link in arm.driver.links]
    for link in arm.driver.links:
        link.transport = LoopbackTransport(lambda frame: b'')
    arm.run(0.1)
    assert arm.driver.fault.name == 'board_lost'
    for link, transport in zip(arm.driver.links, transports, strict=True):
        link.transport = transport
    power_cycle(arm)


def trip_and_power_cycle(arm):
    arm.stalled = True
    arm.run(0.03)
    arm.stalled = False
    arm.run(0.02)
    assert arm.driver.fault.name == 'watchdog'
    power_cycle(arm)


def stop_and_power_cycle(arm):
    arm.driver.emergency_stop()
    arm.run(0.1)
    power_cycle(arm)


def disable_and_power_cycle(arm):
    arm.driver.disable()
    arm.run(0.1)
    assert arm.driver.mode == Mode.DISABLED
    power_cycle(arm)


@pytest.mark.parametrize('lose', [lose_power, trip_and_power_cycle, stop_and_power_cycle,
                                  disable_and_power_cycle])
def test_boards_that_lost_their_zero_start_only_after_somebody_has_brought_the_arm_home(lose):
    arm = in_motion([])
    lose(arm)
    arm.run(0.3)
    assert np.abs(arm.q - arm.config.home).max() > 0.1
    refused = arm.driver.enable()                   # says why, and counts as no clear_fault
    assert not refused.success
    if lose is stop_and_power_cycle:                # the stop has its own
        assert arm.driver.fault.name == 'emergency_stop'
        answer = arm.driver.clear_fault()
        assert not answer.success
        assert answer.message.startswith('emergency_stop cleared; there is still board_reset')
    else:
        assert 'home pose' in refused.message
    assert arm.driver.fault.name == 'board_reset'   # what the mode topic shows
    answer = arm.driver.clear_fault()
    assert not answer.success
    assert 'home pose' in answer.message
    assert not arm.driver.enable().success
    arm.q[:], arm.dq[:] = arm.config.home, 0.0
    assert arm.driver.clear_fault().success         # 'it is there'
    arm.controller = arm.hold
    assert arm.driver.enable().success
    arm.run(0.2)
    assert arm.driver.mode == Mode.ENABLED, arm.driver.fault
    assert np.abs(np.array(arm.driver.reading.position) - arm.q).max() < 3e-3


@pytest.mark.parametrize('protocol', ['udriver_spi', 'uomodri'])
def test_motors_that_were_only_switched_off_keep_their_zero(protocol):
    arm = in_motion([], protocol=protocol)
    arm.driver.disable()
    arm.run(0.2)
    arm.controller = lambda reading: arm.hold(reading)._replace(position=list(reading.position))
    assert arm.driver.enable().success
    arm.run(0.1)
    assert arm.driver.mode == Mode.ENABLED, arm.driver.fault
    assert np.abs(np.array(arm.driver.reading.position) - arm.q).max() < 3e-3


def test_every_power_cycle_is_asked_for_at_the_home_pose():
    for kind in FaultKind:
        assert 'power-cycle' not in kind.value or 'home pose' in kind.value, kind.name


@pytest.mark.parametrize('disabled', range(4))
@pytest.mark.parametrize('starting', range(4))
def test_a_fault_just_after_enabling_is_no_board_that_reset(disabled, starting):
    """A board's reply still tells of the time when the driver itself had switched it off."""
    arm = SmallArm().start()
    driver = arm.driver
    driver.fail(modes.Fault(FaultKind.TWO_CONTROLLERS))
    arm.run(0.2)
    assert driver.clear_fault().success
    arm.run(disabled * DT)
    assert driver.enable().success
    arm.run(starting * DT)
    driver.fail(modes.Fault(FaultKind.TWO_CONTROLLERS))
    arm.run(0.05)
    assert driver.mode == Mode.DAMPING
    assert driver.fault.kind is FaultKind.TWO_CONTROLLERS


def test_a_driver_that_finds_boards_with_a_wrong_zero_never_enables_them():
    """The driver that saw the counter wrap has ended; the next one knows nothing of it."""
    arm = disabled_arm([Injection('rollover')])
    arm.run(0.1)
    arm.driver = ArmDriver(arm.config, arm.driver.guard.limits, arm.driver.links,
                           DriverSettings(period=DT, board_timeout_ms=20))
    arm.run(0.1)
    assert arm.driver.enable().success
    modes = set()
    for _ in range(200):
        arm.step()
        modes.add(arm.driver.mode)
    assert Mode.ENABLED not in modes
    assert arm.driver.fault.name == 'position_limit'
    assert 'power-cycle its board at the home pose' in arm.driver.fault.explanation
