import math

import pytest

from armsense.boards.command_guard import guard_limits
from armsense.boards.effort_bridge import EffortBridge, StampClock
from armsense.boards.mode import Mode
from armsense.errors import ArmsenseError
from armsense.model import Arm
from armsense.types import Command

NAMES = ['joint3', 'joint1', 'joint4', 'joint2']      # another order than the arm's
Q = [0.3, 0.1, 0.4, 0.2]
ZERO = [0.0] * 4


@pytest.fixture
def bridge():
    model = Arm.load('laas4')
    return EffortBridge(model, guard_limits(model))


def read(bridge, q=Q, dq=ZERO, effort=ZERO):
    return bridge.read(NAMES, q, dq, effort)


def command(**changes):
    values = dict(position=[0.1, 0.2, 0.3, 0.4], velocity=ZERO, torque=ZERO, kp=[10.0] * 4,
                  kd=[1.0] * 4, ki=ZERO)
    return Command(**{**values, **changes})


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
    refused = bridge.clear_fault()
    assert not refused.success                        # it is still silent
    assert 'no joint states arrive' in refused.message
    read(bridge)
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


class Robot:
    """Tells its state every `period` [s]; the clock is the test's."""

    def __init__(self, period):
        model = Arm.load('laas4')
        self.now, self.period = 10**9, round(period * 1e9)
        self.bridge = EffortBridge(model, guard_limits(model), clock=lambda: self.now)
        for _ in range(20):
            self.tell()
        assert self.bridge.enable().success

    def tell(self, dq=ZERO):
        self.now += self.period
        return self.bridge.efforts(read(self.bridge, dq=dq))

    def answer(self, age=0, collision_seq=0):
        """The newest state but `age`."""
        self.bridge.give(command(), self.bridge.seq - age, collision_seq)


RATES = [30.0, 125.0, 500.0, 1000.0]     # [Hz]


@pytest.mark.parametrize('rate', RATES)
def test_a_controller_that_keeps_up_moves_a_robot_of_any_rate(rate):
    robot = Robot(1.0 / rate)
    for _ in range(100):
        robot.tell()
        robot.now += robot.period // 2
        robot.answer()
        robot.now -= robot.period // 2
    assert robot.bridge.mode == Mode.ENABLED, robot.bridge.fault


@pytest.mark.parametrize('rate', RATES)
def test_commands_that_answer_old_states_are_not_followed(rate):
    robot = Robot(1.0 / rate)
    age = max(math.ceil(0.0201 * rate), 4)        # older than 20 ms and than three states
    for _ in range(30):
        robot.tell()
    robot.answer(age)
    robot.tell()
    assert robot.bridge.fault.name == 'command_stale'


@pytest.mark.parametrize('rate', RATES)
def test_a_silent_controller_is_noticed_after_20_ms_or_three_states(rate):
    robot = Robot(1.0 / rate)
    robot.answer()
    begin = robot.now
    while robot.bridge.mode == Mode.ENABLED:
        robot.tell()
    assert robot.bridge.fault.name == 'command_timeout'
    assert robot.now - begin <= max(20_000_000, 3 * robot.period) + robot.period


def test_one_sample_of_overspeed_is_no_fault_and_a_lasting_one_is():
    robot = Robot(0.001)
    for fast, mode in ((1, Mode.ENABLED), (25, Mode.DAMPING)):
        for _ in range(fast):
            robot.tell([20.0] * 4)
            robot.answer()
        robot.tell()
        assert robot.bridge.mode == mode
    assert robot.bridge.fault.name == 'overspeed'


def test_an_enabled_robot_without_a_controller_is_braked():
    robot = Robot(0.001)
    damping = robot.bridge.guard.limits.damping
    assert robot.tell([0.0, 0.5, 0.0, 0.0]) == pytest.approx([-0.5 * damping[0], 0.0, 0.0, 0.0])


def test_a_fault_is_not_cleared_while_the_robot_is_too_fast():
    robot = Robot(0.001)
    robot.bridge.emergency_stop()
    robot.tell([20.0] * 4)
    assert 'faster than its limit' in robot.bridge.clear_fault().message
    robot.tell()
    assert robot.bridge.clear_fault().success


def test_the_end_brakes_the_robot_and_silence_of_the_robot_ends_it():
    robot = Robot(0.001)
    robot.answer()
    robot.bridge.release()
    assert max(robot.tell([0.5] * 4)) < 0.0
    for _ in range(101):
        robot.tell()
    assert robot.bridge.released
    assert robot.tell([0.5] * 4) == ZERO
    robot = Robot(0.001)
    robot.bridge.release()
    robot.bridge.silence()
    assert robot.bridge.released


@pytest.mark.parametrize('leap', [-3600.0, -0.005, 0.005, 0.2, 86400.0])     # [s]
def test_stamps_of_a_clock_that_is_set_do_not_matter(leap):
    clock, now, stamp = StampClock(), 5 * 10**9, 1_700_000_000 * 10**9
    times = []
    for k in range(200):
        now += 1_000_000
        stamp += 1_000_000 + (round(leap * 1e9) if k == 100 else 0)
        times.append(clock.time(stamp, now))
    assert {b - a for a, b in zip(times, times[1:], strict=False)} == {1_000_000}


def test_even_stamps_count_more_than_uneven_arrivals():
    clock, now = StampClock(), 5 * 10**9
    times = []
    for k in range(100):
        now += 400_000 if k % 2 else 1_600_000
        times.append(clock.time(k * 1_000_000, now))
    assert {b - a for a, b in zip(times[10:], times[11:], strict=False)} == {1_000_000}


@pytest.mark.parametrize('pace', [0.3, 4.0])
def test_the_time_of_a_simulator_is_its_own(pace):
    clock, now = StampClock(), 5 * 10**9
    times = []
    for k in range(100):
        now += round(1_000_000 / pace)
        times.append(clock.time(k * 1_000_000, now))
    assert {b - a for a, b in zip(times[10:], times[11:], strict=False)} == {1_000_000}


def test_without_stamps_the_arrival_counts():
    clock = StampClock()
    assert [clock.time(0, now) for now in (7, 9, 12)] == [7, 9, 12]


def test_what_gazebo_tells_is_not_what_the_motors_give():
    """Its efforts are those behind friction, or nothing: what was sent counts."""
    model = Arm.load('laas4')
    bridge = EffortBridge(model, guard_limits(model), trust_efforts=False)
    home, zero = list(model.config.home), [0.0] * 4
    nonsense = [math.nan, 0.0, 9.0, -9.0]
    assert bridge.read(bridge.names, home, zero, nonsense).torque == zero
    assert bridge.enable().success
    first = bridge.read(bridge.names, home, [0.5, 0.0, 0.0, 0.0], nonsense)
    sent = bridge.efforts(first)
    assert any(sent)                                   # it is damped until a command comes
    assert bridge.read(bridge.names, home, zero, nonsense).torque == sent
