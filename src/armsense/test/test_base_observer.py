"""The base residual against MuJoCo, analytic motions and a moving base."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from armsense.base.base_observer import BaseObserver, BaseObserverOptions
from armsense.base.cell_layout import CellLayout
from armsense.base.vibration import VibrationMode
from armsense.errors import ArmsenseError
from armsense.model import Arm
from armsense.model.base_motion import BaseMotion
from armsense.sim import make_plant

DT = 1e-3


@pytest.fixture(scope='module')
def laas4():
    model = Arm.load('laas4')
    return model, CellLayout.of_config(model.config.load_cells)


def sines(t, n, amplitude=0.5, frequency=0.7):
    phase = 2 * np.pi * frequency * t + np.arange(n)
    w = 2 * np.pi * frequency
    return (amplitude * np.sin(phase), amplitude * w * np.cos(phase),
            -amplitude * w**2 * np.sin(phase))


@pytest.mark.parametrize('arm', ['laas4', 'crs_a255', 'zeego'])
def test_momentum_and_weight_give_the_wrench_without_acceleration(arm):
    model = Arm.load(arm)
    rng = np.random.default_rng(2)
    for _ in range(5):
        q, dq, ddq = rng.uniform(-1, 1, (3, model.n))
        e = 1e-5
        after, _ = model.base_momentum(q + e * dq + 0.5 * e**2 * ddq, dq + e * ddq)
        before, _ = model.base_momentum(q - e * dq + 0.5 * e**2 * ddq, dq - e * ddq)
        _, weight = model.base_momentum(q, dq)
        wrench = model.base_wrench(q, dq, ddq)
        scale = np.abs(wrench).max()
        np.testing.assert_allclose(weight - (after - before) / (2 * e), wrench,
                                   atol=1e-7 * scale)


def drive(plant, model, seconds, push=None, step=None):
    """MuJoCo under computed torque; calls `step(q, dq, wrench, t)` each millisecond."""
    kp, kd = 400.0, 40.0
    friction = [j.friction for j in model.config.joints.values()]
    viscous = np.array([f.viscous for f in friction])
    plant.reset(sines(0.0, model.n)[0])
    for k in range(round(seconds / DT)):
        t = k * DT
        q_d, dq_d, ddq_d = sines(t, model.n)
        state = plant.state
        q, dq = state.joint_position, state.joint_velocity
        if push is not None and abs(t - push[0]) < 0.5 * DT:
            plant.apply_force(*push[1:])
        a = ddq_d + kd * (dq_d - dq) + kp * (q_d - q)
        step(q, dq, plant.base_wrench, t)
        plant.step(model.inverse_dynamics(q, dq, a) + viscous * dq, DT)


def test_residual_stays_small_in_free_motion_and_finds_a_push(laas4):
    model, layout = laas4
    plant = make_plant('laas4')
    observer = BaseObserver(model, layout)
    rows = []

    def step(q, dq, wrench, t):
        reading = observer.step(q, dq, layout.felt(wrench), DT)
        rows.append((*reading.residual, *plant_truth(), reading.valid))

    def plant_truth():
        contacts = plant.contact
        if not contacts:
            return np.zeros(3)
        c = contacts[0]
        return layout.felt(np.concatenate([c.force, np.cross(c.point, c.force)]))
    drive(plant, model, 1.6, (1.0, 'link4', [0.05, 0, 0], [0.0, 3.0, -5.0]), step)
    table = np.array(rows, float)
    free = table[200:1000]
    assert free[:, 6].all()
    # The motion itself shows several newtons: the prediction takes it away.
    assert np.abs(free[:, :3]).max(axis=0) == pytest.approx(0, abs=0.02)
    pushed = table[-200:]
    np.testing.assert_allclose(pushed[:, :3], pushed[:, 3:6], atol=0.25)
    assert np.abs(pushed[:, 0]).min() > 4.0


def test_step_response_is_a_first_order_low_pass(laas4):
    model, layout = laas4
    observer = BaseObserver(model, layout, BaseObserverOptions(gain=25.0))
    q, zero = np.array(model.config.home), np.zeros(4)
    weight = layout.felt(model.base_wrench(q, zero, zero))
    for _ in range(300):
        reading = observer.step(q, zero, weight, DT)
    np.testing.assert_allclose(reading.residual, 0, atol=1e-9)
    assert reading.valid
    external = np.array([-5.0, 1.0, 2.0])
    for _ in range(40):
        reading = observer.step(q, zero, weight + external, DT)
    # Trapezoid: the first sample of a jump counts half.
    expected = 1 - np.exp(-25.0 * 0.0395)
    np.testing.assert_allclose(reading.residual, expected * external, rtol=2e-3)
    np.testing.assert_allclose(reading.measured - reading.predicted, reading.residual)
    np.testing.assert_allclose(reading.predicted, weight, atol=0.02)


def test_lags_of_cells_and_velocity_are_aligned(laas4):
    model, layout = laas4

    def worst(options, cell_lag, velocity_lag):
        observer = BaseObserver(model, layout, options)
        largest = 0.0
        for k in range(1500):
            t = k * DT
            q, _, _ = sines(t, 4)
            _, dq, _ = sines(t - velocity_lag, 4)
            felt = layout.felt(model.base_wrench(*sines(t - cell_lag, 4)))
            reading = observer.step(q, dq, felt, DT)
            if k > 500:
                largest = max(largest, np.abs(reading.residual).max())
        return largest
    for cell_lag, velocity_lag in ((0.012, 0.004), (0.0, 0.0043), (0.02, 0.0)):
        plain = worst(BaseObserverOptions(), cell_lag, velocity_lag)
        aligned = worst(BaseObserverOptions(cell_lag=cell_lag, velocity_lag=velocity_lag),
                        cell_lag, velocity_lag)
        assert aligned < 2e-3
        assert plain > 20 * aligned


def test_moving_base_against_a_floating_one(laas4):
    """A carrier in free motion, simulated in world coordinates by differences."""
    model, layout = laas4[0], CellLayout.six_axis()

    def carrier(t):
        R = Rotation.from_rotvec([0.3 * np.sin(2 * t), 0.2 * np.sin(3 * t), 0.5 * t]).as_matrix()
        return R, np.array([0.2 * np.sin(4 * t), 0.1 * np.cos(5 * t), 0.3 * np.sin(3 * t)])

    def momentum(t):
        """Of all links about the world origin, by mass points of an equivalent body."""
        R, p = carrier(t)
        q, _, _ = sines(t, 4)
        total = np.zeros(6)
        e = 1e-4
        for k in range(4):
            c1, I1, m = link(t + e, k)
            c0, _, _ = link(t - e, k)
            _, Rl = pose(t, k)
            dR = (pose(t + e, k)[1] - pose(t - e, k)[1]) / (2 * e)
            W = dR @ Rl.T
            omega = np.array([W[2, 1], W[0, 2], W[1, 0]])
            c, inertia, _ = link(t, k)
            v = (c1 - c0) / (2 * e)
            total[:3] += m * v
            total[3:] += np.cross(c, m * v) + inertia @ omega
        return total

    def pose(t, k):
        R, p = carrier(t)
        T = model.frame_pose(sines(t, 4)[0], f'link{k + 1}')
        return p + R @ T[:3, 3], R @ T[:3, :3]

    def link(t, k):
        pi = model.parameters.reshape(-1, 10)[k]
        m, c = pi[0], pi[1:4] / pi[0]
        xx, xy, yy, xz, yz, zz = pi[4:]
        about = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        central = about - m * (c @ c * np.eye(3) - np.outer(c, c))
        p, R = pose(t, k)
        return p + R @ c, R @ central @ R.T, m

    g = np.array([0, 0, -9.81])
    for t in (0.3, 1.1):
        R, p = carrier(t)
        e = 1e-3
        rate = (momentum(t + e) - momentum(t - e)) / (2 * e)
        weight = np.zeros(6)
        for k in range(4):
            c, _, m = link(t, k)
            weight += np.concatenate([m * g, np.cross(c, m * g)])
        world = weight - rate                                  # about the world origin
        force, moment = world[:3], world[3:] - np.cross(p, world[:3])
        expected = np.concatenate([R.T @ force, R.T @ moment])
        velocity = (carrier(t + e)[1] - 2 * p + carrier(t - e)[1]) / e**2

        def spin(s, e=e):
            W = (carrier(s + e)[0] - carrier(s - e)[0]) / (2 * e) @ carrier(s)[0].T
            return np.array([W[2, 1], W[0, 2], W[1, 0]])
        alpha = (spin(t + e) - spin(t - e)) / (2 * e)
        motion = BaseMotion(R.T @ (velocity - g), R.T @ spin(t), R.T @ alpha)
        q, dq, ddq = sines(t, 4)
        np.testing.assert_allclose(model.base_wrench(q, dq, ddq, motion), expected, atol=2e-3)
    # The observer follows it without joint accelerations.
    observer = BaseObserver(model, layout)
    for k in range(400):
        q, dq, ddq = sines(k * DT, 4)
        turning = BaseMotion(np.array([1.0, -2.0 * np.sin(k * DT), 9.0]),
                             np.array([0.5, np.cos(k * DT), -1.0]),
                             np.array([0.0, -np.sin(k * DT), 0.0]))
        felt = model.base_wrench(q, dq, ddq, turning)
        reading = observer.step(q, dq, felt, DT, turning)
    np.testing.assert_allclose(reading.residual, 0, atol=2e-3)


def test_base_at_rest_and_imu_placement(laas4):
    model, _ = laas4
    q, dq, ddq = np.random.default_rng(1).uniform(-1, 1, (3, 4))
    rest = BaseMotion.at_rest(model.gravity)
    np.testing.assert_allclose(model.base_wrench(q, dq, ddq, rest), model.base_wrench(q, dq, ddq))
    np.testing.assert_allclose(model.base_wrench_regressor(q, dq, ddq, rest) @ model.parameters,
                               model.base_wrench(q, dq, ddq))
    # A unit one metre ahead on a base that turns at 2 rad/s feels 4 m/s^2 towards the axis.
    motion = BaseMotion.of_imu([-4.0, 0, 9.81], [0, 0, 2.0], position=[1.0, 0, 0])
    np.testing.assert_allclose(motion.specific_force, [0, 0, 9.81], atol=1e-12)
    with pytest.raises(ArmsenseError, match='rotation'):
        BaseMotion.of_imu([0, 0, 0], [0, 0, 0], rotation=2 * np.eye(3))


def test_offset_takes_the_weight_of_the_base(laas4):
    model, layout = laas4
    observer = BaseObserver(model, layout)
    q, zero = np.array(model.config.home), np.zeros(4)
    base = np.array([-30.0, 0.4, 0.2])
    felt = layout.felt(model.base_wrench(q, zero, zero)) + base
    np.testing.assert_allclose(observer.zero(q, felt), base, atol=1e-9)
    for _ in range(300):
        reading = observer.step(q, zero, felt, DT)
    np.testing.assert_allclose(reading.residual, 0, atol=1e-9)
    np.testing.assert_allclose(reading.measured, felt)


def test_lost_samples_and_gaps(laas4):
    model, layout = laas4
    observer = BaseObserver(model, layout)
    q, zero = np.array(model.config.home), np.zeros(4)
    felt = layout.felt(model.base_wrench(q, zero, zero))
    for _ in range(200):
        assert np.isfinite(observer.step(q, zero, felt, DT).residual).all()
    assert observer.reading.valid
    assert observer.step(q, zero, felt, 0.0).valid             # a repeated sample
    assert not observer.step(q * np.nan, zero, felt, DT).valid
    assert not observer.step(q, zero, felt, DT).valid          # warms up anew
    for _ in range(200):
        observer.step(q, zero, felt, DT)
    assert observer.reading.valid
    assert not observer.step(q, zero, felt, 1.0).valid         # a gap


def test_band_stop_in_the_residual(laas4):
    model, layout = laas4
    q, zero = np.array(model.config.home), np.zeros(4)
    felt = layout.felt(model.base_wrench(q, zero, zero))
    mode = VibrationMode(frequency=8.0, width=3.0)
    plain, stopped = BaseObserver(model, layout), BaseObserver(model, layout, modes=(mode,))
    sizes = []
    for k in range(2000):
        swing = np.array([2.0, 0.5, 0.5]) * np.sin(2 * np.pi * 8.0 * k * DT)
        a = plain.step(q, zero, felt + swing, DT).residual
        b = stopped.step(q, zero, felt + swing, DT).residual
        if k > 1500:
            sizes.append((np.abs(a[0]), np.abs(b[0])))
    a, b = np.max(sizes, axis=0)
    assert a > 1.0
    assert b < 0.02 * a
