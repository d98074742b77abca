"""The arm in Gazebo's engine moves as the arm that the nodes believe in."""

from dataclasses import replace

import numpy as np
import pytest

from armsense import share
from armsense.boards.mode import Mode
from armsense.control.config import ControllerConfig
from armsense.control.motion_controller import MotionController
from armsense.errors import ArmsenseError
from armsense.model import Arm
from armsense.model.gazebo_arm import gazebo_arm
from armsense.model.robot_description import load_description
from armsense.sim.dart_plant import DartPlant
from armsense.sim.gazebo_description import description
from bench.effort_loop import EffortLoop

RIGID = ('laas4', 'crs_a465', 'crs_a255', 'zeego', 'seven')


@pytest.fixture
def arm():
    return Arm.load('laas4')


@pytest.mark.parametrize('name', RIGID)
def test_one_step_is_that_of_the_believed_arm(name):
    real = Arm.load(name)
    believed, plant = gazebo_arm(real), DartPlant(description(real))
    np.testing.assert_allclose(plant.mass_matrix, believed.mass_matrix(plant.q), rtol=1e-6,
                               atol=1e-8)
    friction = [joint.friction for joint in believed.config.joints.values()]
    dry = np.array([f.coulomb for f in friction])
    wanted = np.linspace(1.0, 2.0, real.n)                     # [rad/s^2] every joint turns
    plant.step(believed.gravity_torque(plant.q) + dry + believed.mass_matrix(plant.q) @ wanted)
    # Damping is implicit, dry friction an impulse: in one step they do not quite add up.
    np.testing.assert_allclose(plant.dq, 1e-3 * wanted, rtol=5e-2)
    assert plant.time == pytest.approx(1e-3)


def test_dry_friction_holds_an_arm_and_is_taken_off_what_it_reports(arm):
    plant = DartPlant(description(arm))
    hold = gazebo_arm(arm).gravity_torque(plant.q)
    less = np.array([0.2, 0.09, 0.11, 0.09])                   # [Nm] just below breakaway
    for _ in range(500):
        plant.step(hold + less)
    np.testing.assert_allclose(plant.q, plant.home, atol=1e-9)
    np.testing.assert_allclose(plant.transmitted, hold, atol=1e-6)
    for _ in range(50):
        plant.step(hold + 2.0 * less)
    assert (plant.dq > 0.05).any()


def test_a_frame_weighs_nothing_and_the_base_carries_the_arm(arm):
    plant = DartPlant(description(arm))
    plant.step(gazebo_arm(arm).gravity_torque(plant.q))
    weight = 9.81 * (arm.masses.sum() + 0.3)                   # and the base link
    np.testing.assert_allclose(plant.base_wrench[:3], [0.0, 0.0, -weight], atol=1e-6)
    # It reaches forward, and joint 2 turns about a horizontal axis through the base's own.
    assert plant.base_wrench[4] == pytest.approx(arm.gravity_torque(plant.q)[1], rel=1e-6)


@pytest.mark.parametrize('tilt', [(0.0, 0.0, 9.81), (0.0, 6.936716, -6.936716)])
def test_a_base_that_is_turned_feels_its_own_gravity(arm, tilt):
    turned = Arm.load(replace(arm.config, gravity=tilt))
    plant = DartPlant(description(turned))
    plant.step(gazebo_arm(turned).gravity_torque(plant.q))
    np.testing.assert_allclose(plant.dq, 0.0, atol=1e-9)
    weight = arm.masses.sum() + 0.3
    np.testing.assert_allclose(plant.base_wrench[:3], weight * np.array(tilt), atol=1e-3)


def test_a_push_is_a_torque_of_its_lever_and_ends(arm):
    plant = DartPlant(description(arm))
    believed, q = gazebo_arm(arm), plant.home
    force, point = np.array([0.0, 12.0, 0.0]), np.array([0.05, 0.0, 0.0])
    plant.apply_force('link4', point, force, duration=0.002)
    plant.step(believed.gravity_torque(q))
    assert [c.cause for c in plant.contact] == ['push']
    outer = believed.point_jacobian(q, 'link4', point).T @ force
    dry = np.array([j.friction.coulomb for j in believed.config.joints.values()])
    # Joints 1 and 3 break away, the others stay.
    assert (np.abs(outer) > dry).tolist() == [True, False, True, False]
    assert np.abs(plant.dq[[0, 2]]).min() > 1e3 * np.abs(plant.dq[[1, 3]]).max()
    plant.step(believed.gravity_torque(plant.q))
    assert plant.contact == []


def test_limits_stop_a_joint(arm):
    plant = DartPlant(description(arm))
    for _ in range(3000):
        plant.step([2.0, 0.0, 0.0, 0.0])
    assert plant.q[0] == pytest.approx(3.1, abs=0.01)
    assert plant.dq[0] == pytest.approx(0.0, abs=1e-6)


def test_the_world_of_gazebo_is_there_to_bump_into(arm):
    plant = DartPlant(description(arm), share.find('config/worlds/obstacles.sdf'))
    assert plant.obstacles == ('floor', 'post', 'ball')
    for _ in range(1500):
        plant.step(np.zeros(4))                                # it falls
    assert {c.cause for c in plant.contact} == {'floor'}
    assert sum(c.force[2] for c in plant.contact) > 1.0        # the floor carries it


@pytest.mark.parametrize(('text', 'message'), [
    ('<robot name="a"/>', 'no block for ros2_control'),
    ('<robot name="a"><ros2_control><joint name="j"/></ros2_control></robot>', 'DART cannot')])
def test_descriptions_that_are_none(text, message):
    with pytest.raises(ArmsenseError, match=message):
        DartPlant(text)


def test_unknown_links_and_worlds(arm, tmp_path):
    plant = DartPlant(description(arm))
    with pytest.raises(ArmsenseError, match="unknown link 'link9'"):
        plant.apply_force('link9', [0, 0, 0], [0, 0, 1])
    with pytest.raises(ArmsenseError, match='cannot read the world'):
        DartPlant(description(arm), tmp_path / 'none.sdf')


# -- the whole loop ---------------------------------------------------------------------------

def test_gazebo_s_arm_stays_at_rest_under_the_default_law(arm):
    loop = EffortLoop(gazebo_arm(arm), DartPlant(description(arm)))
    loop.run(2.0)
    assert loop.driver.mode == Mode.ENABLED
    np.testing.assert_allclose(loop.plant.q, arm.config.home, atol=1e-4)


def test_the_description_as_it_was_shakes(arm):
    """Without <dynamics> and rotors, and with nodes that believe in both."""
    before = load_description(share.find('urdf/laas4.urdf.xacro'), {'hardware': 'gazebo'})
    loop = EffortLoop(arm, DartPlant(before))
    speeds = []
    loop.run(3.0, lambda _: speeds.append(float(np.abs(loop.plant.dq).max())))
    assert np.median(speeds[2000:]) > 1.0        # [rad/s], up to the limit that the engine keeps


def test_nodes_that_believe_in_rotors_in_the_joints_do_worse(arm):
    """So the parameter `physics` matters, not only the description."""
    def error(believed):
        config = ControllerConfig.of(believed)
        controller = MotionController(believed, config)
        loop = EffortLoop(believed, DartPlant(description(arm)), controller=controller)
        loop.run(0.3)
        goal = np.array(arm.config.home) + [0.4, -0.3, 0.8, 0.5]
        controller.follow_waypoints([0.8], [goal])
        worst = 0.0
        for _ in range(800):
            before = loop.plant.q
            loop.step()
            worst = max(worst, float(np.abs(controller.reference.q - before).max()))
        return worst
    assert error(gazebo_arm(arm)) < 0.7 * error(arm)
