"""State machine, watchdog and wire behaviour of the emulated SPI boards."""

from __future__ import annotations

from math import tau

import pytest

from armsense.boards.emulator.board import EmulatedBoard
from armsense.boards.emulator.core import profile_by_name
from armsense.boards.emulator.motor import MotorPhysics
from armsense.boards.protocol.messages import (
    BoardCommand,
    BoardError,
    MotorCommand,
)
from armsense.boards.protocol.spi import by_name
from armsense.errors import UnknownName

DT = 1e-3
QUIET = MotorPhysics(current_noise=0.0)
SPI_NAMES = ('udriver_spi', 'uomodri', 'laas_inhouse')
REST = (0.0, 0.0)


class Bench:
    """A board with its shafts held still, and a host that talks to it."""

    def __init__(self, name='uomodri', motors=(QUIET, QUIET), alignment=0.02, **options):
        changes = {'alignment_duration': alignment, 'alignment_motion': False}
        changes.update(options.pop('profile', {}))
        self.board = EmulatedBoard(profile_by_name(name, **changes), motors, **options)
        self.protocol = by_name(name)
        self.index = 0
        self.shaft = [0.0, 0.0]

    def talk(self, enable=True, timeout_ms=0, motors=None, **options):
        self.index += 1
        motor = MotorCommand(current_limit=5.0)
        command = BoardCommand(enable, motors or (motor, motor), timeout_ms, self.index, **options)
        frame = self.protocol.encode_command(command)
        return self.protocol.decode_state(self.board.receive(frame))

    def step(self, count=1, dt=DT):
        for _ in range(count):
            torque = self.board.step(dt, self.shaft, REST)
        return torque

    def cycle(self, count=1, **options):
        for _ in range(count):
            state = self.talk(**options)
            self.step()
        return state

    def ready(self, **options):
        self.cycle(30, **options)
        assert self.board.status().motor_ready == (True, True)
        return self


def drive(current, limit=5.0):
    return (MotorCommand(current=current, current_limit=limit),) * 2


@pytest.mark.parametrize('name', ['uomodri', 'laas_inhouse'])
def test_blank_answer_until_the_first_valid_command(name):
    bench = Bench(name)
    bench.step(5)
    frame = bench.board.receive(b'\x55' * bench.protocol.frame_length)
    assert not any(frame[:-4])
    assert bench.protocol.decode_state(frame).is_blank
    assert bench.talk(enable=False).is_blank           # prepared before this first command
    bench.step()
    assert not bench.talk(enable=False).is_blank


def test_udriver_reports_from_the_start():
    bench = Bench('udriver_spi')
    bench.step(5)
    assert bench.talk(enable=False).timestamp_ms == 5


@pytest.mark.parametrize('name', SPI_NAMES)
def test_start_up_sequence(name):
    bench = Bench(name, alignment=0.05)
    bench.cycle(3, enable=False)
    status = bench.talk(enable=False).status
    assert (status.system_enabled, status.motor_enabled, status.motor_ready) == (
        False, (False, False), (False, False))
    bench.cycle(10, motors=drive(2.0))
    status = bench.talk(motors=drive(2.0)).status
    assert status.system_enabled
    assert status.motor_enabled == (True, True)
    assert status.motor_ready == (False, False)
    assert bench.step() == (0.0, 0.0)                  # no torque from commands while aligning
    bench.cycle(60, motors=drive(2.0))
    status = bench.talk().status
    assert status.motor_ready == (True, True)
    assert status.error is BoardError.NONE


@pytest.mark.parametrize('name', SPI_NAMES)
def test_alignment_takes_three_seconds_by_default(name):
    assert profile_by_name(name).alignment_duration == 3.0
    bench = Bench(name, profile={'alignment_duration': 3.0})
    bench.talk()
    bench.step(2990)
    assert bench.talk().status.motor_ready == (False, False)
    bench.step(20)
    assert bench.talk().status.motor_ready == (True, True)


def test_one_motor_can_be_enabled_alone():
    bench = Bench()
    bench.cycle(40, motor_enable=(False, True), motors=drive(1.0))
    status = bench.talk(motor_enable=(False, True), motors=drive(1.0)).status
    assert status.motor_enabled == (False, True)
    assert status.motor_ready == (False, True)
    torque = bench.step(20)
    assert torque[0] == 0.0
    assert torque[1] == pytest.approx(0.022)


def test_disabling_stops_torque_and_keeps_alignment():
    bench = Bench().ready()
    bench.cycle(20, motors=drive(1.0))
    assert bench.step()[0] == pytest.approx(0.022)
    bench.cycle(20, enable=False, motors=drive(1.0))
    assert bench.step()[0] == pytest.approx(0.0, abs=1e-12)
    bench.cycle(2, motors=drive(1.0))
    assert bench.board.status().motor_ready == (True, True)


def test_alignment_zeroes_the_encoder_where_the_shaft_stands():
    bench = Bench()
    bench.shaft = [7.0, -3.0]
    bench.step()
    bench.shaft = [8.0, -3.0]
    bench.cycle(2, enable=False)
    assert bench.talk(enable=False).motors[0].position == pytest.approx(1.0, abs=2e-3)
    bench.ready()
    state = bench.talk()
    assert [motor.position for motor in state.motors] == [0.0, 0.0]


def test_reply_lags_by_one_command_and_reveals_rejections():
    bench = Bench()
    bench.cycle(3)
    assert bench.talk().last_index == bench.index - 1
    bench.board.receive(bytes(34))                     # damaged: not accepted
    accepted = bench.index
    bench.index += 1
    assert bench.talk().last_index == accepted
    assert bench.board.rejected_frames == 1


def test_reply_carries_the_state_before_the_command():
    bench = Bench().ready()
    bench.talk(enable=False)
    assert bench.board.status().system_enabled is False
    bench = Bench().ready()
    assert bench.talk(enable=False).status.system_enabled is True


class Rotor:
    """Free shaft with inertia and friction, for alignment with a real field."""

    def __init__(self, blocked=False):
        self.blocked = blocked
        self.position, self.velocity = 0.4, 0.0

    def integrate(self, torque, dt, parts=10):
        for _ in range(parts):
            friction = 3.8e-3 if self.velocity > 0 else -3.8e-3 if self.velocity < 0 else 0.0
            if not self.blocked:
                self.velocity += (torque - friction) / 4e-5 * dt / parts
                self.position += self.velocity * dt / parts


@pytest.mark.parametrize(('blocked', 'error'), [
    ((False, False), BoardError.NONE), ((True, False), BoardError.ENCODER_1),
    ((False, True), BoardError.ENCODER_2)])
def test_alignment_turns_the_rotor_and_checks_it(blocked, error):
    board = EmulatedBoard(profile_by_name('uomodri', alignment_duration=1.0), (QUIET, QUIET))
    protocol = by_name('uomodri')
    rotors = [Rotor(each) for each in blocked]
    travel = [0.0, 0.0]
    for k in range(1100):
        board.receive(protocol.encode_command(BoardCommand(True, index=k)))
        torque = board.step(DT, [r.position for r in rotors], [r.velocity for r in rotors])
        for number, rotor in enumerate(rotors):
            rotor.integrate(torque[number], DT)
            travel[number] = max(travel[number], abs(rotor.position - 0.4))
    assert board.error is error
    if error is BoardError.NONE:
        assert board.status().motor_ready == (True, True)
        assert max(travel) == pytest.approx(tau / 12, rel=0.6)   # an electrical turn and the catch
        assert abs(board.motors[0].encoder.position) < 0.01
    else:
        assert not board.status().motor_ready[blocked.index(True)]
        assert board.status().motor_enabled == (False, False)


@pytest.mark.parametrize('name', ['uomodri', 'laas_inhouse'])
def test_watchdog_always_armed(name):
    bench = Bench(name)
    bench.cycle(2, enable=False, timeout_ms=20)
    bench.talk(enable=False, timeout_ms=20)
    bench.step(19)
    assert bench.board.error is BoardError.NONE
    bench.step()
    assert bench.board.error is BoardError.RECEIVE_TIMEOUT


@pytest.mark.parametrize('name', ['uomodri', 'laas_inhouse'])
def test_watchdog_off_with_timeout_zero(name):
    bench = Bench(name).ready()
    bench.talk(motors=drive(1.0))
    bench.step(2000)
    assert bench.board.error is BoardError.NONE


def test_udriver_watchdog_needs_a_driven_motor():
    bench = Bench('udriver_spi').ready()
    bench.talk(timeout_ms=20)
    bench.step(100)
    assert bench.board.error is BoardError.NONE
    bench.cycle(2, motors=drive(1.0), timeout_ms=20)
    bench.talk(motors=drive(1.0), timeout_ms=20)
    bench.step(19)
    assert bench.board.error is BoardError.NONE
    bench.step()
    assert bench.board.error is BoardError.RECEIVE_TIMEOUT


@pytest.mark.parametrize('name', SPI_NAMES)
def test_damaged_frames_do_not_refresh_the_watchdog(name):
    bench = Bench(name).ready()
    bench.cycle(2, motors=drive(1.0), timeout_ms=20)
    for _ in range(25):
        bench.board.receive(bytes(bench.protocol.frame_length))
        bench.step()
    assert bench.board.error is BoardError.RECEIVE_TIMEOUT


@pytest.mark.parametrize('name', SPI_NAMES)
def test_trip_stops_the_motors_and_only_power_clears_it(name):
    bench = Bench(name).ready()
    bench.cycle(5, motors=drive(2.0), timeout_ms=20)
    bench.step(30)
    assert bench.step(10) == pytest.approx((0.0, 0.0), abs=1e-12)
    bench.cycle(5, enable=False)
    bench.cycle(5, motors=drive(2.0))
    state = bench.talk(motors=drive(2.0))
    assert state.status.error is BoardError.RECEIVE_TIMEOUT
    assert state.status.motor_enabled == (False, False)
    assert bench.step(10) == pytest.approx((0.0, 0.0), abs=1e-12)
    bench.board.power_cycle()
    bench.ready()
    assert bench.talk().status.error is BoardError.NONE


def test_overheating_is_a_driver_fault():
    hot = MotorPhysics(current_noise=0.0, continuous_current=2.0, thermal_time=0.1)
    bench = Bench(motors=(QUIET, hot)).ready()
    bench.cycle(500, motors=drive(4.0))
    assert bench.board.error is BoardError.OTHER


@pytest.mark.parametrize(('checked', 'error'), [
    (True, BoardError.ROLLOVER), (False, BoardError.NONE)])
def test_rollover(checked, error):
    bench = Bench().ready()
    for turns in (64, 127.9, 128.5):
        bench.shaft = [turns * tau, 0.0]
        state = bench.cycle(2, rollover_error=checked)
    state = bench.talk(rollover_error=checked)
    assert bench.board.error is error
    assert state.motors[0].position == pytest.approx((128.5 - 256) * tau, abs=2e-3)


def test_index_compensation_over_the_wire():
    phased = MotorPhysics(current_noise=0.0, index_phase=1.0)
    bench = Bench(motors=(phased, phased)).ready()
    assert bench.talk().status.index_detected == (False, False)
    bench.shaft = [1.5, 0.0]
    bench.cycle(2)
    state = bench.talk()
    assert state.status.index_detected == (True, False)
    assert state.motors[0].position == pytest.approx(1.5, abs=2e-3)
    bench.talk(index_compensation=(True, True))
    state = bench.talk(index_compensation=(True, True))
    assert state.motors[0].position == pytest.approx(0.5, abs=2e-3)
    assert state.motors[1].position == 0.0             # not found: nothing to compensate


def test_compensation_asked_for_before_the_first_step_holds():
    bench = Bench()
    bench.talk(enable=False, index_compensation=(True, True))
    bench.shaft = [-0.5, 0.0]
    bench.step()
    bench.shaft = [0.25, 0.0]
    bench.step()
    state = bench.talk(enable=False, index_compensation=(True, True))
    assert state.motors[0].position == pytest.approx(0.25, abs=2e-3)


def test_laas_inhouse_integrates_and_measures_power():
    bench = Bench('laas_inhouse').ready()
    motor = MotorCommand(position=1.0, ki=5.0, current_limit=5.0)
    bench.cycle(200, motors=(motor, motor))
    torque = bench.step()[0]
    assert torque == pytest.approx(0.022 * 5.0 * 0.2, rel=0.02)
    power = bench.talk(motors=(motor, motor)).motors[0].power
    assert power == pytest.approx(1.5 * 0.19 * 1.0**2, rel=0.1)


def test_uomodri_ignores_ki():
    bench = Bench('uomodri').ready()
    motor = MotorCommand(position=1.0, ki=5.0, current_limit=5.0)
    bench.cycle(200, motors=(motor, motor))
    assert bench.step()[0] == 0.0


def test_timestamp_counts_milliseconds_and_wraps():
    bench = Bench(start_timestamp_ms=65530)
    bench.talk(enable=False)
    stamps = [bench.cycle(enable=False).timestamp_ms for _ in range(10)][1:]
    assert stamps == [65531, 65532, 65533, 65534, 65535, 0, 1, 2, 3]


def test_clock_overflow_after_1073_seconds():
    bench = Bench()
    bench.talk(enable=False)
    bench.board.set_uptime(1073.740)
    stamps = [bench.cycle(enable=False).timestamp_ms for _ in range(5)][1:]
    assert stamps == [1073741 & 0xFFFF, 0, 1, 2]


def test_adc_is_the_plants():
    bench = Bench()
    bench.talk()
    bench.board.adc[:] = [1234, 65535]
    assert [motor.adc for motor in bench.talk().motors] == [1234, 65535]


def test_two_step_lengths_and_bad_ones():
    bench = Bench().ready()
    bench.talk(motors=drive(1.0))
    bench.step(10, dt=0.25e-3)
    assert bench.step(10, dt=0.5e-3)[0] == pytest.approx(0.022, rel=1e-3)
    with pytest.raises(ValueError, match=r'dt = 0\.0 s'):
        bench.step(1, dt=0.0)


@pytest.mark.parametrize(('motor', 'counter'), [
    (MotorCommand(current=20.0, current_limit=31.0), 'current'),
    (MotorCommand(current=6.0, current_limit=5.0), 'current'),
    (MotorCommand(current=1.0, current_limit=20.0), 'current'),
    (MotorCommand(position=3.0, kp=0.1, current_limit=5.0), 'position')])
def test_unsafe_frames_are_counted(motor, counter):
    bench = Bench(position_limits=((-2.0, 2.0), None)).ready()
    assert bench.board.unsafe.total == 0
    bench.talk(motors=(motor, MotorCommand(current_limit=5.0)))
    assert getattr(bench.board.unsafe, counter) == 1
    assert bench.board.unsafe.total == 1
    assert 'motor 0' in bench.board.unsafe.last


def test_safe_frames_are_not_counted():
    bench = Bench(position_limits=((-2.0, 2.0), (-2.0, 2.0))).ready()
    motor = MotorCommand(position=1.999, kp=1.0, current=4.9, current_limit=5.0)
    bench.cycle(3, motors=(motor, motor))
    bench.cycle(1, motors=(MotorCommand(position=9.0, kd=0.1, current_limit=5.0),) * 2)
    bench.cycle(1, enable=False, motors=drive(20.0, 31.0))
    assert bench.board.unsafe.total == 0


def test_position_limits_are_shaft_angles():
    bench = Bench(position_limits=((4.0, 6.0), None))
    bench.shaft = [5.0, 0.0]
    bench.ready()
    near = (MotorCommand(position=0.9, kp=1.0, current_limit=5.0), MotorCommand(current_limit=1.0))
    bench.talk(motors=near)
    assert bench.board.unsafe.total == 0
    bench.talk(motors=(near[0]._replace(position=1.1), near[1]))
    assert bench.board.unsafe.position == 1


def test_torque_after_a_reported_error_is_unsafe():
    bench = Bench().ready()
    bench.cycle(3, motors=drive(1.0))
    bench.board.trip(BoardError.OTHER)
    bench.talk(motors=drive(1.0))                      # crossed the report on the wire
    assert bench.board.unsafe.total == 0
    damping = (MotorCommand(kd=0.1, current_limit=1.0),) * 2
    bench.talk(motors=damping)
    bench.talk(enable=False)
    assert bench.board.unsafe.total == 0
    bench.talk(motors=drive(1.0))
    assert bench.board.unsafe.after_error == 2         # both motors
    bench.board.power_cycle()
    bench.talk(motors=drive(1.0))
    assert bench.board.unsafe.after_error == 2


def test_unknown_profile():
    with pytest.raises(UnknownName, match='udriver_spi, udriver_can, uomodri, laas_inhouse'):
        EmulatedBoard('odrive')


@pytest.mark.parametrize('name', SPI_NAMES)
def test_the_same_command_counts_anew_after_a_restart(name):
    bench = Bench(name).ready(timeout_ms=20)
    bench.board.power_cycle()
    assert not bench.board.system_enabled
    bench.ready(timeout_ms=20)
    assert bench.board.status().motor_enabled == (True, True)
    assert bench.board.timeout_ms == 20
