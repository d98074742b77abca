"""Arms with springs, cables, gauges and unknown torque constants against their truth."""

import numpy as np
import pytest

from armsense.errors import ArmsenseError
from armsense.identify.elastic.actuators import identify_actuators
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


def test_elastic_mistakes_are_explained(run, arm):
    with pytest.raises(ArmsenseError, match='every joint must be elastic'):
        identify_actuators([run], Arm.load('laas4'))
    with pytest.raises(ArmsenseError, match='shape of the motor angles'):
        ElasticRecording(run.t, run.theta[:, :3], run.q, run.tau)
