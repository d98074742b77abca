import numpy as np
import pytest

from armsense.sim.mujoco_plant import make_plant
from armsense.sim.surroundings import HuntCrossley


def bounce(material, mass, speed, dt=1e-6):
    """Speed after a mass has hit a wall, by Runge-Kutta of its own."""
    def rate(y):
        return np.array([y[1], -material.force(y[0], y[1]) / mass])
    y = np.array([0.0, speed])
    for _ in range(200_000):
        a = rate(y)
        b = rate(y + 0.5 * dt * a)
        y = y + dt * b
        if y[0] <= 0.0:
            return -y[1]
    raise AssertionError('the mass stuck to the wall')


def restitution(material, speed):
    """Speed after an impact over the speed before (eq. 5.20), for small alpha v_i."""
    return 1.0 - material.dissipation * speed


# Thesis 000: n = 1, k = 10 kN/m, alpha = 0.04 s/m; e = 0.8 there belongs to 5 m/s.
@pytest.mark.parametrize('speed', [0.25, 0.5, 1.0, 2.0])
def test_restitution_is_eq_5_20(speed):
    material = HuntCrossley(10e3, 0.04)
    assert bounce(material, 0.5, speed, 5e-6) / speed == pytest.approx(
        restitution(material, speed), abs=0.001 + (0.04 * speed)**2)   # first order in alpha v


def test_documented_coefficient():
    assert restitution(HuntCrossley(), 5.0) == pytest.approx(0.8)


def test_force_starts_at_zero_and_never_pulls():
    material = HuntCrossley(10e3, 0.4)
    assert material.force(0.0, 3.0) == 0.0
    assert material.force(-0.01, 3.0) == 0.0
    assert material.force(1e-9, 3.0) < 1e-4
    assert material.force(0.001, -100.0) == 0.0


def test_damping_grows_with_depth():
    material = HuntCrossley(1e4, 0.04, exponent=1.5)
    depth, rate = 0.004, 0.5
    assert material.force(depth, rate) == pytest.approx(
        1e4 * depth**1.5 + 1.5 * 0.04 * 1e4 * depth**1.5 * rate)


@pytest.mark.parametrize('speed', [0.5, 1.0, 2.0])
def test_arm_bounces_off_an_obstacle_with_that_restitution(pendulum, speed):
    plant = make_plant(pendulum(gravity=(0.0, 0.0, 0.0)))
    plant.reset([0.0])
    plant.place_obstacle('wall', [0.4, 0.0, 0.70], box=(0.4, 0.4, 0.2), stiffness=10e3,
                         dissipation=0.04)
    plant.data.qvel[0] = speed / 0.4         # the tip rises: it touches after 0.05 m
    for _ in range(300):
        plant.step([0.0], 1e-3)
    assert plant.contact == []
    after = -plant.state.joint_velocity[0] * 0.4
    # The tip hits at an angle of asin(0.05 / 0.4) to the wall.
    normal = speed * np.cos(np.arcsin(0.125))
    assert after / speed == pytest.approx(restitution(HuntCrossley(), normal),
                                          abs=0.002 + (0.04 * speed)**2)
