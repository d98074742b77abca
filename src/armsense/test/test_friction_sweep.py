"""Friction bench: the plan keeps the limits and cruises, the evaluation finds the truth."""

import numpy as np
import pytest

from armsense.errors import ArmsenseError, BadValue
from armsense.identify.friction.sweep import evaluate_sweep, FrictionSweep
from armsense.identify.signals.recording import Recording
from armsense.model import Arm
from armsense.trajectory import check_motion, Limits, sample_grid

VISCOUS = np.array([0.05, 0.02, 0.03, 0.01])   # [Nm s/rad]
COULOMB = np.array([0.25, 0.10, 0.12, 0.08])   # [Nm]
NOISE = 0.02                                   # [Nm]


@pytest.fixture(scope='module')
def model():
    return Arm.load('laas4')


@pytest.fixture(scope='module')
def sweep(model):
    return FrictionSweep.plan(model)


@pytest.fixture(scope='module')
def recording(model, sweep):
    """The motion as an ideal arm with gravity, inertia, friction and noise would drive it."""
    motion = sample_grid(sweep.trajectory(), 0.004)
    tau = model.inverse_dynamics_batch(motion.q, motion.dq, motion.ddq)
    tau += VISCOUS * motion.dq + COULOMB * np.tanh(motion.dq / 0.01)
    tau += NOISE * np.random.default_rng(1).standard_normal(tau.shape)
    return Recording(motion.t + 7.0, motion.q, tau, name='bench')


@pytest.mark.parametrize('arm', ['laas4', 'biorob', 'tudor', 'crs_a465'])
def test_plan_keeps_the_limits(arm):
    model = Arm.load(arm)
    motion = FrictionSweep.plan(model).trajectory()
    assert check_motion(motion, Limits.of(model), model, step=0.02) == []


def test_one_joint_cruises_while_the_others_rest(sweep):
    motion = sweep.trajectory()
    assert len(sweep.cruises) == 2 * sum(map(len, sweep.speeds.values()))
    for cruise in sweep.cruises:
        expected = np.zeros(4)
        expected[cruise.joint] = cruise.speed
        for t in np.linspace(cruise.begin, cruise.end, 5):
            np.testing.assert_allclose(motion.sample(t).dq, expected, atol=1e-9)
            np.testing.assert_allclose(motion.sample(t).ddq, 0.0, atol=1e-6)


def test_friction_comes_back_within_its_intervals(sweep, recording):
    found = evaluate_sweep(sweep, recording, start=7.0)
    np.testing.assert_allclose([f.coulomb for f in found], COULOMB, atol=0.01)
    np.testing.assert_allclose([f.viscous for f in found], VISCOUS, atol=0.015)
    inside = [f.coulomb_interval[0] < c < f.coulomb_interval[1]
              and f.viscous_interval[0] < v < f.viscous_interval[1]
              for f, c, v in zip(found, COULOMB, VISCOUS, strict=True)]
    assert sum(inside) >= 3
    assert found[0].motor_viscous(31.0) == pytest.approx(found[0].viscous / 961.0)


def test_file_round_trip(sweep, tmp_path):
    sweep.write(tmp_path / 'friction.yaml')
    assert FrictionSweep.read(tmp_path / 'friction.yaml', 'laas4') == sweep
    with pytest.raises(ArmsenseError, match="this arm is 'biorob'"):
        FrictionSweep.read(tmp_path / 'friction.yaml', 'biorob')


def test_cut_recording_is_told(sweep, recording):
    half = recording.between(0.0, 20.0)
    with pytest.raises(ArmsenseError, match='was the whole motion recorded'):
        evaluate_sweep(sweep, half, start=7.0)


def test_two_speeds_at_least(model):
    with pytest.raises(BadValue, match='number of speeds'):
        FrictionSweep.plan(model, count=1)
