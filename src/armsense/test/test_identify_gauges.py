"""Gauges, recordings and nodes agree on what weighs between joint and gauge."""

import numpy as np
import pytest

from armsense.drive import StrainLink
from armsense.identify.gauges import AGREED, identify_gauged, offsets
from armsense.identify.identify import identify, Options
from armsense.identify.signals.recording import Recording
from bench.synthetic import fourier_motion
from bench.synthetic_elastic import strain_arm

pytestmark = pytest.mark.slow
DOWN = np.array([0.0, 0.0, -9.81])


@pytest.fixture(scope='module')
def truth():
    return strain_arm('tudor', spread=0.3, seed=2)


def strains(arm, q, dq, ddq):
    """As a gauge of such an arm would tell them, (N, n)."""
    link = StrainLink.from_config(arm.config, arm)
    torques = arm.inverse_dynamics_batch(q, dq, ddq)
    return np.stack([link.strain(*row) for row in zip(torques, q, strict=True)])


def test_the_identified_model_predicts_strains(truth):
    run = truth.record(3)
    gauged = np.array([False, True, True])
    # What a reader makes of the true strains with the masses of the arm file.
    wrong = offsets(truth.nominal, run.q) - offsets(truth.arm, run.q)
    read = Recording(run.t, run.q, run.tau + wrong, run.dq, run.name)
    assert np.abs(wrong).max() > 10.0 * AGREED
    nominal = truth.nominal.replace(armature=np.zeros(3))
    options = Options(gravity=DOWN)
    q, dq, ddq = fourier_motion(nominal, np.arange(400) / 40.0, 9, 10.0)
    exact = strains(truth.arm, q, dq, ddq)[:, gauged]

    def missed(model):
        error = strains(model, q, dq, ddq)[:, gauged] - exact
        return np.linalg.norm(error, axis=0) / np.linalg.norm(exact, axis=0)

    once = identify([read], nominal, options).model
    settled = identify_gauged([read], nominal, options).model
    assert np.all(missed(settled) < 0.02)
    assert np.all(missed(settled) < 0.6 * missed(once))
