"""The driver and boards that fail: frames, clocks, resets, silence, swapped cables."""

from driver_arm import in_motion, SmallArm
import numpy as np
import pytest

from armsense.boards.arm_driver import ArmDriver
from armsense.boards.command_guard import guard_limits
from armsense.boards.emulator.faults import Injection
from armsense.boards.mode import Mode

SINGLE = ['command_bit_flip', 'reply_bit_flip', 'crc_word_swap', 'reply_zeros', 'reply_ones',
          'command_short', 'reply_short', 'command_shifted', 'reply_shifted', 'drop',
          'stale_reply']


@pytest.mark.parametrize('name', SINGLE)
def test_one_bad_frame_is_counted_and_survived(name):
    # A reply can be stale only from the second one on.
    arm = in_motion([Injection(name, parameters={'count': 2 if name == 'stale_reply' else 1})])
    arm.run(0.4)
    assert arm.driver.mode == Mode.ENABLED, arm.driver.fault
    counters = arm.driver.links[0].counters
    bad = counters.lost + counters.stale_replies + counters.rejected_commands
    assert bad >= 1
    assert arm.rack.rack.unsafe_frames == 0


LASTING = {
    'command_bit_flip': 'board_rejects', 'reply_bit_flip': 'board_corrupt',
    'crc_word_swap': 'board_corrupt', 'reply_zeros': 'board_corrupt',
    'reply_ones': 'board_corrupt', 'command_short': 'board_rejects',
    'reply_short': 'board_corrupt', 'command_shifted': 'board_rejects',
    'reply_shifted': 'board_corrupt', 'drop_burst': 'board_lost', 'board_lost': 'board_lost',
    'stale_reply': 'board_stale', 'stale_timestamp': 'board_stale', 'stale_index': 'board_rejects',
    'watchdog_trip': 'watchdog', 'board_reset': 'board_reset', 'encoder_fault': 'encoder',
    'driver_fault': 'driver_chip', 'rollover': 'jump',
}


@pytest.mark.parametrize(('name', 'expected'), LASTING.items())
@pytest.mark.parametrize('board', [0, 1])
def test_a_lasting_failure_is_named_and_stops_the_arm(name, expected, board):
    arm = in_motion([Injection(name, board=board)])
    arm.run(0.2)
    assert arm.driver.mode == Mode.DAMPING
    assert arm.driver.fault.name == expected
    assert f'board {board}' in arm.driver.fault.explanation
    # The other board's joints are braked by the driver, this one's by friction at the latest.
    healthy = slice(2, 4) if board == 0 else slice(0, 2)
    arm.run(0.4)
    assert np.abs(arm.dq[healthy]).max() < 0.1
    arm.run(1.0)
    assert np.abs(arm.dq).max() < 0.25
    # Latched: the controller still sends commands, and nothing is commanded.
    assert arm.driver.mode == Mode.DAMPING
    assert arm.rack.rack.unsafe_frames == 0
    assert not arm.driver.enable().success


@pytest.mark.parametrize('name', ['timestamp_near_wrap', 'clock_overflow'])
def test_wrapping_clocks_are_no_fault(name):
    arm = in_motion([Injection(name)])
    arm.run(0.5)
    assert arm.driver.mode == Mode.ENABLED, arm.driver.fault


def test_wrapping_command_index_is_no_fault():
    arm = SmallArm()
    for link in arm.driver.links:
        link._index = 65400
    arm.start()
    arm.run(0.5)
    assert arm.driver.mode == Mode.ENABLED, arm.driver.fault


def test_a_reset_board_is_not_started_again():
    arm = in_motion([Injection('board_reset', board=1)])
    arm.run(0.5)
    assert not arm.rack.rack.boards[1].system_enabled
    assert 'home pose' in arm.driver.fault.explanation


def test_alignment_failure_ends_the_start():
    arm = SmallArm([Injection('alignment_failure', board=1, parameters={'motor': 1})],
                   start_timeout=0.5)
    arm.run(0.02)
    arm.driver.enable()
    arm.run(0.6)
    assert arm.driver.mode == Mode.DAMPING
    assert arm.driver.fault.name in ('encoder', 'alignment')


def test_swapped_boards_are_recognised_by_their_motors():
    arm = SmallArm([Injection('swapped_boards')])
    arm.run(0.1)
    assert not arm.driver.enable().success
    assert arm.driver.mode == Mode.DISCONNECTED
    assert arm.driver.fault.name == 'board_swapped'


@pytest.mark.parametrize(('stall', 'survives'), [(0.005, True), (0.018, True), (0.06, False)])
def test_host_stalls(stall, survives):
    """The boards' watchdog is at 20 ms here."""
    arm = in_motion([])
    arm.stalled = True
    arm.run(stall)
    arm.stalled = False
    arm.run(0.1)
    if survives:
        assert arm.driver.mode == Mode.ENABLED, arm.driver.fault
    else:
        assert arm.driver.mode == Mode.DAMPING
        assert arm.driver.fault.name == 'watchdog'
        assert 'power-cycle' in arm.driver.clear_fault().message
        assert arm.rack.rack.unsafe_frames == 0


def test_a_dead_host_leaves_a_stopped_arm():
    arm = in_motion([])
    arm.stalled = True
    arm.run(0.021)
    assert all(not board.system_enabled for board in arm.rack.rack.boards)
    arm.run(2.0)
    assert np.abs(arm.dq).max() < 0.1


def test_a_new_driver_tells_what_stopped_the_boards():
    arm = in_motion([])
    arm.stalled = True                              # the old one was killed
    arm.run(0.1)
    arm.stalled = False
    arm.driver = ArmDriver(arm.config, guard_limits(arm.model), arm.driver.links,
                           arm.driver.settings)
    arm.run(0.02)
    answer = arm.driver.enable()
    assert not answer.success
    assert 'mode DISCONNECTED: a board stopped because commands came too late' in answer.message


def test_what_keeps_an_arm_disconnected_is_told_as_it_is_now():
    """Commands that a board could not read; by the time they can be, its watchdog has tripped."""
    arm = in_motion([])
    arm.driver.emergency_stop()
    arm.rack.rack.inject(Injection('command_bit_flip', 1, arm.rack.rack.time, 0.1))
    arm.run(0.003)
    assert arm.driver.clear_fault().success
    arm.run(0.3)
    assert arm.driver.mode == Mode.DISCONNECTED
    assert 'power-cycle' in arm.driver.enable().message
    assert arm.driver.fault.name == 'watchdog'


def test_a_board_that_stays_silent_is_told_of_once():
    """Not once a period: people and logs shall see when it began."""
    arm = SmallArm()
    arm.run(0.02)
    assert arm.driver.mode == Mode.DISABLED
    arm.rack.rack.inject(Injection('board_lost', 0, arm.rack.rack.time, 0.1))
    told = []
    for _ in range(50):
        arm.step()
        told.append(arm.driver.fault)
    assert arm.driver.mode == Mode.DISCONNECTED
    assert len(set(told) - {None}) == 1


def test_random_faults_never_make_an_unsafe_frame():
    """Seeded: faults of all kinds in random order; the user clears and enables again."""
    from armsense.boards.emulator.faults import FAULTS
    rng = np.random.default_rng(11)
    kinds = [k for k, v in FAULTS.items() if 'spi' in v.buses and k != 'swapped_boards']
    faults = [Injection(str(rng.choice(kinds)), board=int(rng.integers(2)), start=float(t),
                        duration=float(rng.uniform(0.01, 0.3)))
              for t in np.arange(0.5, 20.0, 0.5)]
    arm = SmallArm(faults)
    arm.controller = lambda reading: arm.hold(reading)._replace(
        position=[p + 0.01 for p in reading.position])
    seen = set()
    for _ in range(200):
        arm.run(0.1)
        if arm.driver.mode == Mode.DAMPING:
            seen.add(arm.driver.fault.name)
            if not arm.driver.clear_fault().success:
                for board in (0, 1):
                    arm.rack.rack.power_cycle(board)
        elif arm.driver.mode == Mode.DISABLED:
            arm.driver.enable()
    assert len(seen) >= 6
    assert arm.rack.rack.unsafe_frames == 0, [b.unsafe.last for b in arm.rack.rack.boards]


@pytest.mark.parametrize(('seconds', 'wanted'), [(0.05, True), (0.7, False)])
def test_a_board_that_was_lost_ends_the_wish_to_enable_a_stall_of_the_host_does_not(
        seconds, wanted):
    arm = SmallArm([Injection('board_lost', start=0.05, duration=seconds)])
    arm.run(0.02)
    arm.driver.wants_enable = True
    arm.run(0.04)
    assert arm.driver.mode == Mode.DISCONNECTED
    arm.run(seconds + 0.05)
    assert arm.driver.mode == Mode.DISABLED
    assert arm.driver.wants_enable == wanted
