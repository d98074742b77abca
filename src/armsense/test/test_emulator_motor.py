"""Motor and encoder of the emulated board against closed formulas and a fine simulation."""

from __future__ import annotations

from dataclasses import replace
from math import exp, floor, pi, tau

import numpy as np
import pytest

from armsense.boards.emulator.motor import EmulatedMotor, Encoder, MotorPhysics
from armsense.boards.protocol.messages import MotorCommand

QUIET = MotorPhysics(current_noise=0.0)
DT = 1e-3


def motor(physics=QUIET, dt=DT, seed=0):
    made = EmulatedMotor(physics, seed)
    made.set_step(dt)
    made.sense(0.0)
    return made


def feed_forward(current, limit=20.0):
    return MotorCommand(current=current, current_limit=limit)


def test_current_loop_equals_forty_kilohertz_steps():
    physics = replace(QUIET, current_bandwidth=tau * 500)
    emulated = motor(physics)
    fine, tick = 0.0, 1 / 40e3
    for step in range(5):
        target = 3.0 if step < 3 else -1.0
        torque = emulated.drive(feed_forward(target), 0.0)
        currents = []
        for _ in range(40):
            before = fine
            fine = target + (fine - target) * exp(-physics.current_bandwidth * tick)
            currents.append((before + fine) / 2)
        assert emulated.current == pytest.approx(fine, rel=1e-9)
        assert torque == pytest.approx(physics.torque_constant * np.mean(currents), rel=5e-3)


def test_law():
    emulated = motor()
    emulated.encoder.raw = 1000
    emulated.velocity = 3.0
    command = MotorCommand(2.0, 5.0, 0.25, kp=1.5, kd=0.1, current_limit=10.0)
    emulated.drive(command, 0.0)
    position = 1000 * tau / 4096
    assert emulated.reference == pytest.approx(1.5 * (2.0 - position) + 0.1 * (5.0 - 3.0) + 0.25)


@pytest.mark.parametrize(('ask', 'limit', 'expected'), [
    (5.0, 3.0, 3.0), (-5.0, 3.0, -3.0), (50.0, 30.0, QUIET.max_current), (5.0, 0.0, 0.0)])
def test_current_is_clamped(ask, limit, expected):
    emulated = motor()
    emulated.drive(feed_forward(ask, limit), 0.0)
    assert emulated.reference == expected


def test_integral_action_and_its_bound():
    emulated = motor()
    command = MotorCommand(position=1.0, ki=2.0, current_limit=4.0)
    for _ in range(500):
        emulated.drive(command, 0.0)
    assert emulated.reference == pytest.approx(2.0 * 1.0 * 0.5)
    for _ in range(5000):
        emulated.drive(command, 0.0)
    assert emulated.reference == pytest.approx(4.0)
    # Not wound up: it leaves the bound as soon as the error changes sign.
    emulated.drive(command._replace(position=-1.0), 0.0)
    assert emulated.reference == pytest.approx(4.0 - 2.0 * DT)
    emulated.drive(None, 0.0)
    emulated.drive(command, 0.0)
    assert emulated.reference == pytest.approx(2.0 * DT)


def test_velocity_estimate_settles_on_the_true_velocity():
    emulated = motor()
    samples = []
    for k in range(2000):
        emulated.sense(12.34 * k * DT)
        samples.append(emulated.velocity)
    assert np.mean(samples[500:]) == pytest.approx(12.34, rel=2e-3)
    # One count per millisecond is 1.53 rad/s: the filter must leave less than that.
    assert np.ptp(samples[500:]) < tau / 4096 / DT


def test_velocity_step_response_is_first_order():
    emulated = motor(replace(QUIET, counts_per_turn=2**24))
    for k in range(1, 4):
        emulated.sense(100.0 * k * DT)
        expected = 100.0 * (1 - exp(-QUIET.velocity_bandwidth * k * DT))
        assert emulated.velocity == pytest.approx(expected, rel=1e-4)


def test_signed_current_sensor_noise_and_resolution():
    physics = MotorPhysics(current_noise=0.05)
    emulated = motor(physics, seed=4)
    readings = []
    for _ in range(6000):
        emulated.drive(feed_forward(-2.0), 0.0)
        readings.append(emulated.measured_current)
    readings = np.array(readings[10:])
    assert readings.mean() == pytest.approx(-2.0, abs=3e-3)
    assert readings.std() == pytest.approx(0.05, rel=0.05)
    steps = readings / (32 / 2**12)
    assert np.abs(steps - np.round(steps)).max() < 1e-9


def test_biorob_current_sensor_has_no_sign_and_14_bits():
    physics = MotorPhysics(current_sensor='unsigned14', current_full_scale=16.0,
                           current_noise=0.0)
    emulated = motor(physics)
    for current in (-3.3, 3.3):
        for _ in range(20):
            emulated.drive(feed_forward(current), 0.0)
        assert emulated.measured_current == round(3.3 / (16 / 2**14)) * (16 / 2**14)
    for _ in range(20):
        emulated.drive(feed_forward(-16.0), 0.0)
    assert emulated.measured_current == 16.0 - 16 / 2**14
    with pytest.raises(ValueError, match="'hall'; valid: signed, unsigned14"):
        MotorPhysics(current_sensor='hall')


def test_heat_follows_its_time_constant():
    physics = replace(QUIET, continuous_current=3.0, thermal_time=2.0)
    emulated = motor(physics)
    seconds = 0.0
    while emulated.heat <= emulated.max_heat:
        emulated.drive(feed_forward(5.0), 0.0)
        seconds += DT
    # 25 (1 - exp(-t / 2)) = 9
    assert seconds == pytest.approx(-2.0 * np.log(1 - 9 / 25), abs=5e-3)


def test_continuous_current_never_overheats():
    physics = replace(QUIET, continuous_current=3.0, thermal_time=0.1)
    emulated = motor(physics)
    for _ in range(3000):
        emulated.drive(feed_forward(2.99), 0.0)
    assert emulated.heat <= emulated.max_heat


def test_input_power():
    emulated = motor()
    for _ in range(20):
        torque = emulated.drive(feed_forward(4.0), 50.0)
    assert torque == pytest.approx(0.022 * 4.0)
    assert emulated.power == pytest.approx(1.5 * 0.19 * 16.0 + 0.022 * 4.0 * 50.0)


def test_seed_repeats_noise():
    def readings(seed):
        emulated = motor(MotorPhysics(), seed=seed)
        result = []
        for _ in range(50):
            emulated.drive(None, 0.0)
            result.append(emulated.measured_current)
        return result

    assert readings(1) == readings(1)
    assert readings(1) != readings(2)


def test_encoder_quantises_and_starts_at_zero():
    encoder = Encoder(4096, 0.0)
    start = 1.2345
    encoder.update(start)
    assert encoder.position == 0.0
    rng = np.random.default_rng(3)
    for angle in start + rng.uniform(-20, 20, 50):
        encoder.update(angle)
        counts = floor(angle * 4096 / tau) - floor(start * 4096 / tau)
        assert encoder.position == pytest.approx(counts * tau / 4096)


@pytest.mark.parametrize('direction', [1, -1])
def test_index_is_met_and_compensation_makes_the_position_jump(direction):
    phase = 2.0
    encoder = Encoder(4096, phase)
    start = phase - direction * 0.5
    encoder.update(start)
    assert not encoder.index_detected
    encoder.update(phase + direction * 0.25)
    assert encoder.index_detected
    assert encoder.index_toggle
    assert encoder.position == pytest.approx(direction * 0.75, abs=tau / 4096)
    encoder.compensate(True)
    assert encoder.position == pytest.approx(direction * 0.25, abs=2 * tau / 4096)
    assert encoder.origin_angle == pytest.approx(phase, abs=tau / 4096)
    # The first pulse stays the origin, later ones only toggle.
    encoder.update(phase + direction * (tau + 0.25))
    assert not encoder.index_toggle
    assert encoder.position == pytest.approx(direction * (tau + 0.25), abs=2 * tau / 4096)


def test_last_index_position_is_uncompensated():
    encoder = Encoder(4096, 0.0)
    encoder.update(-0.5)
    encoder.update(tau + 0.1)
    encoder.update(2 * tau + 0.1)
    assert encoder.last_index_position == pytest.approx(2 * tau + 0.5, abs=2 * tau / 4096)


def test_rollover_wraps_like_32_bits():
    encoder = Encoder(4096, 0.0)
    encoder.update(0.0)
    for turns in (100, 127.9, 128.1, 200):
        encoder.update(turns * tau)
    assert encoder.rolled_over
    assert encoder.position == pytest.approx((200 - 256) * tau, abs=tau / 4096)
    encoder.update(pi)
    assert not encoder.rolled_over


def test_lost_counts_stay():
    encoder = Encoder(4096, 0.0)
    encoder.update(0.0)
    encoder.slip(-64)
    encoder.update(pi)
    assert encoder.position == pytest.approx(pi - 64 * tau / 4096)
    encoder.set_zero()
    assert encoder.position == 0.0
