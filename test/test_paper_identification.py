"""Strains, unknown torque constants and stiff gears against their truth."""

from dataclasses import replace

import numpy as np
import pytest

from armsense.errors import ArmsenseError, BadValue
from armsense.identify.signals.filters import Motion
from bench.encoder_stiffness import EncoderRun, find_waves, identify_stiffness
from bench.papers.strain_dynamics import identify_strain
from bench.papers.torque_constants import identify_torque_constants
from bench.synthetic import fourier_motion, SyntheticArm
from bench.synthetic_elastic import strain_arm, strain_readings


def test_strain_referred_dynamics_predict_strains():
    arm = strain_arm()
    t = np.arange(2000) / 50.0
    motions, strains = [], []
    for seed in (1, 2):
        state = fourier_motion(arm.nominal, t, seed, 40.0, 12)
        run = arm.record(seed)
        run = replace(run, t=t, q=state[0], tau=arm.torque(*state))
        motions.append(Motion(t, *state, 50.0))
        strains.append(strain_readings(run, arm.arm)[:, 1:])
    rng = np.random.default_rng(3)
    noise = 0.02 * strains[0].std(axis=0)
    noisy = strains[0] + noise * rng.standard_normal(strains[0].shape)
    found = identify_strain(motions[:1], [noisy], arm.nominal, (1, 2))
    # Paper 001 reports 9.5 to 22.2 % on its arm, whose blades go on swinging.
    assert np.all(found.nrmse(motions[1], strains[1]) < 1.0)
    with pytest.raises(ArmsenseError, match='shape of the strains'):
        identify_strain(motions[:1], [noisy[:, :1]], arm.nominal, (1, 2))


def test_torque_constants_from_two_payloads():
    arm = SyntheticArm.make('laas4')
    gains = np.array([2.0, 3.0, 1.5, 2.5])     # [Nm/A]
    mass, center = 0.5, (0.05, 0.0, 0.05)
    loaded = replace(arm, arm=arm.arm.with_payload(mass, center))
    runs = [replace(which.record(seed, rate=200.0), tau=which.record(seed, rate=200.0).tau / gains)
            for which, seed in ((arm, 1), (loaded, 2))]
    found = identify_torque_constants(runs[:1], runs[1:], arm.nominal, mass, center)
    np.testing.assert_allclose(found.values, gains, rtol=0.03)
    middle = found.intervals.mean(axis=1)
    assert np.all(np.abs(gains - middle) < 1.5 * 0.5 * np.ptp(found.intervals, axis=1))
    with pytest.raises(ArmsenseError, match='cannot be told'):
        identify_torque_constants(runs[:1], runs[1:], arm.nominal, 1e-4)


def encoder_run(seed, stiffness=5e6, inertia=800.0, delay=0.0028):
    rng = np.random.default_rng(seed)
    rate = 250.0
    t = np.arange(0.0, 10.0, 1.0 / rate)
    f, phase = rng.uniform(0.15, 0.4, 3), rng.uniform(0.0, 6.0, 3)
    theta = 0.15 * np.sin(2.0 * np.pi * np.multiply.outer(t, f) + phase).sum(axis=1)
    v = np.gradient(theta, 1.0 / rate)
    spring = 2500.0 * np.sin(theta) + 900.0 * np.gradient(v, 1.0 / rate)
    torque = spring + inertia * np.gradient(v, 1.0 / rate) + 400.0 * np.tanh(v / 0.003)
    torque = torque + 20.0 * rng.standard_normal(len(t))
    link = theta - spring / stiffness - delay * v + 2e-5 * np.cos(2.0 * theta)
    link = link + 5e-5 * np.cos(700.0 * theta) + 3e-6 * rng.standard_normal(len(t))
    return EncoderRun(theta, link, torque, rate)


def test_stiffness_beside_delay_friction_and_encoder_waves():
    found = identify_stiffness([encoder_run(seed) for seed in range(3)], 800.0)
    assert found.interval[0] < 5e6 < found.interval[1]
    assert found.value == pytest.approx(5e6, rel=0.1)
    assert found.delay == pytest.approx(0.0028, rel=0.05)
    assert found.spread_percent < 10.0
    with pytest.raises(BadValue, match='number of runs'):
        identify_stiffness([], 1.0)


def test_waves_are_found_in_noise():
    rng = np.random.default_rng(1)
    q = 1.5 * np.sin(np.linspace(0.0, 20.0, 8000))
    e = 0.3 * np.cos(242.3 * q + 0.7) + rng.standard_normal(8000)
    waves, share = find_waves(q, e)
    assert waves == pytest.approx(242.3, abs=0.5)
    assert share == pytest.approx(0.045 / 1.045, rel=0.4)
