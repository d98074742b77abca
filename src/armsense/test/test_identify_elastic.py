"""Arms with springs, cables, gauges and unknown torque constants against their truth."""

from dataclasses import replace

import numpy as np
import pytest

from armsense.errors import ArmsenseError
from armsense.identify.elastic.actuators import EXTRA, identify_actuators
from armsense.identify.elastic.arm import identify_elastic, spring_torque
from armsense.identify.elastic.recording import ElasticRecording
from armsense.identify.identify import Options
from armsense.identify.signals.filters import Motion
from armsense.model import Arm
from bench.both_sides import identify_both_sides, identify_together
from bench.synthetic import fourier_motion
from bench.synthetic_elastic import (
    SyntheticElasticArm,
)

pytestmark = pytest.mark.slow

DOWN = np.array([0.0, 0.0, -9.81])
# Thesis 000, table 4.2: errors of the printed estimates of stiffness [Nm/rad].
PRINTED = np.array([9.69e-2, 2.15e-2, 1.54e-2, 1.34e-2])


@pytest.fixture(scope='module')
def arm():
    return SyntheticElasticArm.make('biorob')


@pytest.fixture(scope='module')
def run(arm):
    return arm.record(7)


@pytest.fixture(scope='module')
def actuators(arm, run):
    return identify_actuators([run], arm.nominal)


def test_actuator_side_in_its_intervals(arm, actuators):
    config = arm.nominal.config
    for k, joint in enumerate(config.joints.values()):
        for name, true in (('stiffness', joint.elastic.stiffness),
                           ('damping', joint.elastic.damping),
                           ('coulomb', joint.friction.coulomb),
                           ('viscous', joint.friction.viscous)):
            low, high = actuators.interval(f'{name}{k + 1}')
            middle, half = 0.5 * (low + high), 0.5 * (high - low)
            assert abs(true - middle) < 1.6 * half, name      # sixteen intervals of 95 %
    np.testing.assert_allclose(actuators.stiffness, arm.springs.stiffness, rtol=0.01)


def test_cable_ratio_is_found(actuators):
    assert actuators.coupling[3, 2] == pytest.approx(-1.0, abs=2e-3)


def test_both_sides_together_are_better_than_the_printed_stiffness(arm, run, actuators):
    both = identify_both_sides([run], arm.nominal, actuators)
    value = dict(zip(both.names, both.values, strict=True))
    error = [abs(value[f'stiffness{k + 1}'] - arm.springs.stiffness[k]) for k in range(4)]
    assert np.mean(error) < np.mean(PRINTED)
    np.testing.assert_allclose([value[f'bearing{k + 1}'] for k in range(4)],
                               arm.springs.link_damping, rtol=0.02)


@pytest.mark.parametrize('way', [identify_elastic, lambda *a: identify_together(*a)[0]])
def test_load_side_predicts_a_new_motion(arm, run, way, tmp_path):
    found = way([run], arm.nominal, Options(gravity=DOWN))
    assert found.links.feasible
    q, dq, ddq = fourier_motion(arm.nominal, np.arange(500) / 50.0, 8, 10.0)
    true = arm.link_torque(q, dq, ddq)
    error = found.links.torque(Motion(np.arange(500) / 50.0, q, dq, ddq, 50.0)) - true
    assert np.linalg.norm(error) < 0.01 * np.linalg.norm(true)
    path = tmp_path / 'model.yaml'
    found.model_file().write(path)
    joint = Arm.load('biorob', path).config.joints['joint4']
    assert joint.elastic.stiffness == pytest.approx(6.0, rel=0.02)
    assert joint.elastic.coupling_ratio == pytest.approx(-1.0, abs=5e-3)
    assert joint.elastic.link_damping == pytest.approx(0.5, rel=0.1)
    assert joint.rotor_inertia == arm.nominal.config.joints['joint4'].rotor_inertia


def test_springs_give_the_torque_of_the_links(arm, run):
    q, dq, ddq = fourier_motion(arm.nominal, run.t, 7, 10.0)
    error = spring_torque(run, arm.springs) - arm.link_torque(q, dq, ddq)
    assert np.sqrt(np.mean(error**2)) < 0.05


def test_signs_of_a_recording_without_any_come_from_the_motion(arm, run):
    signed = replace(run, tau=np.abs(run.tau)).with_signs(arm.nominal.config)
    clear = np.abs(run.tau) > 0.2
    assert np.mean(signed.tau[clear] == run.tau[clear]) > 0.98
    assert run.with_signs(arm.nominal.config) is run        # has them
    found = identify_actuators([signed], arm.nominal)
    np.testing.assert_allclose(found.stiffness, arm.springs.stiffness, rtol=0.05)


def test_periods_are_averaged_with_their_variance(arm):
    exact = arm.record(7, noise=0, periods=1)
    rng = np.random.default_rng(5)
    tau = np.tile(exact.tau, (16, 1))
    tau = tau + rng.normal(scale=(0.1, 0.2, 0.3, 0.4), size=tau.shape)
    t = np.arange(len(tau)) / exact.rate
    mean = ElasticRecording(t, np.tile(exact.theta, (16, 1)), np.tile(exact.q, (16, 1)),
                            tau).averaged()
    assert len(mean.t) == len(exact.t)
    np.testing.assert_allclose(16 * mean.variance, np.square([0.1, 0.2, 0.3, 0.4]), rtol=0.05)
    left = np.std(mean.tau - exact.tau, axis=0)
    np.testing.assert_allclose(left, np.array([0.1, 0.2, 0.3, 0.4]) / 4.0, rtol=0.1)


def test_no_spring_pushes_and_no_friction_drives(arm, run):
    torque = run.tau.copy()
    torque[:, 1] *= -1.0
    found = identify_actuators([replace(run, tau=torque)], arm.nominal)
    assert {'stiffness2', 'damping2'} <= set(found.bounded)
    assert found.stiffness[1] > 0.0
    assert all((getattr(found, term) >= 0.0).all() for term in ('damping', 'viscous', 'coulomb'))
    # The other joints' columns are their own.
    np.testing.assert_allclose(found.stiffness[[0, 2]], arm.springs.stiffness[[0, 2]], rtol=0.01)


@pytest.mark.parametrize(('term', 'size'), [('cubic', 40.0), ('hysteresis', 0.2),
                                            ('backlash', 0.1)])
def test_a_further_term_is_found(arm, run, term, size):
    motors, joints = run.motions(20.0)
    path = np.eye(4) + arm.springs.coupling
    twist = motors.q - joints.q @ path.T
    shape = {'cubic': twist**3, 'hysteresis': np.sign(motors.dq - joints.dq @ path.T),
             'backlash': -np.sign(twist)}[term]
    found = identify_actuators([replace(run, tau=run.tau + size * shape)], arm.nominal,
                               {term: EXTRA[term]})
    np.testing.assert_allclose(found.extra[term][1:3], size, rtol=0.15)
    np.testing.assert_allclose(found.stiffness, arm.springs.stiffness, rtol=0.05)


def test_a_term_of_ones_own_is_one_more_column(arm, run):
    motors, _ = run.motions(20.0)
    drag = 0.3 * motors.dq * np.abs(motors.dq)
    found = identify_actuators([replace(run, tau=run.tau + drag)], arm.nominal,
                               {'drag': lambda s: s.dtheta * np.abs(s.dtheta)})
    np.testing.assert_allclose(found.extra['drag'], 0.3, rtol=0.1)
    with pytest.raises(ArmsenseError, match='name of a term'):
        identify_actuators([run], arm.nominal, {'damping': lambda s: s.rate})


def test_elastic_mistakes_are_explained(run, arm):
    with pytest.raises(ArmsenseError, match='every joint must be elastic'):
        identify_actuators([run], Arm.load('laas4'))
    with pytest.raises(ArmsenseError, match='shape of the motor angles'):
        ElasticRecording(run.t, run.theta[:, :3], run.q, run.tau)


def test_springs_of_a_wrong_arm_file_are_forgotten(arm, run):
    joints = {name: replace(joint, elastic=replace(joint.elastic, stiffness=factor
                                                   * joint.elastic.stiffness))
              for (name, joint), factor in zip(arm.nominal.config.joints.items(),
                                               (1.4, 0.75, 1.3, 0.6), strict=True)}
    found = identify_actuators([run], Arm.load(replace(arm.nominal.config, joints=joints)))
    np.testing.assert_allclose(found.stiffness, arm.springs.stiffness, rtol=0.01)
    np.testing.assert_allclose(found.damping, arm.springs.damping, rtol=0.1)
