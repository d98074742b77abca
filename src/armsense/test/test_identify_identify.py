"""The whole way from recordings to a model, on an arm whose parameters are known."""

from dataclasses import replace
from pathlib import Path
import sys

import numpy as np
import pytest

from armsense.errors import ArmsenseError, BadValue
from armsense.identify.identify import identify, Options
from armsense.identify.model import model_file
from armsense.identify.payload import identify_payload
from armsense.identify.signals.recording import Recording
from armsense.model.model_file import ModelFile
from bench.base_estimate import arm_base_parameters

sys.path.insert(0, str(Path(__file__).parent))
from identify_truth import fourier, make_truth

pytestmark = pytest.mark.slow

DOWN = np.array([0.0, 0.0, -9.81])


@pytest.fixture(scope='module')
def truth():
    return make_truth()


@pytest.fixture(scope='module')
def found(truth):
    return identify([truth.record(1)], truth.nominal, Options(gravity=DOWN))


def test_unseen_torques_are_predicted_to_the_noise(truth, found):
    unseen = truth.record(2)
    q, dq, ddq = fourier(unseen.t, 4, np.random.default_rng(2))
    noise = found.predict(unseen)
    clean = Recording(unseen.t, q, truth.torque(q, dq, ddq), dq, 'clean')
    error = found.predict(clean).filtered(found.cutoff).rms
    assert np.all(error < 0.25 * truth.noise)
    assert noise.filtered(found.cutoff).percent < 0.3


def test_the_model_can_exist_and_is_near_the_truth(truth, found):
    assert found.feasible
    base = arm_base_parameters(truth.nominal)
    true, nominal, ours = (base.project(m.parameters) for m in
                           (truth.arm, truth.nominal, found.model))
    assert np.linalg.norm(ours - true) < 0.05 * np.linalg.norm(nominal - true) + 1e-3
    assert found.train.percent < found.unconstrained_percent + 0.3


def test_friction_lies_near_its_intervals(truth, found):
    coefficients = found.drive_coefficients()
    np.testing.assert_allclose(coefficients['viscous'], truth.viscous, atol=0.01)
    np.testing.assert_allclose(coefficients['coulomb'], truth.coulomb, atol=0.02)
    half = 0.5 * np.diff(found.intervals[40:], axis=1)
    assert np.all(half > 0.0)
    assert np.all(half[:8] < 0.02)


@pytest.mark.parametrize('estimator', ['consistent', 'wls'])
def test_the_error_on_left_out_blocks_is_that_of_the_model_itself(truth, estimator):
    run = truth.record(1, 8.0, 100.0)
    turned = replace(run, tau=run.tau * [1.0, 1.0, -1.0, 1.0])   # fits no arm that can exist
    options = Options(gravity=DOWN, terms=('viscous', 'coulomb'), estimator=estimator)
    found = identify([turned], truth.nominal, options)
    assert found.train.percent > 5.0
    assert found.cross_validated_percent > 0.9 * found.train.percent


@pytest.mark.parametrize('gravity', [(0.0, 9.81, 0.0), (0.0, 0.0, 9.81)])
def test_side_and_ceiling_mounting_are_found(gravity):
    mounted = make_truth(gravity)
    found = identify([mounted.record(3, 10.0)], mounted.nominal)
    angle = np.degrees(np.arccos(found.gravity @ np.array(gravity) / 9.81 ** 2))
    assert angle < 1.0
    assert found.feasible


def test_a_wrong_gravity_and_currents_are_remarked(truth):
    mounted = make_truth((0.0, 9.81, 0.0))
    told = identify([mounted.record(4, 8.0, 100.0)], mounted.nominal, Options(gravity=DOWN))
    assert any('mounted otherwise' in note for note in told.notes)
    run = truth.record(5, 8.0, 100.0)
    currents = Recording(run.t, run.q, run.tau / 12.0, run.dq, 'currents')
    told = identify([currents], truth.nominal, Options(gravity=DOWN))
    assert any('current instead of torque' in note for note in told.notes)


def test_a_payload_is_weighed(truth, found):
    carrying = truth.arm.with_payload(0.6, (0.0, 0.0, 0.02))
    loaded = make_truth()
    loaded = type(loaded)(loaded.nominal, carrying, loaded.viscous, loaded.coulomb)
    payload = identify_payload(found, loaded.record(6), truth.record(7))
    assert payload.interval[0] < 0.6 < payload.interval[1]
    assert payload.mass == pytest.approx(0.6, abs=0.05)


def test_the_model_file_is_read_back(truth, found, tmp_path):
    path = tmp_path / 'model.yaml'
    model_file(found, [], {'train_percent': 0.2}).write(path)
    again = ModelFile.read(path, arm='laas4').apply(truth.nominal)
    np.testing.assert_allclose(again.parameters, found.parameters, rtol=1e-6)


def test_bad_input_is_explained(truth):
    run = truth.record(8, 5.0)
    with pytest.raises(BadValue, match='number of recordings'):
        identify([], truth.nominal)
    with pytest.raises(BadValue, match='number of joints is 3'):
        identify([Recording(run.t, run.q[:, :3], run.tau[:, :3])], truth.nominal)
    still = run.q.copy()
    still[:, 2] = 0.1
    with pytest.raises(ArmsenseError, match='joint3 moves less than'):
        identify([Recording(run.t, still, run.tau)], truth.nominal)
    dead = run.tau.copy()
    dead[:, 0] = 0.0
    with pytest.raises(ArmsenseError, match='torque of joint1 never changes'):
        identify([Recording(run.t, run.q, dead)], truth.nominal)
    with pytest.raises(BadValue, match='drive axes'):
        identify([run], truth.nominal, Options(axes=np.eye(3)))
