"""The arm that Gazebo gets is the arm that the nodes believe in; MuJoCo reads it as a judge."""

from dataclasses import replace
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import mujoco
import numpy as np
import pytest

from armsense.errors import ArmsenseError
from armsense.model import Arm
from armsense.model.arm_config import FrictionConfig
from armsense.model.gazebo_arm import gazebo_arm
from armsense.model.model_file import DriveParameters, IdentifiedFriction, ModelFile, Provenance
from armsense.sim.gazebo_description import description

RIGID = ('laas4', 'crs_a465', 'crs_a255', 'zeego', 'seven')


def compiled(text: str) -> tuple[mujoco.MjModel, mujoco.MjData]:
    robot = ElementTree.fromstring(text)
    for tag in ('gazebo', 'ros2_control'):
        for element in robot.findall(tag):
            robot.remove(element)
    model = mujoco.MjModel.from_xml_string(ElementTree.tostring(robot, 'unicode'))
    return model, mujoco.MjData(model)


@pytest.mark.parametrize('name', RIGID)
def test_another_engine_finds_the_dynamics_of_the_believed_arm(name):
    arm = Arm.load(name)
    believed = gazebo_arm(arm)
    model, data = compiled(description(arm))
    rng = np.random.default_rng(3)
    for _ in range(5):
        data.qpos[:], data.qvel[:] = rng.uniform(-1, 1, arm.n), rng.uniform(-1, 1, arm.n)
        mujoco.mj_forward(model, data)
        M = np.zeros((arm.n, arm.n))
        mujoco.mj_fullM(model, data, M)
        np.testing.assert_allclose(M, believed.mass_matrix(data.qpos), rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(data.qfrc_bias, believed.bias_torque(data.qpos, data.qvel),
                                   rtol=1e-6, atol=1e-6 * np.abs(data.qfrc_bias).max())
    np.testing.assert_allclose(
        model.dof_damping, [j.friction.viscous for j in believed.config.joints.values()])
    np.testing.assert_allclose(
        model.dof_frictionloss, [j.friction.coulomb for j in believed.config.joints.values()])


@pytest.mark.parametrize('name', RIGID)
def test_every_joint_has_its_rotor_and_every_link_is_a_body(name):
    arm = Arm.load(name)
    believed = gazebo_arm(arm)
    q = np.array(arm.config.home)
    rotors = [j.reflected_inertia for j in arm.config.joints.values()]
    gained = believed.mass_matrix(q) - arm.replace(armature=np.zeros(arm.n)).mass_matrix(q)
    assert gained[-1, -1] == pytest.approx(rotors[-1])        # nothing stands behind the last one
    assert (gained.diagonal() >= np.array(rotors) - 1e-12).all()
    assert not believed.armature.any()
    for inertia in ElementTree.fromstring(description(arm)).iter('inertia'):
        xx, xy, xz, yy, yz, zz = (float(inertia.get(key)) for key in (
            'ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz'))
        low, middle, high = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        assert low > 0.0
        assert high <= (low + middle) * (1.0 + 1e-9)          # or sdformat refuses the model


def test_a_base_that_hangs_is_mounted_upside_down():
    arm = Arm.load('laas4')
    hanging = Arm.load(replace(arm.config, gravity=(0.0, 0.0, 9.81)))
    model, data = compiled(description(hanging))
    model.opt.gravity[:] = 0.0, 0.0, -9.81
    data.qpos[:] = q = [0.3, 0.5, -0.4, 0.8]
    mujoco.mj_forward(model, data)
    np.testing.assert_allclose(data.qfrc_bias, hanging.gravity_torque(np.array(q)), atol=1e-6)


def test_an_identified_arm_is_the_one_that_is_spawned(tmp_path):
    arm = Arm.load('laas4')
    found = 1.1 * arm.parameters
    file = ModelFile.create(
        arm, found, Provenance(method='test', date='today'),
        drives={'joint2': DriveParameters(rotor_inertia=1e-5)},
        friction={'joint1': IdentifiedFriction(viscous=0.2, coulomb=0.5),
                  'joint2': IdentifiedFriction(viscous=-0.01, coulomb=0.4, stribeck=0.1)})
    file.write(tmp_path / 'model.yaml')
    answer = subprocess.run(
        [sys.executable, '-m', 'armsense.cli.description_command', 'laas4', '--model',
         str(tmp_path / 'model.yaml'), '--out', str(tmp_path / 'arm.urdf')],
        capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr
    model, data = compiled((tmp_path / 'arm.urdf').read_text())
    believed = gazebo_arm(Arm.load('laas4', tmp_path / 'model.yaml'))
    data.qpos[:] = q = np.array(arm.config.home)
    mujoco.mj_forward(model, data)
    M = np.zeros((4, 4))
    mujoco.mj_fullM(model, data, M)
    np.testing.assert_allclose(M, believed.mass_matrix(q), rtol=1e-6)
    bare = arm.replace(parameters=found, armature=np.zeros(4)).mass_matrix(q)
    assert M[1, 1] - bare[1, 1] == pytest.approx(
        1e-5 * 27.0**2 + 0.5 * 4e-6 * 31.0**2 + 8e-6 * 27.0**2, rel=1e-3)   # rotors 2, 3 and 4
    assert (model.dof_damping[0], model.dof_frictionloss[0]) == (0.2, 0.5)
    # The nearest that damping and dry friction come to falling friction.
    assert model.dof_damping[1] == 0.0
    assert model.dof_frictionloss[1] == pytest.approx(0.38, abs=0.02)


def test_for_other_tools_the_rotors_stay_out_of_the_links():
    arm = Arm.load('biorob')
    model, data = compiled(description(arm, 'none'))
    mujoco.mj_forward(model, data)
    M = np.zeros((4, 4))
    mujoco.mj_fullM(model, data, M)
    np.testing.assert_allclose(M, arm.mass_matrix(np.zeros(4)), rtol=1e-6)


@pytest.mark.parametrize(('name', 'why'), [('biorob', 'driven through a spring'),
                                           ('tudor', 'bends')])
def test_elastic_arms_are_refused_with_the_reason(name, why):
    with pytest.raises(ArmsenseError, match=f'{name}: Gazebo cannot have it.*{why}'):
        description(Arm.load(name))


def test_plain_friction_stays_as_it_is():
    arm = Arm.load('crs_a465')
    believed = gazebo_arm(arm).config.joints['joint1'].friction
    assert believed == FrictionConfig(viscous=1.776, coulomb=3.512)
