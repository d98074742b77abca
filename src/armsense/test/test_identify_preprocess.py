import numpy as np
import pytest

from armsense.errors import BadValue, UnknownName
from armsense.identify.signals.filters import (
    decimate,
    derivative,
    low_pass,
    motion,
    torque_band,
    velocity_delay,
)
from armsense.identify.signals.methods import spectral_derivative
from armsense.identify.signals.recording import check_excited, Recording, regular, repair_stamps


def sine(rate=1000.0, seconds=10.0, frequency=0.5, dq=True):
    t = np.arange(0.0, seconds, 1.0 / rate)
    w = 2.0 * np.pi * frequency
    q = np.stack([np.sin(w * t), np.cos(w * t)], axis=1)
    v = w * np.stack([np.cos(w * t), -np.sin(w * t)], axis=1)
    return Recording(t, q, q.copy(), v if dq else None, 'sine')


def test_low_pass_keeps_phase_and_removes_noise():
    t = np.arange(0.0, 10.0, 0.001)
    slow = np.sin(2.0 * np.pi * 0.5 * t)[:, None]
    fast = np.sin(2.0 * np.pi * 60.0 * t)[:, None]
    out = low_pass(slow + fast, 5.0, 1000.0)
    assert np.abs(out - slow)[500:-500].max() < 1e-3


def test_stamps_taken_late_are_repaired():
    clean = sine()
    rng = np.random.default_rng(1)
    kept = np.sort(rng.choice(len(clean.t), 9500, replace=False))      # lost samples
    late = np.sort(clean.t[kept] + rng.uniform(0.0, 0.0009, len(kept)))
    jittery = Recording(late, clean.q[kept], clean.tau[kept], clean.dq[kept], 'jittery')
    repaired, note = repair_stamps(jittery)
    offset = np.median(repaired.t - clean.t[kept])
    assert np.abs(repaired.t - clean.t[kept] - offset).max() < 2e-4
    assert 'gaps' in note
    assert np.abs(late - clean.t[kept] - np.median(late - clean.t[kept])).max() > 4e-4


def test_resampling_without_velocities_says_so():
    clean = sine(rate=100.0, dq=False)
    t = clean.t + np.random.default_rng(2).uniform(0.0, 0.004, len(clean.t))
    q = np.sin(np.pi * np.stack([t, t], axis=1))
    even, notes = regular(Recording(t, q, clean.tau, None, 'csv'))
    assert np.ptp(np.diff(even.t)) < 1e-9
    assert np.abs(even.q[:, 0] - np.sin(np.pi * even.t)).max() < 2e-3
    assert 'resampled' in notes[0]


@pytest.mark.parametrize('method', [derivative, spectral_derivative])
def test_derivatives_of_a_sine(method):
    clean = sine(rate=200.0)
    slope = method(clean.q, 200.0)
    assert np.abs(slope - clean.dq)[100:-100].max() < 0.01


def test_spectral_derivative_of_a_ramp_is_its_slope():
    ramp = 3.0 * np.arange(100)[:, None] / 50.0
    np.testing.assert_allclose(spectral_derivative(ramp, 50.0), 3.0, atol=1e-9)


def test_motion_and_decimation_agree_with_the_formula():
    small = decimate(sine(), 100.0)
    moving = motion(small, 10.0, 'position')
    inside = slice(30, -30)
    w = np.pi
    assert small.rate == pytest.approx(100.0)
    np.testing.assert_allclose(moving.ddq[inside], -w * w * small.q[inside], atol=0.02)
    with pytest.raises(UnknownName, match='measured, position'):
        motion(small, 10.0, 'guessed')


def test_delay_of_the_velocities_is_found():
    clean = sine(frequency=0.7)
    w = 2.0 * np.pi * 0.7
    late = w * np.stack([np.cos(w * (clean.t - 0.006)), -np.sin(w * (clean.t - 0.006))], axis=1)
    recording = Recording(clean.t, clean.q, clean.tau, late, 'late')
    assert velocity_delay([recording], 5.0) == pytest.approx(0.006, abs=2e-4)


@pytest.mark.parametrize(('rate', 'frequency', 'band'), [
    (1000.0, 0.3, (5.0, 5.0)), (1000.0, 4.0, (18.0, 25.0)), (30.0, 0.3, (3.75, 3.75))])
def test_torque_band_follows_the_motion(rate, frequency, band):
    assert band[0] - 1e-6 <= torque_band(sine(rate, 20.0, frequency)) <= band[1] + 1e-6


def test_bad_recordings_are_named():
    good = sine(rate=100.0)
    hole = good.q.copy()
    hole[17, 1] = np.nan
    with pytest.raises(BadValue, match='positions in sample 17'):
        Recording(good.t, hole, good.tau)
    with pytest.raises(BadValue, match='number of samples is 10'):
        good.rows(0, 10)
    with pytest.raises(BadValue, match='shape of the torques'):
        Recording(good.t, good.q, good.tau[:, :1])
    still = good.q.copy()
    still[:, 1] = 0.3
    with pytest.raises(ValueError, match='elbow moves less than'):
        check_excited([Recording(good.t, still, good.tau)], ['shoulder', 'elbow'])
