"""Wrong signs and exchanged joints are found from the motion; a sound arm is not suspected."""

from dataclasses import replace

import numpy as np
import pytest

from armsense.identify.estimation.training import silent_joints
from armsense.identify.identify import identify
from armsense.identify.signals.recording import Recording
from bench.synthetic import SyntheticArm

pytestmark = pytest.mark.slow


@pytest.fixture(scope='module')
def arm():
    return SyntheticArm.make('laas4', 0.2, 3)


def turned(run):
    run.tau[:, 2] *= -1.0


def all_turned(run):
    run.tau[:] *= -1.0


def exchanged(run):
    for values in (run.q, run.tau):
        values[:, [2, 3]] = values[:, [3, 2]]


def torques_exchanged(run):
    run.tau[:, [1, 2]] = run.tau[:, [2, 1]]


def noise_only(run):
    rng = np.random.default_rng(1)
    run.tau[:, 3] = rng.normal(0.0, np.std(run.tau[:, 3]), len(run.t))


@pytest.mark.parametrize(('fault', 'text'), [
    (lambda run: None, ()),
    (turned, ('the torque of joint3 has the wrong sign',)),
    (all_turned, ('the torques of all joints have the wrong sign',)),
    (exchanged, ('joint3 and joint4 are exchanged',)),
    (torques_exchanged, ('the torques of joint2 and joint3 are exchanged',)),
    (noise_only, ())])
def test_the_likely_cause_is_named(arm, fault, text):
    run = arm.record(1)
    run = replace(run, q=run.q.copy(), tau=run.tau.copy(), dq=None)
    fault(run)
    model = identify([run], arm.nominal)
    assert tuple(words.split(' (remedy')[0] for words in model.wiring) == text
    assert all('remedy' in words for words in model.wiring)
    assert model.silent == ()          # the nominal masses need more than the noise


def test_a_torque_below_the_noise_of_its_sensor_is_silent():
    t = np.arange(0.0, 20.0, 0.001)
    noise = np.random.default_rng(2).normal(0.0, 0.1, (len(t), 3))   # 0.01 Nm up to 5 Hz
    tau = noise + np.stack([np.zeros_like(t), np.zeros_like(t), np.sin(t)], axis=1)
    run = Recording(t, tau, tau)
    silent = silent_joints([run], np.array([0.015, 0.05, 0.0]), 5.0)
    assert silent.tolist() == [True, False, False]
