"""A swaying, tilted carrier against a MuJoCo base on slides, and what the observer makes of it."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from armsense.base.base_monitor import BaseMonitor
from armsense.base.imu_motion import ImuMotion
from armsense.errors import BadValue
from armsense.model import Arm, ArmConfig
from armsense.sim.arm_spec import ArmSpec
from armsense.sim.carrier import Carrier, FASTEST, InertialUnit, SLOWEST, STILL
from armsense.sim.mujoco_plant import make_plant
from armsense.watch.collision_monitor import CollisionMonitor

DT = 1e-3
GRAVITY = (0.0, 0.0, -9.81)
TILT = (0.3, -0.2)   # [rad]


class SlidingBase:
    """The arm on a tilted base that really moves, in a world whose gravity stays."""

    def __init__(self, config, tilt):
        spec = ArmSpec.build(config).spec
        base = spec.body('base_link')
        turn = np.zeros(4)
        mujoco.mju_euler2Quat(turn, np.array([*tilt, 0.0]), 'XYZ')   # about fixed axes
        base.quat = turn
        for axis in np.eye(3):
            base.add_joint(name=f'slide{axis.argmax()}', type=mujoco.mjtJoint.mjJNT_SLIDE,
                           axis=axis)
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        self.slides = [self.model.joint(f'slide{k}').qposadr[0] for k in range(3)]
        self.arm = [self.model.joint(name).qposadr[0] for name in config.joints]

    def forces(self, q, dq, ddq, acceleration):
        """Motor torques, and the wrench on the base in its axes, by inverse dynamics."""
        data, body = self.data, self.model.body('base_link').id
        rotation = data.xmat[body].reshape(3, 3)
        data.qpos[self.arm], data.qvel[self.arm] = q, dq
        mujoco.mj_kinematics(self.model, data)
        data.qvel[self.slides] = 0.7   # a uniform velocity changes nothing
        data.qacc[self.arm], data.qacc[self.slides] = ddq, rotation.T @ acceleration
        mujoco.mj_inverse(self.model, data)
        mujoco.mj_rnePostConstraint(self.model, data)
        first = self.model.body('link1').id
        moment, force = -data.cfrc_int[first, :3], -data.cfrc_int[first, 3:]
        lever = data.subtree_com[self.model.body_rootid[body]] - data.xpos[body]
        moment = moment + np.cross(lever, force)
        return (data.qfrc_inverse[self.arm].copy(),
                np.concatenate([rotation.T @ force, rotation.T @ moment]))


@pytest.mark.parametrize('tilt', [(0.0, 0.0), TILT])
def test_gravity_less_acceleration_is_a_base_that_moves(without_friction, tilt):
    config = without_friction(ArmConfig.load('laas4'))
    truth, plant = SlidingBase(config, tilt), make_plant(config)
    carrier = Carrier(GRAVITY, sway=3.0, tilt=tilt, seed=2)
    rng = np.random.default_rng(0)
    for t in rng.uniform(STILL, STILL + 10.0, 20):
        q, dq = np.array(config.home) + rng.normal(0.0, 0.4, 4), rng.normal(0.0, 1.0, 4)
        torque = rng.normal(0.0, 2.0, 4)
        plant.reset(q)
        plant.set_gravity(carrier.gravity(t))
        plant.data.qvel[:], plant.data.qfrc_applied[:] = dq, torque
        mujoco.mj_forward(plant.model, plant.data)
        needed, wrench = truth.forces(q, dq, plant.data.qacc, carrier.acceleration(t))
        np.testing.assert_allclose(needed, torque, atol=1e-9)
        np.testing.assert_allclose(plant.base_wrench, wrench, atol=1e-9)


def ride(plant, carrier, unit, seconds):
    """Angle, torque and motion of the base, step by step; the arm holds its home softly."""
    model, home = Arm.load('laas4'), np.array(plant.config.home)
    holding, imu = model.gravity_torque(home), ImuMotion()
    plant.reset(home)
    for k in range(round(seconds / DT)):
        gravity = carrier.gravity(STILL + k * DT)
        plant.set_gravity(gravity)
        imu.take(*unit.read(gravity), k * DT, k * DT)
        state = plant.state
        q = state.joint_position
        torque = holding + 60.0 * (home - q) - 4.0 * state.joint_velocity
        yield q, torque, imu.at(k * DT)
        plant.step(torque, DT)


@pytest.mark.parametrize('deviation', [np.zeros(6), InertialUnit.deviation])
def test_residual_of_a_swaying_arm(without_friction, deviation):
    """Zero with the unit; without it, what gravity of the sway asks of the joints."""
    config = without_friction(ArmConfig.load('laas4'))
    plant, unit = make_plant(config), InertialUnit(3)
    unit.deviation = deviation
    carrier = Carrier(GRAVITY, sway=2.0, seed=1)
    knowing, ignorant = (CollisionMonitor(Arm.load(config)) for _ in range(2))
    model, known, unknown, expected = Arm.load(config), [], [], []
    for k, (q, torque, motion) in enumerate(ride(plant, carrier, unit, 2.5)):
        known.append(knowing.step(q, torque, (), (), True, DT, motion).filtered)
        unknown.append(ignorant.step(q, torque, (), (), True, DT).filtered)
        if k % 50 == 0 and k >= 500:
            swaying = model.replace(gravity=carrier.gravity(STILL + k * DT))
            expected.append(model.gravity_torque(q) - swaying.gravity_torque(q))
    known, unknown = np.array(known[500:]), np.array(unknown[500:])
    assert np.abs(known).max() < (0.15 if unit.deviation.any() else 0.005)
    assert np.abs(unknown).max() > 1.0
    np.testing.assert_allclose(unknown[::50], expected, atol=0.05)


def test_noise_of_the_unit_does_not_stay_in_the_offset_of_the_cells():
    plant, unit, imu = make_plant('laas4'), InertialUnit(0), ImuMotion()
    monitor = BaseMonitor(Arm.load('laas4'))
    home, gravity = np.array(plant.config.home), np.array(GRAVITY)
    force = monitor.layout.spread @ monitor.layout.felt(plant.base_wrench)
    residuals = []
    for k in range(2000):
        imu.take(*unit.read(gravity), k * DT, k * DT)
        result = monitor.step(home, force, np.ones(4, bool), DT, imu.at(k * DT))
        if result.reading.valid:
            residuals.append(result.reading.residual)
    assert len(residuals) > 1000
    assert (np.abs(np.mean(residuals, axis=0)) < 0.1 * monitor.detector.threshold).all()


def test_gravity_stays_when_the_arm_is_compiled_anew():
    plant, tilted = make_plant('laas4'), Carrier(GRAVITY, tilt=TILT).gravity(0.0)
    plant.set_gravity(tilted)
    plant.reset(plant.config.home)
    plant.set_payload(0.5)
    model = Arm.load('laas4').replace(gravity=tilted).with_payload(0.5, np.zeros(3))
    np.testing.assert_allclose(plant.holding_torque, model.gravity_torque(
        np.array(plant.config.home)), atol=1e-9)
    with pytest.raises(BadValue, match='gravity'):
        plant.set_gravity((0.0, np.nan, 0.0))


def test_sway_begins_softly_and_has_its_peak_and_frequencies():
    carrier = Carrier(GRAVITY, sway=2.0, seed=7)
    time = STILL + np.arange(0.0, 100.0, 0.01)
    sway = np.array([carrier.acceleration(t) for t in time])
    assert not carrier.acceleration(STILL).any()
    np.testing.assert_allclose(np.abs(sway).max(axis=0), 2.0, rtol=1e-3)
    rates = np.fft.rfftfreq(len(time), 0.01)[np.abs(np.fft.rfft(sway, axis=0)).argmax(axis=0)]
    assert ((rates > SLOWEST - 0.01) & (rates < FASTEST + 0.01)).all()
    assert len(set(rates)) == 3
    again = Carrier(GRAVITY, sway=2.0, seed=7)
    np.testing.assert_array_equal(again.acceleration(time[50]), sway[50])
    assert not Carrier(GRAVITY).moves


def test_tilt_turns_gravity_and_keeps_its_size():
    down = Carrier(GRAVITY, tilt=(0.3, 0.0)).gravity(5.0)
    np.testing.assert_allclose(down, 9.81 * np.array([0.0, -np.sin(0.3), -np.cos(0.3)]))
    down = Carrier(GRAVITY, tilt=(0.0, 0.3)).gravity(5.0)
    np.testing.assert_allclose(down, 9.81 * np.array([np.sin(0.3), 0.0, -np.cos(0.3)]))


def test_noise_of_the_unit_is_seeded_and_has_its_size():
    gravity = np.array(GRAVITY)
    first, same, other = (InertialUnit(seed) for seed in (4, 4, 5))
    readings = [np.concatenate(first.read(gravity)) for _ in range(5000)]   # over a block
    np.testing.assert_array_equal(readings[0], np.concatenate(same.read(gravity)))
    assert not np.array_equal(readings[0], np.concatenate(other.read(gravity)))
    np.testing.assert_allclose(np.std(readings, axis=0), first.deviation, rtol=0.05)
    np.testing.assert_allclose(np.mean(readings, axis=0), [0, 0, 9.81, 0, 0, 0], atol=2e-3)


@pytest.mark.parametrize('bad', [{'sway': -1.0}, {'sway': np.inf}, {'tilt': (0.1, 0.2, 0.3)},
                                 {'tilt': (np.nan, 0.0)}])
def test_bad_carriers_are_named(bad):
    with pytest.raises(BadValue, match=next(iter(bad))):
        Carrier(GRAVITY, **bad)
