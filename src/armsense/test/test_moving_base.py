"""An arm on a base that tilts and accelerates: MuJoCo moves it, gives torques and feels it."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from armsense.base.base_monitor import BaseMonitor, BaseMonitorOptions
from armsense.base.cell_layout import CellLayout
from armsense.base.imu_motion import ImuMotion
from armsense.errors import BadValue
from armsense.model import Arm
from armsense.model.base_motion import BaseMotion
from armsense.sim.arm_spec import ArmSpec
from armsense.watch.collision_monitor import CollisionMonitor

pytestmark = pytest.mark.slow

DT = 1e-3
SLIDES = {'base_x': (1, 0, 0), 'base_y': (0, 1, 0), 'base_z': (0, 0, 1)}
HINGES = {'base_yaw': (0, 0, 1), 'base_pitch': (0, 1, 0), 'base_roll': (1, 0, 0)}
IMU_PLACE = (0.05, -0.02, 0.03)                     # [m]
IMU_TURN = (0.1, -0.2, 0.3)                         # [rad] about fixed x, y, z
RATES = np.array([3.0, 2.5, 4.0, 1.2, 2.0, 1.5])    # [rad/s] of the base's sines
SIZES = np.array([0.15, 0.1, 0.1, 0.4, 0.25, 0.3])  # [m, rad]


class Carrier:
    """laas4 under a carrier whose motion is prescribed; all forces follow (inverse dynamics)."""

    def __init__(self) -> None:
        self.config = Arm.load('laas4').config
        spec = ArmSpec.build(self.config).spec
        base = spec.body('base_link')
        for kind, joints in ((mujoco.mjtJoint.mjJNT_SLIDE, SLIDES),
                             (mujoco.mjtJoint.mjJNT_HINGE, HINGES)):
            for name, axis in joints.items():
                base.add_joint(name=name, type=kind, axis=axis)
        turn = np.zeros(4)
        mujoco.mju_euler2Quat(turn, np.array(IMU_TURN), 'XYZ')
        base.add_site(name='imu', pos=IMU_PLACE, quat=turn)
        for sensor, kind in (('force', mujoco.mjtSensor.mjSENS_ACCELEROMETER),
                             ('turn', mujoco.mjtSensor.mjSENS_GYRO)):
            spec.add_sensor(name=sensor, type=kind, objtype=mujoco.mjtObj.mjOBJ_SITE,
                            objname='imu')
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        ids = [self.model.joint(name).qposadr[0]
               for name in (*SLIDES, *HINGES, *self.config.joints)]
        self.base, self.arm = ids[:6], ids[6:]
        self.first = self.model.body('link1').id

    def at(self, t: float, moving: float):
        """Joint angles, motor torques, wrench in base axes, specific force, angular velocity."""
        data, home = self.data, np.array(self.config.home)
        w = np.array([1.1, 0.8, 1.4, 1.7])
        s, ds, dds = ramp(t - moving)
        for ids, start, size, rate in ((self.base, np.zeros(6), SIZES, RATES),
                                       (self.arm, home, np.full(4, 0.4), w)):
            a, da = size * np.sin(rate * t), size * rate * np.cos(rate * t)
            data.qpos[ids] = start + s * a
            data.qvel[ids] = ds * a + s * da
            data.qacc[ids] = dds * a + 2.0 * ds * da - s * rate**2 * a
        mujoco.mj_inverse(self.model, data)
        mujoco.mj_rnePostConstraint(self.model, data)
        body = self.model.body('base_link').id
        R, p = data.xmat[body].reshape(3, 3), data.xpos[body]
        moment, force = -data.cfrc_int[self.first, :3], -data.cfrc_int[self.first, 3:]
        moment = moment + np.cross(data.subtree_com[self.model.body_rootid[body]] - p, force)
        wrench = np.concatenate([R.T @ force, R.T @ moment])
        return (data.qpos[self.arm].copy(), data.qfrc_inverse[self.arm].copy(), wrench,
                data.sensor('force').data.copy(), data.sensor('turn').data.copy())


def ramp(t):
    """Smooth begin within a second, with derivatives."""
    s = min(max(t, 0.0), 1.0)
    return (s**3 * (10 - 15 * s + 6 * s * s), 30 * s**2 * (1 - s)**2,
            60 * s * (1 - s) * (1 - 2 * s))


@pytest.fixture(scope='module')
def ride():
    """Samples of a rest and a ride of 3 s."""
    carrier = Carrier()
    return [carrier.at(k * DT, 0.6) for k in range(3600)]


def imu():
    return ImuMotion(rpy=IMU_TURN, position=IMU_PLACE, rate=1.0 / DT)


def motions(ride):
    """What the unit makes of the ride."""
    unit = imu()
    for k, (_, _, _, force, turn) in enumerate(ride):
        unit.take(force, turn, k * DT, k * DT)
        yield unit.at(k * DT)


def test_imu_gives_the_motion_of_the_base_origin(ride):
    model = Arm.load('laas4')
    for k, motion in enumerate(motions(ride)):
        if k % 400 or not k:
            continue
        q = ride[k][0]
        dq, ddq = ((ride[k + 1][0] - ride[k - 1][0]) / (2 * DT),
                   (ride[k + 1][0] - 2 * q + ride[k - 1][0]) / DT**2)
        np.testing.assert_allclose(model.base_wrench(q, dq, ddq, motion), ride[k][2], atol=0.05)


def run_joints(ride, use):
    monitor = CollisionMonitor(Arm.load('laas4'))
    events, highest = 0, 0.0
    for (q, tau, _, _, _), motion in zip(ride, motions(ride), strict=True):
        result = monitor.step(q, tau, (), (), True, DT, motion if use else None)
        events += result.detection is not None
        highest = max(highest, float((np.abs(result.filtered) / result.threshold).max()))
    return events, highest


def test_joint_observer_needs_the_imu_on_a_moving_base(ride):
    events, highest = run_joints(ride, use=True)
    assert events == 0
    assert highest < 0.5
    events, highest = run_joints(ride, use=False)
    assert events > 0
    assert highest > 1.5


def run_base(ride, use):
    model = Arm.load('laas4')
    layout = CellLayout.of_config(model.config.load_cells)
    monitor = BaseMonitor(model, BaseMonitorOptions(rest_time=0.2))
    events, highest = 0, 0.0
    for (q, _, wrench, _, _), motion in zip(ride, motions(ride), strict=True):
        result = monitor.step(q, layout.spread @ layout.felt(wrench), np.ones(4, bool), DT,
                              motion if use else None)
        if result.reading.valid:
            events += result.detection is not None
            highest = max(highest,
                          float((np.abs(result.reading.residual) / result.threshold).max()))
    return events, highest


def test_base_residual_needs_the_imu_on_a_moving_base(ride):
    events, highest = run_base(ride, use=True)
    assert events == 0
    assert 0.0 < highest < 0.5
    events, highest = run_base(ride, use=False)
    assert events > 0
    assert highest > 2.0


def test_a_silent_imu_makes_both_silent(ride):
    model = Arm.load('laas4')
    joints, base = CollisionMonitor(model), BaseMonitor(model, BaseMonitorOptions(rest_time=0.2))
    layout, unit = base.layout, imu()
    for k, (q, tau, wrench, force, turn) in enumerate(ride[:1500]):
        if k < 1200:
            unit.take(force, turn, k * DT, k * DT)
        motion = unit.at(k * DT)
        result = joints.step(q, tau, (), (), True, DT, motion)
        felt = base.step(q, layout.spread @ layout.felt(wrench), np.ones(4, bool), DT, motion)
        if k == 1150:
            assert result.valid
            assert felt.reading.valid
    assert not motion.known
    assert not result.valid
    assert not felt.reading.valid
    assert 'imu is silent' in felt.problem


def test_bad_readings_and_places_of_the_imu():
    unit = imu()
    assert not unit.at(0.0).known
    unit.take((0.0, 0.0, np.nan), (0.0, 0.0, 0.0), 0.0, 0.0)
    assert not unit.at(0.0).known
    unit.take((0.0, 0.0, 9.81), (0.0, 0.0, 0.0), 0.0, 0.0)
    assert unit.at(0.05).known
    assert not unit.at(0.2).known
    assert not BaseMotion.unknown().known
    with pytest.raises(BadValue, match='position of the imu'):
        ImuMotion(position=(0.0, 1.0))
    with pytest.raises(BadValue, match='rpy of the imu'):
        ImuMotion(rpy=(0.0, np.inf, 0.0))
