"""The driver against emulated boards in the same process: every failure a user meets.

The plant behind the boards is four independent inertias with viscous friction, integrated here:
enough to show that motion stops, and nothing of the code under test.
"""

from dataclasses import replace
import math

import numpy as np
import pytest

from armsense.boards import faults
from armsense.boards.arm_driver import ArmDriver, DriverSettings, Mode
from armsense.boards.arm_limits import guard_limits, motor_zero
from armsense.boards.can_link import CanLink
from armsense.boards.emulator import Fault
from armsense.boards.emulator.arm_rack import ArmRack
from armsense.boards.faults import FaultKind
from armsense.boards.joint_map import JointCommand
from armsense.boards.protocol import BoardError, by_name
from armsense.boards.transport.link import SpiLink
from armsense.boards.transport.loopback import LoopbackTransport
from armsense.model import ArmConfig, ArmModel
from armsense.share import arm_names

DT = 0.001
INERTIA = np.array([0.2, 0.2, 0.05, 0.05])     # [kg m^2]
FRICTION = np.array([0.3, 0.3, 0.1, 0.1])      # [Nm s/rad]


class Arm:
    """Boards, plant and driver of laas4, stepped together."""

    def __init__(self, faults=(), config=None, protocol=None, clock=None, **settings):
        self.model = ArmModel.load('laas4')
        self.config = config or self.model.config
        if protocol:
            self.config = replace(self.config, boards=replace(self.config.boards,
                                                              protocol=protocol))
        limits = guard_limits(self.model)
        if protocol == 'laas_inhouse':
            limits = replace(limits, integrates=True)
        self.rack = ArmRack(self.config, seed=3, alignment=0.05, faults=faults,
                            limits=self.model.position_limits)
        links = [SpiLink(by_name(self.config.boards.protocol), LoopbackTransport(
            self.rack.rack.port(b))) for b in range(2)]
        self.driver = ArmDriver(self.config, limits, links, DriverSettings(
            period=DT, board_timeout_ms=20, **settings), clock=clock)
        self.q = np.array(self.config.home)
        self.dq = np.zeros(4)
        self.controller = self.hold
        self.time = 0.0
        self.silent = False              # no controller
        self.stalled = False             # the host does nothing at all

    def hold(self, reading):
        n = [0.0] * 4
        return JointCommand(list(self.config.home), n, n, [20.0] * 4, [2.0] * 4, n)

    def swing(self, reading):
        """A slow common swing: about 1 rad/s."""
        n = [0.0] * 4
        phase = 2.0 * self.time
        reference = [h + 0.4 * math.sin(phase) for h in self.config.home]
        speed = [0.8 * math.cos(phase)] * 4
        return JointCommand(reference, speed, n, [60.0] * 4, [4.0] * 4, n)

    def step(self):
        torque = np.array(self.rack.step(DT, self.q, self.dq))
        if not self.stalled:
            reading = self.driver.cycle()
            if reading is not None and not self.silent:
                self.driver.give(self.controller(reading), self.driver.seq)
        self.dq += DT * (torque - FRICTION * self.dq) / INERTIA
        self.q += DT * self.dq
        self.time += DT

    def run(self, seconds):
        for _ in range(round(seconds / DT)):
            self.step()

    def start(self):
        self.run(0.02)
        assert self.driver.mode == Mode.DISABLED
        assert self.driver.enable().success
        self.run(0.15)
        assert self.driver.mode == Mode.ENABLED, self.driver.fault
        return self


def in_motion(faults, **options):
    """An arm that swings; the faults begin at 0.6 s."""
    arm = Arm([replace(f, start=0.6) for f in faults], **options).start()
    arm.controller = arm.swing
    arm.run(0.4)
    assert np.abs(arm.dq).min() > 0.2
    return arm


def test_start_up_follows_commands_and_reads_true_positions():
    arm = Arm().start()
    arm.controller = arm.swing
    arm.run(1.0)
    resolution = 2 * math.pi / 4096 / 27
    assert np.abs(np.array(arm.driver.reading.position) - arm.q).max() < 2e-3 + resolution
    assert np.abs(arm.q - arm.config.home).max() > 0.1
    assert arm.rack.rack.unsafe_frames == 0


def test_the_torque_on_the_arm_is_the_torque_that_was_asked_for():
    arm = Arm().start()
    wanted = [0.5, -1.0, 0.25, -0.5]
    n = [0.0] * 4
    arm.controller = lambda reading: JointCommand(n, n, wanted, n, n, n)
    arm.run(0.02)
    # Mean torque of the plant over one more step, against the request.
    torque = arm.rack.step(DT, arm.q, arm.dq)
    assert np.allclose(torque, wanted, atol=0.01)
    # And what is reported is that torque again, up to current noise (0.02 A).
    arm.run(0.005)
    per_ampere = np.array([j.torque_per_ampere for j in arm.config.joints.values()])
    assert np.all(np.abs(np.array(arm.driver.reading.torque) - wanted) < 5 * 0.02 * per_ampere)


def test_boards_with_a_clock_of_their_own_turn_on_between_two_steps():
    arm = in_motion([])
    then, q, dq = 0.4 * DT, arm.q.copy(), arm.dq.copy()
    arm.rack.step(DT, q, dq)
    plain = np.array(arm.driver.cycle().position)
    arm.rack.rack.lead = lambda: then
    ahead = np.array(arm.driver.cycle().position)
    np.testing.assert_allclose(ahead - plain, then * dq, atol=1e-6)


def test_a_state_has_the_time_at_which_its_boards_answered():
    """On the driver's monotonic clock, which the wires move on here."""
    now = [0]
    arm = Arm(clock=lambda: now[0])
    waits = {0: 5_000_000, 1: 1_000_000}    # [ns]; the wire of the first board is slow today

    class Slow:
        def __init__(self, number, link):
            self._number, self._link = number, link

        def __getattr__(self, name):
            return getattr(self._link, name)

        def exchange(self, command):
            now[0] += waits[self._number]
            return self._link.exchange(command)
    arm.driver.links = [Slow(k, link) for k, link in enumerate(arm.driver.links)]
    arm.driver.cycle()
    assert arm.driver.time_ns == (5_000_000 + 6_000_000) // 2   # not the middle of the exchange


def test_without_a_clock_time_passes_with_the_cycles():
    arm = Arm()
    arm.run(0.25)
    assert arm.driver.time_ns == 250_000_000


def test_a_controller_has_spoken_only_since_the_last_start():
    arm = Arm()
    arm.silent = True
    arm.run(0.02)
    assert not arm.driver.commanded
    arm.silent = False
    arm.run(0.001)
    assert arm.driver.commanded
    arm.driver.enable()
    assert not arm.driver.commanded


def test_commands_are_ignored_until_enabled():
    arm = Arm()
    arm.controller = arm.swing
    arm.run(0.5)
    assert arm.driver.mode == Mode.DISABLED
    assert np.abs(arm.q - arm.config.home).max() < 1e-9


def test_without_a_controller_the_enabled_arm_only_damps():
    arm = Arm()
    arm.silent = True
    arm.start()
    arm.dq = np.array([1.0, -1.0, 1.0, -1.0])
    arm.run(0.5)
    assert arm.driver.mode == Mode.ENABLED
    assert np.abs(arm.dq).max() < 0.05


SINGLE = ['command_bit_flip', 'reply_bit_flip', 'crc_word_swap', 'reply_zeros', 'reply_ones',
          'command_short', 'reply_short', 'command_shifted', 'reply_shifted', 'drop',
          'stale_reply']


@pytest.mark.parametrize('name', SINGLE)
def test_one_bad_frame_is_counted_and_survived(name):
    # A reply can be stale only from the second one on.
    arm = in_motion([Fault(name, parameters={'count': 2 if name == 'stale_reply' else 1})])
    arm.run(0.4)
    assert arm.driver.mode == Mode.ENABLED, arm.driver.fault
    summary = arm.driver.links[0].counters.summary()
    bad = (summary.crc_errors + summary.drops + summary.malformed + summary.stale_replies
           + summary.rejected_commands)
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
    arm = in_motion([Fault(name, board=board)])
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
    arm = in_motion([Fault(name)])
    arm.run(0.5)
    assert arm.driver.mode == Mode.ENABLED, arm.driver.fault


def test_wrapping_command_index_is_no_fault():
    arm = Arm()
    for link in arm.driver.links:
        link._index = 65400
    arm.start()
    arm.run(0.5)
    assert arm.driver.mode == Mode.ENABLED, arm.driver.fault


def test_a_reset_board_is_not_started_again():
    arm = in_motion([Fault('board_reset', board=1)])
    arm.run(0.5)
    assert not arm.rack.rack.boards[1].system_enabled
    assert 'home pose' in arm.driver.fault.explanation


@pytest.mark.parametrize('name', [n for n in arm_names() if ArmConfig.load(n).boards])
def test_boards_that_turn_the_motors_to_align_them_start_every_arm(name):
    """Motors that follow the field of their board; on an output without a motor nothing does."""
    model = ArmModel.load(name)
    config = model.config
    rack = ArmRack(config, seed=3, alignment=3.0)
    sent = {}

    class Wire(LoopbackTransport):
        def __init__(self, board):
            super().__init__(rack.rack.port(board))
            self._number = board

        def transfer(self, frame):
            sent[self._number] = int.from_bytes(frame[:2], 'big')
            return super().transfer(frame)
    zero = motor_zero(model)
    driver = ArmDriver(config, guard_limits(model), [
        SpiLink(by_name(config.boards.protocol), Wire(k)) for k in range(len(rack.rack.boards))],
        zero=zero)
    joints = config.joints.values()
    reflected = np.array([j.gear_ratio**2 * j.efficiency for j in joints])
    motors = [rack.rack.boards[j.slot.board].motors[j.slot.motor - 1].physics for j in joints]
    pull = np.array([m.torque_constant * m.alignment_current for m in motors])      # [Nm]
    inertia = np.maximum(2e-5, 12 * pull / 240.0**2)      # [kg m^2] follows at 240 rad/s or less
    q, dq = np.array(zero), np.zeros(config.n)
    for period in range(3050):
        torque = np.array(rack.step(DT, q.tolist(), dq.tolist()))
        driver.cycle()
        if period == 10:
            assert driver.enable().success
        dq += DT * (torque / reflected - 0.03 * pull * dq) / inertia
        q += DT * dq
    assert driver.mode == Mode.ENABLED, driver.fault
    slots = {(j.slot.board, j.slot.motor) for j in joints}
    for board, mode in sent.items():
        assert [bool(mode & bit) for bit in (0x4000, 0x2000)] == [
            (board, motor) in slots for motor in (1, 2)]


def test_alignment_failure_ends_the_start():
    arm = Arm([Fault('alignment_failure', board=1, parameters={'motor': 1})], start_timeout=0.5)
    arm.run(0.02)
    arm.driver.enable()
    arm.run(0.6)
    assert arm.driver.mode == Mode.DAMPING
    assert arm.driver.fault.name in ('encoder', 'alignment')


def test_large_loss_of_counts_is_a_jump_and_a_small_one_is_tolerated():
    arm = in_motion([Fault('lost_counts', parameters={'counts': 8})])
    arm.run(0.3)
    assert arm.driver.mode == Mode.ENABLED
    arm = in_motion([Fault('lost_counts', parameters={'counts': 2048})])
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


def test_swapped_boards_are_recognised_by_their_motors():
    arm = Arm([Fault('swapped_boards')])
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


BAD = {
    'command_not_finite': dict(torque=[0.0, math.nan, 0.0, 0.0]),
    'command_step': dict(position=[2.5, 0.6, 0.0, -0.6]),
    'command_unsupported': dict(ki=[1.0] * 4),
}


@pytest.mark.parametrize(('expected', 'change'), BAD.items())
def test_bad_commands_lead_to_damping(expected, change):
    arm = Arm().start()
    arm.controller = lambda reading: arm.hold(reading)._replace(**change)
    arm.run(0.01)
    assert arm.driver.fault.name == expected
    assert 'joint' in arm.driver.fault.explanation
    assert arm.rack.rack.unsafe_frames == 0


def test_silence_of_the_controller_leads_to_damping():
    arm = in_motion([])
    arm.silent = True
    arm.run(0.019)
    assert arm.driver.mode == Mode.ENABLED
    arm.run(0.01)
    assert arm.driver.fault.name == 'command_timeout'


def test_commands_that_answer_old_states_lead_to_damping():
    arm = in_motion([])
    give = arm.driver.give
    arm.driver.give = lambda command, seq: give(command, max(1, seq - 30))
    arm.run(0.05)
    assert arm.driver.fault.name in ('command_stale', 'command_timeout')


def test_torque_is_limited_and_nothing_pushes_beyond_a_joint_limit():
    arm = Arm().start()
    n = [0.0] * 4
    arm.controller = lambda reading: JointCommand(n, n, [100.0] * 4, n, n, n)
    arm.run(0.3)
    assert arm.rack.rack.unsafe_frames == 0
    assert arm.driver.mode == Mode.DAMPING          # overspeed or limit, but no harm
    arm.run(2.0)
    assert np.abs(arm.dq).max() < 0.1


def test_a_knock_is_no_overspeed_but_a_runaway_is():
    arm = Arm().start()
    arm.dq[3] += 9.0                                # beyond 1.5 times the limit, for a moment
    arm.run(0.3)
    assert arm.driver.mode == Mode.ENABLED, arm.driver.fault
    n = [0.0] * 4
    arm.controller = lambda reading: JointCommand(n, n, [8.0, 0.0, 0.0, 0.0], n, n, n)
    arm.run(0.6)
    assert arm.driver.fault.name in ('overspeed', 'position_limit')


def test_an_unanswered_collision_leads_to_damping_and_an_answered_one_does_not():
    arm = in_motion([])
    give = arm.driver.give
    arm.driver.report_collision(arm.driver.seq)
    seen = arm.driver.seq
    arm.driver.give = lambda command, seq: give(command, seq, collision_seq=seen)
    arm.run(0.05)
    assert arm.driver.mode == Mode.ENABLED
    arm.driver.give = give
    arm.driver.report_collision(arm.driver.seq)
    arm.run(0.009)
    assert arm.driver.mode == Mode.ENABLED
    arm.run(0.005)
    assert arm.driver.fault.name == 'collision_unanswered'


def test_emergency_stop_is_latched_and_cleared_in_two_steps():
    arm = in_motion([])
    arm.driver.emergency_stop()
    arm.run(0.5)
    assert np.abs(arm.dq).max() < 0.05
    assert not arm.driver.enable().success
    assert arm.driver.clear_fault().success
    assert arm.driver.mode == Mode.DISABLED         # never enabled by itself
    arm.run(0.1)
    assert arm.driver.mode == Mode.DISABLED
    arm.controller = lambda reading: arm.hold(reading)._replace(position=list(reading.position))
    assert arm.driver.enable().success
    arm.run(0.1)
    assert arm.driver.mode == Mode.ENABLED


def test_who_leaves_in_the_safe_state_leaves_motors_without_current():
    arm = in_motion([])
    arm.driver.emergency_stop()
    arm.run(0.1)
    arm.driver.release()
    arm.run(0.5)                                    # brakes until it rests
    assert arm.driver.released
    arm.stalled = True
    arm.run(0.05)                                   # nobody speaks; the watchdog is at 20 ms
    assert [board.error for board in arm.rack.rack.boards] == [BoardError.NONE] * 2
    assert not any(board.system_enabled for board in arm.rack.rack.boards)
    assert arm.driver.fault.name == 'emergency_stop'
    arm.stalled = False
    arm.driver.take_up()                            # activated again
    arm.run(0.02)
    assert arm.driver.clear_fault().success
    arm.controller = lambda reading: arm.hold(reading)._replace(position=list(reading.position))
    arm.driver.enable()
    arm.run(0.1)
    assert arm.driver.mode == Mode.ENABLED, arm.driver.fault


def test_a_latched_board_error_needs_a_power_cycle():
    arm = in_motion([Fault('driver_fault')])
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


def power_cycle(arm):
    for board in (0, 1):
        arm.rack.rack.power_cycle(board)
    arm.run(0.02)


def lose_power(arm):
    """Supply and cable are gone for a while."""
    transports = [link.transport for link in arm.driver.links]
    for link in arm.driver.links:
        link.transport = LoopbackTransport(None)
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
        assert 'power-cycle' not in kind.remedy or 'home pose' in kind.remedy, kind.name


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
    arm.rack.rack.inject(Fault('command_bit_flip', 1, arm.rack.rack.time, 0.1))
    arm.run(0.003)
    assert arm.driver.clear_fault().success
    arm.run(0.3)
    assert arm.driver.mode == Mode.DISCONNECTED
    assert 'power-cycle' in arm.driver.enable().message
    assert arm.driver.fault.name == 'watchdog'


def test_a_board_that_stays_silent_is_told_of_once():
    """Not once a period: people and logs shall see when it began."""
    arm = Arm()
    arm.run(0.02)
    assert arm.driver.mode == Mode.DISABLED
    arm.rack.rack.inject(Fault('board_lost', 0, arm.rack.rack.time, 0.1))
    told = []
    for _ in range(50):
        arm.step()
        told.append(arm.driver.fault)
    assert arm.driver.mode == Mode.DISCONNECTED
    assert len(set(told) - {None}) == 1


def test_start_with_another_pose_reads_the_offset_of_the_arm_file():
    config = ArmConfig.load('laas4')
    joints = {name: replace(j, offset=0.25) for name, j in config.joints.items()}
    arm = Arm(config=replace(config, joints=joints))
    arm.q = np.full(4, 0.25)
    arm.silent = True
    arm.start()
    assert np.allclose(arm.driver.reading.position, 0.25, atol=1e-3)


def searching(faults=(), start=None, **settings):
    """An arm that has begun to search its indices, at home or at `start` [rad]."""
    config = ArmConfig.load('laas4')
    start = config.home if start is None else start
    joints = {name: replace(joint, offset=angle)
              for (name, joint), angle in zip(config.joints.items(), start, strict=True)}
    arm = Arm(faults, config=replace(config, joints=joints, boards=replace(
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


HIDDEN = Fault('index_missing', board=1, parameters={'motor': 0})     # of joint 3


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
    low, high = ArmModel.load('laas4').position_limits
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


@pytest.mark.parametrize('protocol', ['udriver_spi', 'uomodri', 'laas_inhouse'])
def test_every_spi_protocol_holds_the_arm(protocol):
    arm = Arm(protocol=protocol).start()
    arm.controller = arm.swing
    arm.run(0.5)
    assert arm.driver.mode == Mode.ENABLED
    assert math.isnan(arm.driver.reading.power) == (protocol != 'laas_inhouse')


def test_random_faults_never_make_an_unsafe_frame():
    """Seeded: faults of all kinds in random order; the user clears and enables again."""
    from armsense.boards.emulator import FAULTS
    rng = np.random.default_rng(11)
    kinds = [k for k, v in FAULTS.items() if 'spi' in v.buses and k != 'swapped_boards']
    faults = [Fault(str(rng.choice(kinds)), board=int(rng.integers(2)), start=float(t),
                    duration=float(rng.uniform(0.01, 0.3)))
              for t in np.arange(0.5, 20.0, 0.5)]
    arm = Arm(faults)
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


class LoopbackBus:
    """A python-can bus straight into an emulated CAN board."""

    def __init__(self, rack, number):
        import can
        self._rack, self._number, self._can = rack, number, can
        self._queue = []
        self.state = can.BusState.ACTIVE     # python-can says so of SocketCAN, whatever happens
        self.deaf = False                    # what the board tells is lost
        self.currents = None                 # newest reference [A]

    def send(self, message, timeout=None):
        from armsense.boards.emulator import CanFrame
        from armsense.boards.protocol import udriver_can as wire
        if message.arbitration_id == wire.ID_CURRENT_REFERENCE:
            self.currents = wire.decode_currents(bytes(message.data))
        if self._rack.routed(self._number).bus_off:
            raise self._can.CanOperationError('bus off')
        self._rack.routed(self._number).receive(
            CanFrame(message.arbitration_id, bytes(message.data)))

    def recv(self, timeout=None):
        self._queue += self._rack.routed(self._number).drain()
        if self.deaf:
            self._queue.clear()
        if not self._queue:
            return None
        frame = self._queue.pop(0)
        return self._can.Message(arbitration_id=frame.arbitration_id, data=frame.data,
                                 is_extended_id=False, is_error_frame=frame.is_error)


def can_arm(faults=()):
    arm = Arm()
    arm.rack = ArmRack(arm.config, 'can', seed=3, alignment=0.05, faults=faults)
    arm.buses = [LoopbackBus(arm.rack.rack, b) for b in range(2)]
    links = [CanLink(bus, DT, timeout=0.0) for bus in arm.buses]
    arm.driver = ArmDriver(arm.config, guard_limits(arm.model), links,
                           DriverSettings(period=DT, board_timeout_ms=20))
    return arm


def test_on_can_the_host_closes_the_loops():
    arm = can_arm()
    arm.run(0.1)
    assert arm.driver.enable().success
    arm.run(0.3)
    assert arm.driver.mode == Mode.ENABLED, arm.driver.fault
    arm.controller = arm.swing
    arm.run(1.0)
    reference = arm.swing(None).position
    assert np.abs(arm.q - reference).max() < 0.05
    assert np.abs(arm.q - arm.config.home).max() > 0.1


def test_can_bus_off_is_named():
    arm = can_arm([Fault('can_bus_off', start=0.6)])
    arm.run(0.1)
    arm.driver.enable()
    arm.run(0.4)
    assert arm.driver.mode == Mode.ENABLED, arm.driver.fault
    arm.run(0.4)
    assert arm.driver.mode == Mode.DAMPING
    assert arm.driver.fault.name == 'bus_off'


def swinging_can_arm():
    arm = can_arm()
    arm.run(0.1)
    arm.driver.enable()
    arm.run(0.3)
    arm.controller = arm.swing
    arm.run(0.3)
    assert arm.driver.mode == Mode.ENABLED, arm.driver.fault
    return arm


def test_on_can_nothing_drives_an_arm_that_is_not_measured():
    arm = swinging_can_arm()
    for bus in arm.buses:
        bus.deaf = True
    arm.run(2 * DT)
    assert [bus.currents for bus in arm.buses] == [(0.0, 0.0)] * 2
    speed = np.abs(arm.dq)
    for _ in range(100):
        arm.run(5 * DT)
        assert np.all(np.abs(arm.dq) <= speed)
        speed = np.abs(arm.dq)
    assert [bus.currents for bus in arm.buses] == [(0.0, 0.0)] * 2
    assert arm.driver.fault.name == 'board_lost'


def test_on_can_enabling_recovers_from_a_watchdog():
    arm = swinging_can_arm()
    arm.stalled = True
    arm.run(0.06)
    arm.stalled = False
    arm.run(1.1)                                    # the boards tell it once a second
    assert arm.driver.fault.name == 'watchdog'
    under_way = arm.rack.rack.unsafe_frames         # sent before the host could read it
    assert not arm.driver.enable().success
    assert arm.driver.clear_fault().success
    arm.run(0.1)
    assert arm.driver.mode == Mode.DISABLED         # never enabled by itself
    arm.controller = lambda reading: arm.hold(reading)._replace(position=list(reading.position))
    assert arm.driver.enable().success
    arm.run(1.1)
    assert arm.driver.mode == Mode.ENABLED, arm.driver.fault
    assert all(board.system_enabled for board in arm.rack.rack.boards)
    assert arm.rack.rack.unsafe_frames == under_way


def test_on_can_an_error_that_enabling_does_not_clear_stays():
    arm = can_arm([Fault('driver_fault', start=0.6)])
    arm.run(0.1)
    arm.driver.enable()
    arm.run(1.6)
    assert arm.driver.fault.name == 'driver_chip'
    assert 'power-cycle' in arm.driver.clear_fault().message


@pytest.mark.parametrize('disabled', range(4))
@pytest.mark.parametrize('starting', range(4))
def test_a_fault_just_after_enabling_is_no_board_that_reset(disabled, starting):
    """A board's reply still tells of the time when the driver itself had switched it off."""
    arm = Arm().start()
    driver = arm.driver
    driver.fail(faults.Fault(FaultKind.TWO_CONTROLLERS))
    arm.run(0.2)
    assert driver.clear_fault().success
    arm.run(disabled * DT)
    assert driver.enable().success
    arm.run(starting * DT)
    driver.fail(faults.Fault(FaultKind.TWO_CONTROLLERS))
    arm.run(0.05)
    assert driver.mode == Mode.DAMPING
    assert driver.fault.kind is FaultKind.TWO_CONTROLLERS
