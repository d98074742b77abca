"""Families of excitation motions: derivatives, ends, periodicity, linearity."""

import numpy as np
import pytest

from armsense.errors import ArmsenseError, BadValue, UnknownName
from armsense.excite.constraints import Constraints
from armsense.excite.design import size_shape
from armsense.excite.families import (
    Aprbs,
    CosinePolynomial,
    FourierSeries,
    KINDS,
    Polynomial,
    rebuild_shape,
)
from armsense.model import Arm

START, END = np.array([0.3, -0.7, 1.1]), np.array([-0.4, 0.2, 0.9])
SHAPES = {
    'fourier': FourierSeries(START, 8.0, 4),
    'cosine_polynomial': CosinePolynomial(START, END, 5.0, 6),
    'polynomial': Polynomial(START, END, 6.0, 10),
    'aprbs': Aprbs(START, 20.0, 1.5, 1.2, seed=3),
}


@pytest.fixture(params=SHAPES, ids=list(SHAPES))
def shape(request):
    return SHAPES[request.param]


def random_motion(shape, seed=0):
    x = np.random.default_rng(seed).normal(size=(shape.n, shape.free().shape[1]))
    return shape.rest() + x @ shape.free().T


@pytest.mark.parametrize('order', [1, 2, 3])
def test_derivatives_match_finite_differences(shape, order):
    c, h = random_motion(shape), 1e-5
    t = np.linspace(0.013, shape.period - 0.017, 57)
    below = (shape.derivative(c, t + h, order - 1) - shape.derivative(c, t - h, order - 1)) / 2 / h
    exact = shape.derivative(c, t, order)
    np.testing.assert_allclose(exact, below, atol=2e-6 * max(1.0, np.abs(exact).max()))


def test_snap_matches_finite_differences(shape):
    c, h = random_motion(shape), 1e-6
    t = np.linspace(0.013, shape.period - 0.017, 57)
    below = (shape.derivative(c, t + h, 3) - shape.derivative(c, t - h, 3)) / 2 / h
    exact = shape.derivative(c, t, 4)
    np.testing.assert_allclose(exact, below, atol=1e-5 * np.abs(exact).max())


def test_starts_and_ends_at_rest_in_its_poses_exactly(shape):
    c = random_motion(shape, seed=1)
    ends = shape.motion(c, [0.0, shape.period])
    np.testing.assert_allclose(ends.q, [shape.start, shape.end], atol=1e-11)
    np.testing.assert_allclose(ends.dq, 0.0, atol=1e-11)
    np.testing.assert_allclose(ends.ddq, 0.0, atol=2e-10)


def test_no_free_parameter_is_lost(shape):
    t = np.linspace(0.0, shape.period, 400)
    for joint in range(shape.n):
        columns = shape.basis(t, 0)[:, joint] @ shape.free()
        assert np.linalg.matrix_rank(columns) == columns.shape[1]


def test_zero_parameters_of_a_closed_motion_stand_still():
    for shape in (SHAPES['fourier'], SHAPES['aprbs'], CosinePolynomial(START, START, 5.0, 4)):
        motion = shape.motion(shape.rest(), np.linspace(0.0, shape.period, 50))
        np.testing.assert_allclose(motion.q, np.tile(START, (50, 1)), atol=1e-12)


def test_fourier_is_eq_4_34_of_thesis_000():
    shape = SHAPES['fourier']
    c = np.random.default_rng(2).normal(size=(3, 9))
    w, t = 2 * np.pi / 8.0, 1.7
    for j in range(3):
        a, b = c[j, 1:5], c[j, 5:]
        q = c[j, 0] + sum(a[l - 1] / (w * l) * np.sin(w * l * t)
                          - b[l - 1] / (w * l) * np.cos(w * l * t) for l in range(1, 5))
        dq = sum(a[l - 1] * np.cos(w * l * t) + b[l - 1] * np.sin(w * l * t) for l in range(1, 5))
        motion = shape.motion(c, [t])
        assert motion.q[0, j] == pytest.approx(q, abs=1e-12)
        assert motion.dq[0, j] == pytest.approx(dq, abs=1e-12)


def test_fourier_holds_no_frequency_above_its_bandwidth():
    shape = SHAPES['fourier']
    t = np.arange(256) * shape.period / 256
    spectrum = np.abs(np.fft.rfft(shape.derivative(random_motion(shape), t, 2), axis=0))
    frequency = np.arange(len(spectrum)) / shape.period
    assert spectrum[frequency > shape.bandwidth + 1e-9].max() < 1e-9 * spectrum.max()


def test_cosine_polynomial_is_a_quintic_plus_cosines():
    shape, c = SHAPES['cosine_polynomial'], random_motion(SHAPES['cosine_polynomial'])
    t = np.linspace(0.0, 5.0, 200)
    cosines = sum(np.outer(np.cos(m * np.pi * t / 5.0), c[:, m - 1]) for m in range(1, 7))
    rest = shape.motion(c, t).q - cosines
    for j in range(3):
        fit = np.polynomial.Polynomial.fit(t, rest[:, j], 5)
        np.testing.assert_allclose(fit(t), rest[:, j], atol=1e-10)


def test_polynomial_has_its_degree():
    shape, c = SHAPES['polynomial'], random_motion(SHAPES['polynomial'])
    t = np.linspace(0.0, 6.0, 200)
    q = shape.motion(c, t).q[:, 0]
    exact = np.polynomial.Polynomial.fit(t, q, 10)
    lower = np.polynomial.Polynomial.fit(t, q, 9)
    assert np.abs(exact(t) - q).max() < 1e-9
    assert np.abs(lower(t) - q).max() > 1e-4


def test_aprbs_step_has_the_peaks_of_a_sin2_acceleration():
    shape = SHAPES['aprbs']
    c = shape.rest()
    c[0, 0] += 0.5                                       # one step of joint 1 by h = 0.5
    t = np.linspace(0.0, 1.2, 24001)
    motion = shape.motion(c, t)
    assert motion.dq[:, 0].max() == pytest.approx(2 * 0.5 / 1.2, rel=1e-6)
    assert motion.ddq[:, 0].max() == pytest.approx(8 * 0.5 / 1.2**2, rel=1e-6)
    quarter = motion.ddq[2000, 0]                         # u = 1/12
    assert quarter == pytest.approx(8 * 0.5 / 1.2**2 * np.sin(np.pi / 6) ** 2, rel=1e-6)
    assert motion.q[-1, 0] == pytest.approx(START[0] + 0.5, abs=1e-12)
    np.testing.assert_allclose(motion.q[:, 1:], np.tile(START[1:], (len(t), 1)), atol=1e-12)


def test_aprbs_holds_its_levels_between_moves():
    shape, c = SHAPES['aprbs'], random_motion(SHAPES['aprbs'])
    motion = shape.motion(c, np.linspace(0.0, shape.period, 4001))
    still = np.abs(motion.dq) < 1e-12
    for j in range(3):
        levels = np.append(c[j], START[j])
        distance = np.abs(motion.q[still[:, j], j][:, None] - levels).min(axis=1)
        assert still[:, j].mean() > 0.1
        assert distance.max() < 1e-9


def test_aprbs_schedules_of_joints_differ():
    t = np.linspace(0.0, 20.0, 2001)
    basis = SHAPES['aprbs'].basis(t, 0)
    assert np.abs(basis[:, 0] - basis[:, 1]).max() > 0.5


@pytest.mark.parametrize('kind', KINDS)
def test_sizing_keeps_the_band_limit_and_rebuilds_the_same_motion(kind):
    model = Arm.load('laas4')
    home = np.array(model.config.home)
    constraints = Constraints.of(model, band_limit=0.5)
    shape = size_shape(kind, home, home, constraints, period=40.0 if kind == 'aprbs' else 10.0,
                       harmonics=5, seed=4)
    assert shape.bandwidth <= 0.5 + 1e-9
    again = rebuild_shape(kind, home, home, shape.period, shape.size, shape.options)
    c, t = random_motion(shape), np.linspace(0.0, shape.period, 33)
    np.testing.assert_array_equal(again.motion(c, t).q, shape.motion(c, t).q)


def test_errors_name_the_bad_value():
    constraints = Constraints.of(Arm.load('laas4'), band_limit=0.4)
    with pytest.raises(BadValue, match=r'0\.5.*<= the band limit of 0\.4 Hz'):
        size_shape('fourier', np.zeros(4), np.zeros(4), constraints, period=10.0, harmonics=5,
                   seed=0)
    with pytest.raises(UnknownName, match="did you mean 'fourier'"):
        size_shape('furier', np.zeros(4), np.zeros(4), constraints, period=10.0, harmonics=2,
                   seed=0)
    with pytest.raises(ArmsenseError, match='ends where it starts'):
        size_shape('fourier', np.zeros(4), np.ones(4), constraints, period=10.0, harmonics=2,
                   seed=0)
    with pytest.raises(BadValue, match='harmonics of a Fourier series is 1'):
        FourierSeries(START, 8.0, 1)
    with pytest.raises(BadValue, match=r'coefficients is \(3, 2\)'):
        SHAPES['fourier'].motion(np.zeros((3, 2)), [0.0])
