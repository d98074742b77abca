import numpy as np

from armsense.model import ArmConfig
from armsense.sim.sensors import StrainGauges


def test_an_arm_without_gauges_reads_nothing():
    assert StrainGauges(ArmConfig.load('laas4'), 0).read([0.0] * 4) == [0.0] * 4


def test_strain_noise_has_its_deviation_and_its_seed():
    config = ArmConfig.load('tudor')
    truth = np.array([0.0, 4e-4, -1e-4])

    def readings(seed):
        gauges = StrainGauges(config, seed, noise=5e-6)
        return np.array([gauges.read(truth) for _ in range(4000)])
    values = readings(3)
    assert (values[:, 0] == 0.0).all()
    np.testing.assert_allclose(values.mean(axis=0), truth, atol=5e-7)
    np.testing.assert_allclose(values[:, 1:].std(axis=0), 5e-6, rtol=0.05)
    np.testing.assert_array_equal(values, readings(3))
    assert (values != readings(4)).any()


def test_strain_saturates():
    gauges = StrainGauges(ArmConfig.load('tudor'), 0, full_scale=1e-3)
    assert gauges.read([0.0, 1.0, -1.0]) == [0.0, 1e-3, -1e-3]
