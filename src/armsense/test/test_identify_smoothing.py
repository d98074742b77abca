"""Every way from positions to accelerations on one recording whose truth is known."""

from dataclasses import replace

import numpy as np
import pytest

from armsense.errors import ArmsenseError, BadValue, UnknownName
from armsense.identify.estimation.training import find_shift, Options, PREPROCESSING, without_shift
from armsense.identify.signals.filters import Motion, resting, torque_band
from armsense.identify.signals.methods import (
    average_periods,
    fourier_basis,
    METHODS,
    spectral_filter,
    spline_basis,
)
from armsense.identify.signals.recording import find_period, Recording, shift, without_glitches
from bench.synthetic import fourier_motion, SyntheticArm

PERIOD, RATE, NOISE = 8.0, 100.0, 5e-4


@pytest.fixture(scope='module')
def arm():
    return SyntheticArm.make('crs_a465')


@pytest.fixture(scope='module')
def run(arm):
    """Three periods with 0.5 mrad of noise on the positions, 2 Nm on the torques."""
    t = np.arange(int(3 * PERIOD * RATE)) / RATE
    truth = fourier_motion(arm.nominal, t, 3, PERIOD)
    rng = np.random.default_rng(1)
    q = truth[0] + NOISE * rng.standard_normal(truth[0].shape)
    tau = arm.torque(*truth) + 2.0 * rng.standard_normal(q.shape)
    return Recording(t, q, tau, None, 'three periods'), truth


def test_every_method_reaches_the_true_motion_and_the_series_is_best(run):
    recording, (q, dq, ddq) = run
    inside = slice(100, -100)
    error = {}
    for method in METHODS:
        found = METHODS[method](recording, 3.0, 'position')
        assert np.abs(found.q - q)[inside].max() < 1.5e-3, method
        assert np.abs(found.dq - dq)[inside].max() < 0.02, method
        error[method] = float(np.sqrt(np.mean((found.ddq - ddq)[inside] ** 2)))
    raw = np.gradient(np.gradient(recording.q, 1 / RATE, axis=0), 1 / RATE, axis=0) - ddq
    assert max(error.values()) < 0.05 * np.sqrt(np.mean(raw**2))
    assert error['fourier'] < 0.2 * min(error[m] for m in METHODS if m != 'fourier')


def test_periods_are_found_and_averaged_with_their_variances(run):
    recording, (q, _, _) = run
    assert find_period(recording) == pytest.approx(PERIOD, abs=0.01)
    mean = average_periods(recording)
    assert mean.periods == 3
    assert len(mean.recording.t) == round(PERIOD * RATE)
    np.testing.assert_allclose(mean.recording.q, q[:len(mean.recording.q)], atol=5 * NOISE)
    # 4.46 is the variance of the mean: that of a sample over the number of periods.
    assert np.sqrt(mean.position_variance.mean()) == pytest.approx(NOISE / np.sqrt(3), rel=0.1)
    assert np.sqrt(mean.torque_variance.mean()) == pytest.approx(2.0 / np.sqrt(3), rel=0.1)


def test_what_does_not_repeat_is_said(run):
    t = np.arange(2000) / 100.0
    q = np.stack([np.sin(t + 0.05 * t**2), np.cos(0.7 * t)], axis=1)
    chirp = Recording(t, q, q, None, 'chirp')
    assert find_period(chirp) is None
    with pytest.raises(ArmsenseError, match='does not repeat'):
        METHODS['fourier'](chirp, 5.0, 'position')
    with pytest.raises(ArmsenseError, match='does not repeat'):
        average_periods(chirp)
    with pytest.raises(BadValue, match='number of periods is 1'):
        average_periods(chirp, 15.0)
    with pytest.raises(UnknownName, match='wavelet'):
        Options(preprocess='wavelet')
    with pytest.raises(UnknownName, match='known: auto, filter'):
        Options(preprocess='filtr')
    assert set(METHODS) < set(PREPROCESSING)


@pytest.mark.parametrize('basis', [fourier_basis(np.arange(200) / 50.0, 4.0, 5),
                                   spline_basis(np.arange(200) / 50.0, 0.4)])
def test_derivatives_of_a_basis_by_differences(basis):
    inside = slice(2, -2)
    pairs = ((basis.position, basis.velocity), (basis.velocity, basis.acceleration))
    for function, slope in pairs:
        numeric = np.gradient(function, 1 / 50.0, axis=0)
        assert np.abs(numeric - slope)[inside].max() < 0.03 * np.abs(slope).max()


def test_spectral_filter_keeps_the_band_and_removes_the_rest():
    t = np.arange(1000) / 100.0
    slow, fast = np.sin(2 * np.pi * 0.5 * t)[:, None], np.sin(2 * np.pi * 20.0 * t)[:, None]
    assert np.abs(spectral_filter(slow + fast, 100.0, 10.0) - slow)[50:-50].max() < 0.04


def test_band_does_not_follow_encoder_noise(run):
    recording, truth = run
    clean = replace(recording, q=truth[0])
    assert torque_band(recording) == pytest.approx(torque_band(clean), rel=0.3)


@pytest.mark.parametrize('delay', [0.0, 0.12, -0.5])
def test_shift_between_sources(arm, run, delay):
    recording, _ = run
    late = replace(recording, tau=shift(recording.tau, recording.t, -delay))
    assert find_shift(late, arm.nominal) == pytest.approx(delay, abs=0.021)
    moved, found, words = without_shift([late], arm.nominal)
    assert (found != 0.0) == (delay != 0.0) == bool(words)
    inside = slice(100, -100)
    np.testing.assert_allclose(moved[0].tau[inside].mean(), recording.tau[inside].mean(), atol=0.5)


def test_glitches_are_bridged_and_nothing_else(run):
    recording, truth = run
    q = recording.q.copy()
    q[[300, 901], 1] += [0.3, -0.2]
    mended, words = without_glitches(replace(recording, q=q))
    assert np.abs(mended.q - truth[0]).max() < 6 * NOISE
    assert '2 glitches of the positions' in words[0]
    same, words = without_glitches(recording)
    assert same is recording
    assert words == []


def test_rest_is_told_from_motion():
    t = np.arange(600) / 100.0
    dq = np.ones((600, 2))
    dq[100:350, 0] = 0.0       # stops for 2.5 s
    dq[400:450, 0] = 0.0       # only passes
    dq[:, 1] = 0.0             # rests always: nothing else is known of it
    rest = resting(Motion(t, dq, dq, dq, 100.0))
    assert rest[100:350, 0].all()
    assert rest[:, 0].sum() == 250
    assert not rest[:, 1].any()
