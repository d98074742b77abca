"""Gains that were told wrongly, found with weighed loads on an arm in MuJoCo."""

import numpy as np
import pytest

from armsense.errors import BadValue
from armsense.identify.gains import calibrate_gains, KnownLoad
from armsense.identify.identify import identify, Options
from armsense.identify.signals.recording import Recording
from bench.planted import PlantedArm

pytestmark = pytest.mark.slow

TOLD = np.array([1.0, 0.85, 1.2, 0.9])      # recorded over true torque
CENTER = np.array([0.05, -0.02, 0.06])      # [m]


@pytest.fixture(scope='module')
def arm():
    return PlantedArm('laas4', 11)


def record(arm, motion, mass=0.0):
    run = arm.run(motion, payload=mass, center=CENTER)
    return Recording(run.t, run.q, TOLD * run.tau)


@pytest.fixture(scope='module')
def model(arm):
    nominal = arm.nominal.replace(armature=np.zeros(4))
    return identify([record(arm, 1)], nominal, Options(gravity=arm.nominal.gravity))


@pytest.mark.parametrize(('masses', 'center'), [((0.5,), CENTER), ((0.5,), None),
                                                ((0.2, 0.6), None)])
def test_gains_from_known_loads(arm, model, masses, center):
    loads = [KnownLoad(record(arm, 20 + k, mass), mass, center) for k, mass in enumerate(masses)]
    found = calibrate_gains(model, loads, record(arm, 1))
    assert found.told[1:].all()
    near = np.abs(found.scale - TOLD)[found.told]
    assert np.all(near < 1.5 * found.half[found.told] + 0.01)
    np.testing.assert_allclose(found.scale[1:], TOLD[1:], atol=0.04)
    np.testing.assert_allclose(found.centers, [CENTER] * len(masses), atol=0.01)


def test_a_load_without_mass_tells_nothing(arm, model):
    with pytest.raises(BadValue, match='mass of a known load'):
        calibrate_gains(model, [KnownLoad(record(arm, 20), 0.0)], record(arm, 1))
    with pytest.raises(BadValue, match='number of known loads'):
        calibrate_gains(model, [], record(arm, 1))
