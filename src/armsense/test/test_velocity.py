import numpy as np
import pytest

from armsense.errors import ArmsenseError
from armsense.velocity import regression_weights, WeightedRegression
from bench.velocity_filters import BackwardDifference, KalmanVelocity, Regression

PERIOD = 1e-3
FILTERS = {
    'backward': lambda n: BackwardDifference(n, PERIOD),
    'backward_lowpass': lambda n: BackwardDifference(n, PERIOD, time_constant=5e-3),
    'regression': lambda n: Regression(n, window=20, period=PERIOD),
    'regression_quadratic': lambda n: Regression(n, window=30, period=PERIOD, degree=2),
    'kalman': lambda n: KalmanVelocity(n, PERIOD, position_noise=1e-4, jerk=300.0),
}
EACH = pytest.mark.parametrize('make', FILTERS.values(), ids=FILTERS.keys())


def run(velocity_filter, positions, dts):
    return np.array([velocity_filter.step(x, dt).copy()
                     for x, dt in zip(positions, dts, strict=True)])


def settled_ramp(velocity_filter, acceleration=3.0, seconds=1.0):
    t = PERIOD * np.arange(int(seconds / PERIOD))
    shown = run(velocity_filter, 0.5 * acceleration * t[:, None]**2, np.full(len(t), PERIOD))
    return (acceleration * t - shown[:, 0])[-1] / acceleration


@EACH
def test_delay_is_the_lag_under_constant_acceleration(make):
    assert settled_ramp(make(1)) == pytest.approx(make(1).characteristics().delay, abs=1e-8)


def test_a_regression_knows_its_delay():
    regression = Regression(1, 12, PERIOD)
    assert regression.delay == regression.characteristics().delay


@EACH
def test_noise_gain_is_that_of_white_noise(make):
    # 4000 independent joints x 600 samples; only the last sample of each counts: 1.1 % std error.
    rng = np.random.default_rng(5)
    noise = rng.normal(0.0, 1e-4, (600, 4000))
    shown = run(make(4000), noise, np.full(600, PERIOD))[-1]
    assert shown.std() == pytest.approx(1e-4 * make(1).characteristics().noise_gain, rel=0.04)


@EACH
def test_half_response_is_the_time_to_half_of_a_velocity_step(make):
    t = PERIOD * np.arange(-2000, 400)
    shown = run(make(1), np.maximum(t, 0.0)[:, None], np.full(len(t), PERIOD))[:, 0]
    k = int(np.argmax(shown >= 0.5))
    crossing = t[k - 1] + PERIOD * (0.5 - shown[k - 1]) / (shown[k] - shown[k - 1])
    assert crossing == pytest.approx(make(1).characteristics().half_response, abs=1e-6)


def test_delays_in_closed_form():
    assert BackwardDifference(1, PERIOD).characteristics().delay == pytest.approx(PERIOD / 2)
    assert BackwardDifference(1, PERIOD).characteristics().noise_gain == pytest.approx(
        np.sqrt(2.0) / PERIOD)
    # Equal weights: the slope of m points lags by half the window, var = 12 / (h^2 m (m^2 - 1)).
    m = 21
    flat = Regression(1, m, PERIOD, time_constant=1e6).characteristics()
    assert flat.delay == pytest.approx((m - 1) / 2 * PERIOD, rel=1e-6)
    assert flat.noise_gain == pytest.approx(np.sqrt(12 / (m * (m**2 - 1))) / PERIOD, rel=1e-6)


@pytest.mark.parametrize('degree', [1, 2])
def test_weights_solve_the_weighted_fit(degree):
    rng = np.random.default_rng(1)
    ages = np.sort(rng.uniform(0.0, 0.02, 12))
    x = rng.normal(size=12)
    # numpy's polyfit takes the square roots of the weights.
    fit = np.polynomial.Polynomial(np.polynomial.polynomial.polyfit(
        -ages, x, degree, w=np.exp(-0.5 * ages / 0.007)))
    derivatives = regression_weights(ages, 0.007, degree) @ x
    assert derivatives[0] == pytest.approx(fit.deriv(1)(0.0), rel=1e-9)
    if degree == 2:
        assert derivatives[1] == pytest.approx(fit.deriv(2)(0.0), rel=1e-9)


@EACH
def test_constant_velocity_is_exact_under_jitter_and_losses(make):
    rng = np.random.default_rng(2)
    dts = PERIOD * rng.uniform(0.3, 2.0, 3000)
    t = np.cumsum(dts)
    positions = np.stack([0.4 + 1.5 * t, -2.0 * t], axis=1)
    lost = rng.random(3000) < 0.1
    lost[:2] = False
    positions[lost, 0] = np.nan
    shown = run(make(2), positions, dts)
    assert np.isfinite(shown).all()
    np.testing.assert_allclose(shown[-1], [1.5, -2.0], atol=2e-6)


@EACH
@pytest.mark.parametrize('gap', [0.015, 0.03, 0.1, 0.5, 6.0])
def test_velocity_stays_bounded_after_a_pause_in_motion(make, gap):
    """0.4 sin(2 t) goes on meanwhile; its velocity is 0.8 rad/s at most."""
    dts = np.full(200, PERIOD)
    dts[100] = gap
    t = np.cumsum(dts)
    shown = run(make(1), 0.4 * np.sin(2.0 * t)[:, None], dts)[:, 0]
    assert np.isfinite(shown).all()
    assert np.abs(shown[2:]).max() < 2.0
    assert shown[-1] == pytest.approx(0.8 * np.cos(2.0 * t[-1]), abs=0.02)


@EACH
@pytest.mark.parametrize('dt', [-10.0, np.nan, np.inf])
def test_a_clock_that_jumps_costs_one_window(make, dt):
    velocity_filter = make(1)
    t = PERIOD * np.arange(100)
    before = run(velocity_filter, 0.5 * t[:, None], np.full(100, PERIOD))[-1]
    assert velocity_filter.step(np.array([7.0]), dt) == pytest.approx(before)
    after = run(velocity_filter, (7.0 - 2.0 * t[1:40])[:, None], np.full(39, PERIOD))[:, 0]
    assert np.isfinite(after).all()
    assert after[-10:] == pytest.approx(-2.0, rel=0.02)


@pytest.mark.parametrize('degree', [1, 2])
def test_regression_begins_anew_after_a_long_pause(degree):
    dts = np.full(60, PERIOD)
    dts[30] = 0.2
    t = np.cumsum(dts)
    x = np.where(np.arange(60) < 30, 0.5 * t, -3.0 * t)[:, None]
    regression = WeightedRegression(1, 10, PERIOD, degree=degree, max_gap=0.02)
    shown = run(regression, x[:30], dts[:30])
    assert regression.settled
    # The mean over the pause, then what is known since.
    secant = (x[30, 0] - x[29, 0]) / 0.2
    assert regression.step(x[30], 0.2)[0] == pytest.approx(secant)
    shown = run(regression, x[31:39], dts[31:39])
    assert shown[:, 0] == pytest.approx(-3.0)
    assert not regression.settled
    run(regression, x[39:40], dts[39:40])
    assert regression.settled


def test_quadratic_regression_gives_the_acceleration_under_jitter():
    rng = np.random.default_rng(3)
    dts = PERIOD * rng.uniform(0.5, 1.5, 200)
    t = np.cumsum(dts)
    regression = WeightedRegression(1, 15, PERIOD, degree=2)
    shown = run(regression, (2.0 * t**2)[:, None], dts)
    assert shown[-1, 0] == pytest.approx(4.0 * t[-1], abs=1e-9)
    assert regression.acceleration[0] == pytest.approx(4.0, rel=1e-6)


def test_kalman_settles_to_the_gain_of_the_riccati_equation():
    kalman = KalmanVelocity(1, PERIOD, position_noise=2e-4, jerk=100.0)
    run(kalman, np.zeros((3000, 1)), np.full(3000, PERIOD))
    np.testing.assert_allclose(kalman._gain, kalman._steady_gain(), rtol=1e-6)


@pytest.mark.parametrize('name', sorted(set(FILTERS) - {'backward_lowpass'}))
def test_start_in_motion_is_right_from_the_third_sample(name):
    # Two points and a straight line; only the low pass must settle first.
    t = PERIOD * np.arange(4)
    shown = run(FILTERS[name](1), (0.7 + 2.0 * t)[:, None], np.full(4, PERIOD))
    assert shown[2, 0] == pytest.approx(2.0, rel=0.02)


@EACH
def test_reset_forgets(make):
    rng = np.random.default_rng(4)
    positions, dts = rng.normal(size=(60, 3)), np.full(60, PERIOD)
    velocity_filter = make(3)
    first = run(velocity_filter, positions, dts)
    velocity_filter.reset()
    np.testing.assert_array_equal(run(velocity_filter, positions, dts), first)


def test_regression_is_quieter_than_the_difference_on_a_quantised_encoder():
    step = 2 * np.pi / 4096
    t = PERIOD * np.arange(3000)
    true = 1.5 * np.sin(2 * t)
    counted = (np.floor(np.cumsum(true) * PERIOD / step) * step)[:, None]
    dts = np.full(len(t), PERIOD)
    error = {name: np.abs(run(FILTERS[name](1), counted, dts)[50:, 0] - true[50:]).max()
             for name in ('backward', 'regression')}
    assert error['backward'] > 10 * error['regression']


def test_bad_values_are_named():
    with pytest.raises(ArmsenseError, match='window'):
        WeightedRegression(2, window=1)
    with pytest.raises(ArmsenseError, match='jerk'):
        KalmanVelocity(2, jerk=0.0)
