"""The driver against emulated boards in the same process: start, commands, limits, stop."""

from dataclasses import replace
import math

from driver_arm import DT, in_motion, SmallArm
import numpy as np
import pytest

from armsense.boards.arm_driver import ArmDriver
from armsense.boards.command_guard import guard_limits
from armsense.boards.emulator.board import LoopbackTransport
from armsense.boards.emulator.rack import ArmRack
from armsense.boards.joint_map import motor_zero
from armsense.boards.mode import Mode
from armsense.boards.protocol.messages import BoardError
from armsense.boards.protocol.spi import by_name
from armsense.boards.transport.link import SpiLink
from armsense.model import Arm, ArmConfig
from armsense.share import arm_names
from armsense.types import Command, Floats


def test_start_up_follows_commands_and_reads_true_positions():
    arm = SmallArm().start()
    arm.controller = arm.swing
    arm.run(1.0)
    resolution = 2 * math.pi / 4096 / 27
    assert np.abs(np.array(arm.driver.reading.position) - arm.q).max() < 2e-3 + resolution
    assert np.abs(arm.q - arm.config.home).max() > 0.1
    assert arm.rack.rack.unsafe_frames == 0


def test_the_torque_on_the_arm_is_the_torque_that_was_asked_for():
    arm = SmallArm().start()
    wanted = [0.5, -1.0, 0.25, -0.5]
    n = [0.0] * 4
    arm.controller = lambda reading: Command[Floats](n, n, wanted, n, n, n)
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
    arm = SmallArm(clock=lambda: now[0])
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
    arm = SmallArm()
    arm.run(0.25)
    assert arm.driver.time_ns == 250_000_000


def test_a_controller_has_spoken_only_since_the_last_start():
    arm = SmallArm()
    arm.silent = True
    arm.run(0.02)
    assert not arm.driver.commanded
    arm.silent = False
    arm.run(0.001)
    assert arm.driver.commanded
    arm.driver.enable()
    assert not arm.driver.commanded


def test_commands_are_ignored_until_enabled():
    arm = SmallArm()
    arm.controller = arm.swing
    arm.run(0.5)
    assert arm.driver.mode == Mode.DISABLED
    assert np.abs(arm.q - arm.config.home).max() < 1e-9


def test_without_a_controller_the_enabled_arm_only_damps():
    arm = SmallArm()
    arm.silent = True
    arm.start()
    arm.dq = np.array([1.0, -1.0, 1.0, -1.0])
    arm.run(0.5)
    assert arm.driver.mode == Mode.ENABLED
    assert np.abs(arm.dq).max() < 0.05


@pytest.mark.parametrize('name', [n for n in arm_names() if ArmConfig.load(n).boards])
def test_boards_that_turn_the_motors_to_align_them_start_every_arm(name):
    """Motors that follow the field of their board; on an output without a motor nothing does."""
    model = Arm.load(name)
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


BAD = {
    'command_not_finite': dict(torque=[0.0, math.nan, 0.0, 0.0]),
    'command_step': dict(position=[2.5, 0.6, 0.0, -0.6]),
    'command_unsupported': dict(ki=[1.0] * 4),
}


@pytest.mark.parametrize(('expected', 'change'), BAD.items())
def test_bad_commands_lead_to_damping(expected, change):
    arm = SmallArm().start()
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
    arm = SmallArm().start()
    n = [0.0] * 4
    arm.controller = lambda reading: Command[Floats](n, n, [100.0] * 4, n, n, n)
    arm.run(0.3)
    assert arm.rack.rack.unsafe_frames == 0
    assert arm.driver.mode == Mode.DAMPING          # overspeed or limit, but no harm
    arm.run(2.0)
    assert np.abs(arm.dq).max() < 0.1


def test_a_knock_is_no_overspeed_but_a_runaway_is():
    arm = SmallArm().start()
    arm.dq[3] += 9.0                                # beyond 1.5 times the limit, for a moment
    arm.run(0.3)
    assert arm.driver.mode == Mode.ENABLED, arm.driver.fault
    n = [0.0] * 4
    arm.controller = lambda reading: Command[Floats](n, n, [8.0, 0.0, 0.0, 0.0], n, n, n)
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


def test_start_with_another_pose_reads_the_offset_of_the_arm_file():
    config = ArmConfig.load('laas4')
    joints = {name: replace(j, offset=0.25) for name, j in config.joints.items()}
    arm = SmallArm(config=replace(config, joints=joints))
    arm.q = np.full(4, 0.25)
    arm.silent = True
    arm.start()
    assert np.allclose(arm.driver.reading.position, 0.25, atol=1e-3)


@pytest.mark.parametrize('protocol', ['udriver_spi', 'uomodri', 'laas_inhouse'])
def test_every_spi_protocol_holds_the_arm(protocol):
    arm = SmallArm(protocol=protocol).start()
    arm.controller = arm.swing
    arm.run(0.5)
    assert arm.driver.mode == Mode.ENABLED
    assert math.isnan(arm.driver.reading.power) == (protocol != 'laas_inhouse')
