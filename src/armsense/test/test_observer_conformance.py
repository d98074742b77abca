"""One suite over all observers, against MuJoCo's dynamics integrated by scipy's DOP853.

The plant shares no code with the observers. Its torque is constant over a step, its samples are
exact to the integrator's tolerance (1e-14 relative), which the division by the period turns into
about 1e-11 Nm. With Simpson's rule for beta the momentum observers leave nothing above that. With
the default trapezoid the rest is period^2 beta'' / 12, some 1e-6 Nm at 1 kHz; with the difference
of velocities as acceleration the direct residual has an error of the same order.
"""

from functools import lru_cache
from typing import NamedTuple

import mujoco
import numpy as np
import pytest
from scipy.integrate import solve_ivp
import scipy.linalg
import scipy.signal

from armsense.drive import ElasticJoint, RigidDrive, StrainLink
from armsense.errors import ArmsenseError
from armsense.model import Arm
from armsense.observer import (
    DirectObserver,
    FirstOrderFilter,
    HigherOrderFilter,
    KalmanFilter,
    make_observer,
    MomentumObserver,
    ObserverOptions,
    OBSERVERS,
)
from armsense.observer.residual_filter import momentum_noise
from armsense.types import ArmState

PERIOD = 1e-3
GAIN = 80.0  # [1/s]
MOMENTUM = tuple(name for name in OBSERVERS if name != 'direct')
# Simpson: see above. The direct residual has no quadrature to improve.
EXACT = {name: 1e-9 if name in MOMENTUM else 2e-4 for name in OBSERVERS}
EACH = pytest.mark.parametrize('name', OBSERVERS)
SIMPSON = ObserverOptions(quadrature='simpson')


class Run(NamedTuple):
    q: np.ndarray  # (N + 1, n)
    dq: np.ndarray  # (N + 1, n)
    tau: np.ndarray  # (N, n) constant over each step
    dt: np.ndarray  # (N,)
    ddq: np.ndarray  # (N, n) at the end of each step, just before the torque changes


@lru_cache(maxsize=1)
def arm() -> Arm:
    return Arm.load('laas4')


@lru_cache(maxsize=1)
def plant():
    spec = mujoco.MjSpec.from_string(arm().urdf)
    spec.compiler.fusestatic = spec.compiler.balanceinertia = False
    model = spec.compile()
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_LIMIT
    model.dof_armature[:], model.opt.gravity[:] = arm().armature, arm().gravity
    return model, mujoco.MjData(model)


def acceleration(q, dq, tau):
    model, data = plant()
    data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q, dq, tau
    mujoco.mj_forward(model, data)
    return data.qacc.copy()


def simulate(dt, external=None, dq0=(1.0, -0.8, 1.5, 2.0)) -> Run:
    """A swinging motion under a held torque; `external(k, q)` is an external torque per step."""
    n, home = arm().n, np.array(arm().config.home)
    q, dq = home, np.array(dq0)
    qs, dqs, taus, ddqs, t = [q], [dq], [], [], 0.0
    for k, h in enumerate(dt):
        wanted = home + 0.6 * np.sin(np.array([2.0, 3.0, 4.0, 5.0]) * t)
        tau = arm().gravity_torque(q) + arm().mass_matrix(q) @ (100.0 * (wanted - q) - 20.0 * dq)
        total = tau if external is None else tau + external(k, q)
        y = solve_ivp(lambda _, y, u=total: np.append(y[n:], acceleration(y[:n], y[n:], u)),
                      (0.0, h), np.append(q, dq), method='DOP853', rtol=2.3e-14, atol=1e-15).y
        q, dq, t = y[:n, -1], y[n:, -1], t + h
        qs.append(q)
        dqs.append(dq)
        taus.append(tau)
        ddqs.append(acceleration(q, dq, total))
    return Run(np.array(qs), np.array(dqs), np.array(taus), np.array(dt), np.array(ddqs))


@lru_cache(maxsize=1)
def free() -> Run:
    return simulate(np.full(250, PERIOD))


def step_torque(k, q):
    return np.array([0.0, 1.5, -0.7, 0.4]) if k >= 50 else np.zeros(4)


@lru_cache(maxsize=1)
def pushed() -> Run:
    return simulate(np.full(150, PERIOD), step_torque)


def make(name, gain=GAIN, options=SIMPSON):
    return make_observer(name, arm(), gain, options)


def observe(observer, run, start=0, stop=None, with_acceleration=False):
    """Residuals of the steps from `start` up to `stop`, one row each."""
    out = []
    for k in range(start, stop or len(run.tau)):
        extra = (run.ddq[k],) if with_acceleration else ()
        out.append(observer.step(run.q[k + 1], run.dq[k + 1], run.tau[k], run.dt[k], *extra))
    return np.array(out)


def test_plant_and_model_are_the_same_arm():
    rng = np.random.default_rng(0)
    q, dq, tau = rng.normal(size=(3, 4))
    np.testing.assert_allclose(acceleration(q, dq, tau), arm().forward_dynamics(q, dq, tau),
                               rtol=1e-11)


def test_momentum_terms_are_those_of_the_matrices():
    rng = np.random.default_rng(1)
    q, dq = rng.normal(size=(2, 4))
    terms = tuple(np.empty(4) for _ in range(3))
    arm().momentum_terms(q, dq, terms)
    C = arm().coriolis_matrix(q, dq)
    np.testing.assert_allclose(terms[0], arm().mass_matrix(q) @ dq, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(terms[1], C.T @ dq, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(terms[2], arm().gravity_torque(q), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(arm().momentum_rate(q, dq), terms[1] - terms[2], atol=1e-13)
    # dM/dt - 2 C is skew: C^T dq is the gradient of the kinetic energy along q.
    h = 1e-6
    gradient = [dq @ (arm().mass_matrix(q + h * e) - arm().mass_matrix(q - h * e)) @ dq / (4 * h)
                for e in np.eye(4)]
    np.testing.assert_allclose(terms[1], gradient, atol=1e-8)


@EACH
def test_free_motion_leaves_no_residual(name):
    observer = make(name)
    observer.reset(free().q[0], free().dq[0])
    assert np.abs(observe(observer, free())).max() < EXACT[name]


def test_direct_residual_is_exact_with_the_true_acceleration():
    observer = make('direct')
    residuals = observe(observer, free(), with_acceleration=True)
    assert np.abs(residuals).max() < 1e-9


def readings(kind):
    """What the sensors of a drive say to the torques of the free run, and the drive."""
    run, zero = free(), np.zeros(4)
    if kind == 'rigid':
        drive = RigidDrive.from_config(arm().config)
        return drive, [ArmState.rigid(q, dq, tau + drive.friction.torque(dq, tau))
                       for q, dq, tau in zip(run.q[1:], run.dq[1:], run.tau, strict=True)]
    if kind == 'elastic':
        coupling = np.zeros((4, 4))
        coupling[3, 2] = -0.6
        springs = ElasticJoint([17.0, 10.0, 6.0, 3.0], [0.2, 0.2, 0.1, 0.05], coupling,
                               [0.5, 0.5, 0.1, 0.01])
        path = np.eye(4) + coupling
        # Motors that follow their springs: only bearing friction and torque deflect them.
        return springs, [ArmState(q, dq, springs.motor_position(
            q, tau + springs.link_damping * dq), path @ dq, zero)
                         for q, dq, tau in zip(run.q[1:], run.dq[1:], run.tau, strict=True)]
    gauges = StrainLink([8000.0, 8000.0, 4000.0, 2000.0])
    return gauges, [ArmState.rigid(q, dq, strain=gauges.strain(tau, q))
                    for q, dq, tau in zip(run.q[1:], run.dq[1:], run.tau, strict=True)]


@pytest.mark.parametrize('kind', ['rigid', 'elastic', 'strain', 'effort'])
@EACH
def test_free_motion_leaves_no_residual_whatever_the_drive(name, kind):
    """Currents with friction, springs, gauges, or efforts as joint_states has them."""
    torques = free().tau
    if kind != 'effort':
        drive, rows = readings(kind)
        torques = np.array([drive.link_torque(row) for row in rows])
    observer = make(name)
    observer.reset(free().q[0], free().dq[0])
    assert np.abs(observe(observer, free()._replace(tau=torques))).max() < EXACT[name]


@EACH
def test_free_motion_with_the_trapezoid(name):
    observer = make(name, options=ObserverOptions())
    observer.reset(free().q[0], free().dq[0])
    assert np.abs(observe(observer, free())).max() < 2e-5  # [Nm] period^2 beta'' / 12


@EACH
def test_start_in_motion_causes_no_phantom(name):
    """Without `reset`, in the middle of a motion: the first sample is the anchor."""
    observer = make(name)
    assert np.abs(free().dq[100]).max() > 0.5
    residuals = observe(observer, free(), start=100)
    assert np.abs(residuals).max() < EXACT[name]
    assert observer.valid


def theory(name, count):
    """Response to a unit step that begins with the first of `count` samples, from scipy."""
    t = PERIOD * np.arange(1, count + 1)
    if name in ('first_order', 'likelihood', 'direct'):
        return 1.0 - np.exp(-GAIN * t)
    if name == 'kalman':
        return kalman_theory(count)
    zeros, poles, k = scipy.signal.besselap({'second_order': 2, 'third_order': 3}[name], 'delay')
    system = scipy.signal.ZerosPolesGain(zeros, poles * GAIN, k * GAIN ** len(poles))
    _, response = scipy.signal.step(system, T=np.append(0.0, t))
    return response[1:]


def kalman_theory(count):
    """The textbook filter on [p, d] with its Riccati gain, fed with p of a unit disturbance."""
    A, H = np.array([[1.0, PERIOD], [0.0, 1.0]]), np.array([[1.0, 0.0]])
    rate = GAIN**2 * np.sqrt(PERIOD)
    Q = rate**2 * np.array([[PERIOD**3 / 3, PERIOD**2 / 2], [PERIOD**2 / 2, PERIOD]])
    P = scipy.linalg.solve_discrete_are(A.T, H.T, Q, np.eye(1))
    gain = (P @ H.T / (H @ P @ H.T + 1.0))[:, 0]
    x, out = np.zeros(2), []
    for k in range(1, count + 1):
        x = A @ x
        x = x + gain * (k * PERIOD - x[0])
        out.append(x[1])
    return np.array(out)


@EACH
def test_step_response_is_the_theory(name):
    """A torque step inside a motion; exact, hence also within one sample."""
    residuals = observe(make(name), pushed())
    expected = theory(name, 100)[:, None] * step_torque(50, None)
    tolerance = 1e-6 if name in MOMENTUM else 2e-3
    # The filters are exact; scipy's simulated step response is good to 1e-7.
    np.testing.assert_allclose(residuals[50:], expected, atol=tolerance)


def test_gains_are_per_joint():
    gains = np.array([20.0, 40.0, 80.0, 160.0])
    t = PERIOD * np.arange(1, 101)
    residuals = observe(make('first_order', gains), pushed())[50:]
    expected = (1.0 - np.exp(-np.outer(t, gains))) * step_torque(50, None)
    np.testing.assert_allclose(residuals, expected, atol=1e-9)
    second = observe(make('second_order', gains), pushed())[50:]
    for j in range(1, 4):
        alone = observe(make('second_order', gains[j]), pushed())[50:, j]
        np.testing.assert_allclose(second[:, j], alone, atol=1e-12)


@lru_cache(maxsize=1)
def jittered() -> Run:
    dt = PERIOD * np.random.default_rng(3).uniform(0.6, 1.4, 200)
    return simulate(dt, lambda k, q: step_torque(50, q))


@EACH
def test_jitter_changes_nothing(name):
    residuals = observe(make(name), jittered())
    if name == 'first_order':  # against the continuous filter at the true times
        t = np.cumsum(jittered().dt[1:])
        expected = (1.0 - np.exp(-GAIN * t))[:, None] * step_torque(50, None)
        np.testing.assert_allclose(residuals[1:], expected, atol=1e-9)
    np.testing.assert_allclose(residuals[-1], step_torque(50, None), atol=3e-3)


@EACH
def test_dropped_samples_are_bridged(name):
    """Every second sample and one run of six are missing: the residual stays near zero.

    The torques of the missing steps are unknown; the mean of both ends errs by what the torque's
    curvature gives, some 0.01 Nm here, and does not accumulate.
    """
    run, observer = free(), make(name)
    kept = [k for k in range(len(run.tau)) if k % 2 == 0 and not 100 <= k < 106]
    elapsed, residuals, last = 0.0, [], -1
    for k in kept:
        elapsed = run.dt[last + 1:k + 1].sum()
        residuals.append(observer.step(run.q[k + 1], run.dq[k + 1], run.tau[k], elapsed))
        last = k
    assert np.abs(residuals).max() < 0.05
    assert np.abs(residuals[-1]).max() < 0.01


@EACH
@pytest.mark.parametrize('on_gap', ['hold', 'decay'])
def test_long_gap_anchors_anew(name, on_gap):
    run = pushed()
    observer = make(name, options=ObserverOptions(quadrature='simpson', on_gap=on_gap))
    before = observe(observer, run, stop=120)[-1].copy()
    # 20.1 ms of silence, in which the arm moved on: no torque may come from the jump.
    after = observer.step(run.q[145], run.dq[145], run.tau[144], 0.0201).copy()
    assert not observer.valid
    if on_gap == 'hold':
        np.testing.assert_array_equal(after, before)
    elif name in ('first_order', 'likelihood', 'direct'):
        np.testing.assert_allclose(after, before * np.exp(-GAIN * 0.0201), rtol=1e-12)
    else:
        assert np.linalg.norm(after) < np.linalg.norm(before)
    observer.step(run.q[146], run.dq[146], run.tau[145], PERIOD)
    assert observer.valid
    np.testing.assert_allclose(observer.raw, step_torque(50, None), atol=1e-3)


@EACH
@pytest.mark.parametrize('bad', ['q', 'dq', 'tau', 'dt', 'inf', 'backwards'])
def test_bad_sample_is_flagged_and_forgotten(name, bad):
    run, observer = free(), make(name)
    observe(observer, run, stop=99)
    held = observer.residual.copy()
    q, dq, tau, dt = run.q[100].copy(), run.dq[100].copy(), run.tau[99].copy(), PERIOD
    if bad == 'q':
        q[1] = np.nan
    elif bad == 'dq':
        dq[2] = np.nan
    elif bad == 'tau':
        tau[0] = np.nan
    elif bad == 'inf':
        dq[3] = np.inf
    else:
        dt = np.nan if bad == 'dt' else -PERIOD
    with np.errstate(invalid='ignore'):
        residual = observer.step(q, dq, tau, dt)
    np.testing.assert_array_equal(residual, held)
    assert not observer.valid
    # The next good sample is the anchor, the one after it counts again.
    observer.step(run.q[102], run.dq[102], run.tau[101], PERIOD)
    assert not observer.valid
    residuals = observe(observer, run, start=102)
    assert observer.valid
    assert np.abs(residuals).max() < EXACT[name]


@EACH
def test_repeated_sample_is_ignored(name):
    run, once, twice = pushed(), make(name), make(name)
    for k in range(len(run.tau)):
        sample = run.q[k + 1], run.dq[k + 1], run.tau[k]
        a, b = once.step(*sample, PERIOD), twice.step(*sample, PERIOD)
        np.testing.assert_array_equal(a, b)
        twice.step(*sample, 0.0)


@EACH
def test_reset_starts_again_bit_for_bit(name):
    observer = make(name)
    first = observe(observer, pushed()).copy()
    observer.reset()
    assert not observer.residual.any()
    np.testing.assert_array_equal(observe(observer, pushed()), first)


class Hit(NamedTuple):
    run: Run
    truth: np.ndarray  # (N, n) external torque of each step


@lru_cache(maxsize=4)
def hit(joint) -> Hit:
    rng = np.random.default_rng(joint)
    link, point, force = arm().link_names[joint], rng.uniform(0.02, 0.1, 3), rng.normal(0, 10, 3)

    def torque(k, q):
        return arm().point_jacobian(q, link, point).T @ force
    run = simulate(np.full(120, PERIOD), torque)
    return Hit(run, np.array([torque(k, q) for k, q in enumerate(run.q[:-1])]))


@EACH
@pytest.mark.parametrize('joint', range(4))
def test_sign_and_link_of_an_external_force(name, joint):
    """A force on link i loads joints 1..i only, with the sign of J^T f (thesis 000, eq. 5.17)."""
    run, truth = hit(joint)
    observer = make(name)
    residual = observe(observer, run)[-1]
    np.testing.assert_allclose(observer.raw, truth[-1], atol=1e-8 if name in MOMENTUM else 2e-3)
    np.testing.assert_allclose(residual, truth[-1], atol=0.35)  # the arm moves: 12-18 ms of lag
    assert np.abs(residual[joint + 1:]).max(initial=0.0) < 1e-3
    assert np.sign(residual[joint]) == np.sign(truth[-1][joint])


@lru_cache(maxsize=1)
def sampled():
    """A torque that varies within the step, known at the samples only."""
    home, n = np.array(arm().config.home), arm().n

    def torque(t):
        return arm().gravity_torque(home) + 0.3 * np.sin(np.array([9.0, 14.0, 21.0, 30.0]) * t)
    t = PERIOD * np.arange(120)
    y = solve_ivp(lambda t, y: np.append(y[n:], acceleration(y[:n], y[n:], torque(t))),
                  (0.0, t[-1]), np.append(home, np.zeros(n)), method='DOP853', t_eval=t,
                  max_step=PERIOD, rtol=1e-12, atol=1e-13).y.T
    return y[:, :n].copy(), y[:, n:].copy(), np.array([torque(x) for x in t])


@EACH
def test_sampled_torque_takes_the_mean_of_both_ends(name):
    error = {}
    for kind in ('sampled', 'held'):
        observer = make(name, options=ObserverOptions(torque=kind, quadrature='simpson'))
        error[kind] = max(np.abs(observer.step(*sample, PERIOD)).max()
                          for sample in zip(*sampled(), strict=True))
    assert error['sampled'] < 1e-4 < error['held']  # period^2 tau'' / 12 against period tau' / 2


@EACH
def test_same_input_gives_the_same_bits(name):
    np.testing.assert_array_equal(observe(make(name), pushed()), observe(make(name), pushed()))


def test_momentum_noise_is_that_of_sampled_velocities():
    rng = np.random.default_rng(4)
    q, sigma = np.array(arm().config.home), np.array([0.01, 0.02, 0.05, 0.1])
    samples = rng.normal(0.0, sigma, (20000, 4)) @ arm().mass_matrix(q)
    np.testing.assert_allclose(momentum_noise(arm(), q, sigma), samples.std(axis=0), rtol=0.03)


def test_kalman_beats_the_first_order_filter_on_its_own_noise():
    """A random-walk disturbance seen through a noisy momentum: smallest error wins."""
    rng = np.random.default_rng(5)
    n, steps, noise, rate = 200, 2000, 2e-3, 20.0
    d = np.cumsum(rng.normal(0.0, rate * np.sqrt(PERIOD), (steps, n)), axis=0)
    p = np.cumsum(d * PERIOD, axis=0) + rng.normal(0.0, noise, (steps, n))
    raw = np.diff(p, axis=0) / PERIOD

    def error(residual_filter):
        out = np.array([residual_filter.step(row, PERIOD).copy() for row in raw])
        return np.sqrt(np.mean((out - d[1:])[200:] ** 2))
    kalman = error(KalmanFilter(np.full(n, noise), np.full(n, rate), PERIOD))
    lags = [error(FirstOrderFilter(np.full(n, k))) for k in (20.0, 40.0, 80.0, 160.0, 320.0)]
    assert kalman < min(lags)


def test_bad_arguments_are_named():
    with pytest.raises(ArmsenseError, match='first_order'):
        make_observer('first-order', arm())
    with pytest.raises(ArmsenseError, match='gain'):
        make_observer('first_order', arm(), -1.0)
    with pytest.raises(ArmsenseError, match='shape of gain'):
        make_observer('first_order', arm(), [1.0, 2.0])
    with pytest.raises(ArmsenseError, match='distinct'):
        HigherOrderFilter([-1.0, -1.0], [10.0])
    with pytest.raises(ArmsenseError, match='left half plane'):
        HigherOrderFilter([1.0], [10.0])
    with pytest.raises(ArmsenseError, match='quadrature'):
        ObserverOptions(quadrature='euler')
    with pytest.raises(ArmsenseError, match='number of gains'):
        MomentumObserver(arm(), FirstOrderFilter([10.0]))
    with pytest.raises(ArmsenseError, match='tau_link'):
        DirectObserver(arm(), FirstOrderFilter([10.0] * 4)).step(
            np.zeros(4), np.zeros(4), np.zeros(3), PERIOD)
