"""The rules that boards and effort interface share: faults in order, ages in time, the end."""

import math

import numpy as np
import pytest

from armsense.boards.arbiter import Arbiter, ArbiterSettings
from armsense.boards.command_guard import CommandGuard, guard_limits, GuardLimits
from armsense.boards.joint_map import Reading
from armsense.boards.mode import Fault, FaultKind, Mode
from armsense.drive import ElasticJoint
from armsense.model import Arm
from armsense.share import arm_names
from armsense.trajectory import Limits
from armsense.types import Command

MS = 1_000_000     # [ns]
RESET = Fault(FaultKind.BOARD_RESET, 'board 0')
SILENT = Fault(FaultKind.COMMAND_TIMEOUT)


class SmallArm(Arbiter):
    """One joint on a back end that forgets its zero when it is told to."""

    def __init__(self, **settings):
        self.now = 0
        self.lost = []
        self.hindered = None
        super().__init__(GuardLimits(
            lower=[-3.0], upper=[3.0], velocity=[2.0], torque=[10.0], damping=[5.0],
            names=['joint1']), ArbiterSettings(**settings), clock=lambda: self.now)
        self.mode = Mode.DISABLED
        self.cycle()

    def _hindrance(self):
        return self.hindered

    def _lost_zeros(self):
        return list(self.lost)

    def _forget_lost_zeros(self):
        self.lost.clear()

    def cycle(self, after=MS, position=0.0, velocity=0.0):
        self.now += after
        self._next_cycle()
        self.reading = Reading([position], [velocity], [0.0], [0.0], [], [], math.nan)
        self._check_state(self.reading)
        self._check_rest()
        self._check_command()
        return self.decide()

    def answer(self, seq=None, collision_seq=0, torque=1.0):
        n = [0.0]
        self.give(Command(n, n, [torque], n, n, n), self.seq if seq is None else seq,
                  collision_seq)

    def start(self):
        assert self.enable().success
        self.answer()
        return self


BRAKES = [5.0]     # kd of the safe state


def test_it_follows_brakes_or_does_nothing():
    arm = SmallArm()
    arm.answer()
    assert arm.cycle() is None                       # disabled
    arm.enable()
    assert arm.cycle().kd == BRAKES                  # nobody has spoken since
    arm.answer()
    assert arm.cycle().torque == [1.0]
    arm.emergency_stop()
    arm.answer()
    assert arm.cycle().kd == BRAKES
    assert arm.cycle().torque == [0.0]


# -- faults in order ---------------------------------------------------------------------------


def test_a_stop_is_recorded_while_another_fault_is_latched():
    arm = SmallArm().start()
    arm.fail(SILENT)
    arm.emergency_stop()
    assert [fault.name for fault in arm.faults] == ['emergency_stop', 'command_timeout']
    first = arm.clear_fault()
    assert not first.success
    assert first.message.startswith('emergency_stop cleared; there is still command_timeout')
    assert not arm.enable().success
    assert arm.fault == SILENT
    assert arm.clear_fault().success
    assert arm.mode == Mode.DISABLED


def test_nothing_replaces_a_stop():
    arm = SmallArm().start()
    arm.emergency_stop()
    arm.fail(SILENT)
    arm.lost.append(RESET)
    assert [fault.name for fault in arm.faults] == ['emergency_stop', 'board_reset']
    assert 'emergency_stop cleared; there is still board_reset' in arm.clear_fault().message
    assert 'home pose' in arm.clear_fault().message  # the lost zero is told of on its own ...
    assert arm.mode == Mode.DAMPING
    assert arm.clear_fault().success                 # ... and then confirmed
    assert arm.faults == ()


def test_a_refused_enable_is_no_word_about_the_home_pose():
    arm = SmallArm()
    arm.lost.append(RESET)
    arm.fail(SILENT)
    for _ in range(3):
        assert 'home pose' in arm.enable().message
    assert not arm.clear_fault().success
    assert not arm.enable().success
    assert arm.clear_fault().success


def test_another_board_that_loses_its_zero_is_told_of_too():
    arm = SmallArm()
    arm.fail(SILENT)
    arm.lost.append(RESET)
    arm.clear_fault()
    arm.lost.append(RESET._replace(detail='board 1'))
    assert not arm.clear_fault().success
    assert arm.clear_fault().success


def test_a_stop_is_not_cleared_while_something_hinders():
    arm = SmallArm().start()
    arm.emergency_stop()
    arm.hindered = Fault(FaultKind.BOARD_LOST)
    assert 'does not answer' in arm.clear_fault().message
    assert arm.fault.name == 'emergency_stop'
    arm.hindered = None
    assert arm.clear_fault().success


def test_who_is_too_fast_stays_in_the_safe_state():
    arm = SmallArm().start()
    arm.emergency_stop()
    arm.cycle(velocity=5.0)
    assert 'faster than its limit' in arm.clear_fault().message
    arm.cycle()
    assert arm.clear_fault().success


# -- a wish to enable --------------------------------------------------------------------------


@pytest.mark.parametrize('act', [
    lambda arm: arm.emergency_stop(), lambda arm: arm.disable(), lambda arm: arm.fail(SILENT),
    lambda arm: arm.release(), lambda arm: arm.enable()])
def test_whatever_anybody_asks_for_ends_the_wish_to_enable(act):
    arm = SmallArm()
    arm.wants_enable = True
    arm.cycle()
    assert arm.wants_enable
    act(arm)
    assert not arm.wants_enable


# -- ages in time ------------------------------------------------------------------------------


@pytest.mark.parametrize('period', [1, 5, 10, 30])     # [ms] between two cycles
def test_a_silent_controller_is_noticed_in_time_however_long_cycles_take(period):
    arm = SmallArm().start()
    begin = arm.now
    while arm.mode == Mode.ENABLED:
        arm.cycle(period * MS)
    assert arm.fault.kind is FaultKind.COMMAND_TIMEOUT
    assert 20 * MS < arm.now - begin <= (20 + period) * MS


@pytest.mark.parametrize('period', [1, 5, 10, 15])
def test_an_unanswered_collision_is_noticed_in_time(period):
    arm = SmallArm().start()
    arm.report_collision(arm.seq)
    begin = arm.now
    while arm.mode == Mode.ENABLED:
        arm.cycle(period * MS)
        arm.answer()
    assert arm.fault.kind is FaultKind.COLLISION_UNANSWERED
    assert 10 * MS < arm.now - begin <= (10 + period) * MS


def test_an_answered_collision_is_none():
    arm = SmallArm().start()
    arm.report_collision(arm.seq)
    hit = arm.seq
    for _ in range(30):
        arm.cycle()
        arm.answer(collision_seq=hit)
    assert arm.mode == Mode.ENABLED


@pytest.mark.parametrize(('age', 'mode'), [(0, Mode.ENABLED), (20, Mode.ENABLED),
                                           (21, Mode.DAMPING)])     # [ms]
def test_a_command_that_answers_an_old_state_is_stale(age, mode):
    arm = SmallArm()
    for _ in range(50):
        arm.cycle()
    arm.enable()
    arm.answer(arm.seq - age)
    arm.cycle()
    assert arm.mode == mode
    assert arm.fault is None or arm.fault.kind is FaultKind.COMMAND_STALE


def test_an_overtaken_command_is_none():
    arm = SmallArm().start()
    for _ in range(50):
        arm.cycle()
        arm.answer()
    arm.answer(arm.seq - 30, torque=7.0)
    assert arm.cycle().torque == [1.0]


def test_a_state_that_is_long_gone_is_too_old():
    arm = SmallArm()
    for _ in range(2000):
        arm.cycle()
    arm.enable()
    arm.answer(3)
    arm.cycle()
    assert arm.fault.kind is FaultKind.COMMAND_STALE


def test_what_was_said_to_a_driver_before_this_one_does_not_count():
    arm = SmallArm().start()
    arm.answer(3_600_000, collision_seq=3_600_000, torque=7.0)
    assert arm.cycle().torque == [1.0]
    arm.report_collision(3_600_000)                  # late; to be answered, and later ones too
    arm.answer(collision_seq=3_600_000)
    arm.cycle()
    arm.report_collision(arm.seq)
    for _ in range(12):
        arm.cycle()
        arm.answer()
    assert arm.fault.kind is FaultKind.COLLISION_UNANSWERED


@pytest.mark.parametrize('period', [1, 4, 30])
def test_a_knock_is_no_overspeed_but_a_lasting_one_is(period):
    arm = SmallArm(period=0.001 * period).start()
    arm.cycle(period * MS, velocity=4.0)             # the fault begins at 3
    arm.answer()
    arm.cycle(period * MS)
    arm.answer()
    assert arm.mode == Mode.ENABLED
    begin = None
    while arm.mode == Mode.ENABLED:
        arm.cycle(period * MS, velocity=4.0)
        arm.answer()
        begin = begin or arm.now
    assert arm.fault.kind is FaultKind.OVERSPEED
    assert 20 * MS <= arm.now - begin < (20 + period) * MS


# -- the end -----------------------------------------------------------------------------------


def test_the_end_is_braking_until_the_arm_rests():
    arm = SmallArm().start()
    arm.cycle()
    arm.release()
    position = 0.0
    for _ in range(300):
        position += 0.001                            # it sinks at 1 rad/s
        assert arm.cycle(position=position).kd == BRAKES
        assert arm.mode == Mode.DAMPING
        assert not arm.enable().success
        assert 'brakes the arm' in arm.clear_fault().message
    for _ in range(102):
        decision = arm.cycle(position=position)
    assert decision is None
    assert arm.released
    assert arm.mode == Mode.DISABLED
    assert 'activate' in arm.enable().message
    arm.take_up()
    assert arm.enable().success


def test_the_end_is_bounded():
    arm = SmallArm(brake_time=1.0).start()
    arm.release()
    begin = arm.now
    while not arm.released and arm.now - begin < 5000 * MS:
        arm.cycle(position=2.0 * math.sin(1e-8 * arm.now))
    assert arm.now - begin == 1000 * MS


def test_a_fault_and_a_stop_outlive_the_end():
    arm = SmallArm().start()
    arm.emergency_stop()
    arm.release()
    for _ in range(150):
        arm.cycle()
    assert arm.released
    assert arm.mode == Mode.DAMPING
    assert arm.cycle() is None
    arm.take_up()
    assert not arm.enable().success
    assert arm.clear_fault().success


def test_who_drives_nothing_ends_at_once():
    arm = SmallArm()
    arm.release()
    assert arm.released


# -- one source of limits ----------------------------------------------------------------------


@pytest.mark.parametrize('name', arm_names())
def test_the_arbiter_allows_what_controllers_do_and_no_more(name):
    model = Arm.load(name)
    guard, limits = guard_limits(model), Limits.of(model)
    springs = ElasticJoint.from_config(model.config)
    rng = np.random.default_rng(1)
    soft = springs.stiffness > 0.0
    corners = []
    for q, dq, load in rng.choice([-1.0, 1.0], (400, 3, model.n)):      # corners of the limits
        q = np.where(q < 0.0, limits.lower, limits.upper)
        twist = np.where(soft, load * limits.torque / np.where(soft, springs.stiffness, 1.0), 0.0)
        path = np.eye(model.n) + springs.coupling
        corners.append((path @ q + twist, path @ (dq * limits.velocity)))
    theta, dtheta = np.array(corners).transpose(1, 0, 2)
    np.testing.assert_allclose(guard.lower, theta.min(axis=0))
    np.testing.assert_allclose(guard.upper, theta.max(axis=0))
    np.testing.assert_allclose(guard.velocity, dtheta.max(axis=0))
    assert guard.torque == limits.torque.tolist()


def test_a_link_beyond_its_limit_is_a_fault_although_its_motor_is_not():
    model = Arm.load('biorob')
    guard, upper = CommandGuard(guard_limits(model)), model.position_limits[1]
    there = [0.0, 1.2, float(upper[2]) + 0.16, -0.6]
    assert guard.watch([0.0] * 4, [0.0] * 4, [0.0, 1.2, -1.4, -0.6]) is None
    assert guard.watch([0.0] * 4, [0.0] * 4, there).kind is FaultKind.POSITION_LIMIT


def test_a_collision_of_the_time_before_disable_is_over_at_the_next_enable():
    arm = SmallArm().start()
    arm.report_collision(arm.seq)
    arm.disable()
    arm.cycle(after=50 * MS)
    arm.start()
    arm.cycle()
    assert arm.mode == Mode.ENABLED, arm.fault
