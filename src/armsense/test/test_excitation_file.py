"""`excite.yaml` there and back, its motion over periods, its preview."""

from dataclasses import replace

import numpy as np
import pytest
import yaml

from armsense.errors import ArmsenseError
from armsense.excite import Constraints, DesignOptions, Excitation
from armsense.excite.design import measure_quality
from armsense.excite.excitation import UsedLimits
from armsense.excite.families import Aprbs, CosinePolynomial, FourierSeries, Polynomial
from armsense.excite.preview import preview_figure
from armsense.model import Arm

HOME = np.array([0.0, 0.6, 0.0, -0.6])
AWAY = np.array([0.2, 0.4, -0.3, -0.1])
SHAPES = [FourierSeries(HOME, 4.0, 3), CosinePolynomial(HOME, AWAY, 4.0, 5),
          Polynomial(HOME, AWAY, 4.0, 8), Aprbs(HOME, 12.0, 1.0, 0.8, seed=2)]


@pytest.fixture(scope='module')
def laas4():
    return Arm.load('laas4')


def make(model, shape, seed=0):
    x = 0.3 * np.random.default_rng(seed).normal(size=(4, shape.free().shape[1]))
    c = shape.rest() + x @ shape.free().T
    quality = measure_quality(model, shape, c, DesignOptions(), 1000.0)
    return Excitation.create(shape, c, arm='laas4', joints=model.joint_names, quality=quality,
                             limits=UsedLimits.of(Constraints.of(model)), seed=seed, seconds=1.0)


@pytest.mark.parametrize('shape', SHAPES, ids=lambda s: s.kind)
def test_file_gives_the_same_motion_again(laas4, shape, tmp_path):
    excitation = make(laas4, shape)
    excitation.write(tmp_path / 'excite.yaml')
    again = Excitation.read(tmp_path / 'excite.yaml', arm='laas4')
    assert again == excitation
    for t in (0.3, 1.9, 0.7 * shape.period):
        exact = shape.motion(excitation.coefficient_matrix, [t])
        sample = again.sample(t)
        np.testing.assert_allclose(sample.q, exact.q[0], atol=1e-11)
        np.testing.assert_allclose(sample.dq, exact.dq[0], atol=1e-11)
        np.testing.assert_allclose(sample.ddq, exact.ddq[0], atol=1e-10)
        np.testing.assert_allclose(sample.jerk, exact.jerk[0], atol=1e-9)
    assert [p.name for p in tmp_path.iterdir()] == ['excite.yaml']


@pytest.mark.parametrize('shape', SHAPES, ids=lambda s: s.kind)
def test_periods_join_smoothly_and_the_ends_rest(laas4, shape):
    excitation = make(laas4, shape)
    assert excitation.duration(3) == pytest.approx(3 * shape.period)
    motion = excitation.trajectory(3)
    h = 1e-6
    for k in (1, 2):
        before, after = motion.sample(k * shape.period - h), motion.sample(k * shape.period + h)
        np.testing.assert_allclose(before.q, after.q, atol=1e-5)
        np.testing.assert_allclose(before.dq, after.dq, atol=1e-4)
        np.testing.assert_allclose(before.ddq, after.ddq, atol=1e-2)
    for t in (-1.0, 0.0, motion.duration, motion.duration + 5.0):
        np.testing.assert_array_equal(motion.sample(t).dq, np.zeros(4))
    np.testing.assert_allclose(motion.sample(motion.duration - 1e-7).q,
                               motion.sample(motion.duration).q, atol=1e-6)


def test_velocity_of_the_way_back_is_the_derivative_of_its_position(laas4):
    motion = make(laas4, SHAPES[1]).trajectory(2)
    h = 1e-6
    for t in (4.5, 6.1, 7.3):
        slope = (motion.sample(t + h).q - motion.sample(t - h).q) / (2 * h)
        np.testing.assert_allclose(motion.sample(t).dq, slope, atol=1e-7)
        slope = (motion.sample(t + h).ddq - motion.sample(t - h).ddq) / (2 * h)
        np.testing.assert_allclose(motion.sample(t).jerk, slope, atol=1e-5)


def test_quality_is_that_of_the_recorded_samples(laas4):
    shape = SHAPES[0]
    excitation = make(laas4, shape)
    t = np.arange(4000) / 1000.0
    samples = shape.motion(excitation.coefficient_matrix, t)
    from armsense.excite.information import Motion, regressor, RigidInformation
    information = RigidInformation(laas4)
    motion = Motion(samples.q, samples.dq, samples.ddq)
    [M] = information.matrices(regressor(laas4, motion), motion, 1.0)
    assert excitation.quality.log_det == pytest.approx(np.linalg.slogdet(M)[1], abs=0.05)
    Phi = information.regressor(regressor(laas4, motion), motion).reshape(-1, len(M))
    assert excitation.quality.condition_number == pytest.approx(np.linalg.cond(Phi), rel=0.02)


def test_bad_files_are_explained(laas4, tmp_path):
    path = tmp_path / 'excite.yaml'
    make(laas4, SHAPES[0]).write(path)
    good = yaml.safe_load(path.read_text())

    def read(**changes):
        path.write_text(yaml.safe_dump({**good, **changes}))
        return Excitation.read(path)

    with pytest.raises(ArmsenseError, match="of arm 'laas4'; this arm is 'tudor'"):
        Excitation.read(path, arm='tudor')
    with pytest.raises(ArmsenseError, match=r"excite\.yaml: kind.*did you mean 'fourier'"):
        read(kind='fourrier')
    with pytest.raises(ArmsenseError, match=r'period is -4\.0; it must be > 0'):
        read(period=-4.0)
    with pytest.raises(ArmsenseError, match='format is 9; it must be 1'):
        read(format=9)
    with pytest.raises(ArmsenseError, match='coefficients.joint2'):
        read(coefficients={**good['coefficients'], 'joint2': [1.0]})
    with pytest.raises(ArmsenseError, match='joints of the coefficients'):
        read(joints=['joint1', 'joint2'])
    with pytest.raises(ArmsenseError, match='coefficient_names'):
        read(coefficient_names=[f'x{k}' for k in range(7)])


def test_failed_write_leaves_the_old_file(laas4, tmp_path):
    path = tmp_path / 'excite.yaml'
    excitation = make(laas4, SHAPES[0])
    excitation.write(path)
    before = path.read_bytes()
    broken = replace(excitation, date=object())      # yaml cannot write it
    with pytest.raises(yaml.YAMLError):
        broken.write(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ['excite.yaml']


def test_preview_draws_a_picture(laas4, tmp_path):
    path = tmp_path / 'excite.png'
    preview_figure(make(laas4, SHAPES[0]), laas4, path)
    from matplotlib.image import imread
    picture = imread(path)
    assert picture.shape[0] > 500
    assert picture.shape[1] > 900
    assert 0.02 < np.mean(picture[..., :3] < 0.9) < 0.5       # neither empty nor black
