"""A robot known by its URDF alone."""

import math

import numpy as np
import pytest

from armsense.errors import ArmsenseError
from armsense.model import Arm, ArmConfig

# A shoulder about y that carries a point mass, a continuous wrist about the link, a gripper.
URDF = """<robot name="pendulum">
  <link name="base_link"/>
  <link name="upper"><inertial><origin xyz="0.5 0 0"/><mass value="2"/>
    <inertia ixx="0.001" iyy="0.001" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="hand"><inertial><origin xyz="0.1 0 0"/><mass value="1"/>
    <inertia ixx="0.001" iyy="0.001" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="flange"/><link name="finger"/><link name="tip"/>
  <joint name="shoulder" type="revolute"><parent link="base_link"/><child link="upper"/>
    <axis xyz="0 1 0"/><limit lower="0.2" upper="2" velocity="2" effort="40"/></joint>
  <joint name="wrist" type="continuous"><parent link="upper"/><child link="hand"/>
    <origin xyz="1 0 0"/><axis xyz="1 0 0"/><limit velocity="3" effort="10"/></joint>
  <joint name="mount" type="fixed"><parent link="hand"/><child link="flange"/></joint>
  <joint name="tool" type="fixed"><parent link="flange"/><child link="tip"/></joint>
  <joint name="gripper" type="prismatic"><parent link="flange"/><child link="finger"/>
    <limit lower="0" upper="0.1" velocity="1" effort="5"/></joint>
</robot>"""


@pytest.fixture
def urdf(tmp_path):
    path = tmp_path / 'pendulum.urdf'
    path.write_text(URDF)
    return path


def test_revolute_joints_become_the_arm(urdf):
    config = ArmConfig.load(urdf)
    assert config.arm == 'pendulum'
    assert config.joint_names == ('shoulder', 'wrist')
    assert config.home == (0.2, 0.0)                    # zero lies outside the shoulder's limits
    assert config.tool_frame == 'tip'
    assert [joint.torque_limit for joint in config.joints.values()] == [40.0, 10.0]
    assert [joint.armature for joint in config.joints.values()] == [0.0, 0.0]


def test_the_model_knows_the_weight(urdf):
    model = Arm.load(str(urdf))
    q = np.array([0.7, 40.0])                           # many turns of the wrist
    torque = -9.81 * math.cos(0.7) * (2 * 0.5 + 1 * 1.1)
    assert model.gravity_torque(q) == pytest.approx([torque, 0.0])


def test_the_order_of_the_file_does_not_matter(urdf):
    config, model = ArmConfig.load(urdf), Arm.load(urdf)
    begin, wrist, end = (URDF.index(f'  <joint name="{name}"') for name in
                         ('shoulder', 'wrist', 'mount'))
    urdf.write_text(URDF[:begin] + URDF[wrist:end] + URDF[begin:wrist] + URDF[end:])
    assert ArmConfig.load(urdf) == config
    other, q = Arm.load(urdf), np.array([0.7, 0.3])
    assert other.joint_names == model.joint_names
    np.testing.assert_array_equal(other.mass_matrix(q), model.mass_matrix(q))


def test_a_gripper_with_two_fingers(urdf):
    finger = """<link name="{0}"/><joint name="{0}_finger" type="revolute"><parent link="tip"/>
        <child link="{0}"/><axis xyz="0 0 1"/><limit lower="0" upper="1" velocity="1" effort="5"/>
        </joint>"""
    urdf.write_text(URDF.replace('</robot>',
                                 finger.format('right') + finger.format('left') + '</robot>'))
    model = Arm.load(urdf)
    assert model.joint_names == ('shoulder', 'wrist', 'left_finger', 'right_finger')
    assert model.config.joint_names == model.joint_names
    assert model.tool_frame == 'right'


@pytest.mark.parametrize(('text', 'error'), [
    (URDF.replace('revolute', 'fixed').replace('continuous', 'fixed'), 'has no revolute joint'),
    (URDF.replace('effort="40"', ''), "joint 'shoulder' needs a limit with an effort"),
    (URDF.replace('</robot>', ''), 'is not valid XML')])
def test_bad_descriptions_are_explained(urdf, text, error):
    urdf.write_text(text)
    with pytest.raises(ArmsenseError, match=error):
        ArmConfig.load(urdf)


@pytest.mark.parametrize('name', ['', 'name="shoulder"'])
def test_joints_need_names_of_their_own(urdf, name):
    urdf.write_text(URDF.replace('name="wrist"', name).replace('continuous', 'revolute'))
    with pytest.raises(ArmsenseError, match="name of its own; the revolute ones have 'shoulder'"):
        ArmConfig.load(urdf)


def test_fixed_joints_in_a_circle(urdf):
    urdf.write_text(URDF.replace('<child link="tip"/>', '<child link="hand"/>'))
    with pytest.raises(ArmsenseError, match="link 'hand' is fixed to more than one other"):
        ArmConfig.load(urdf)


def test_a_robot_without_name_gets_that_of_its_file(urdf):
    urdf.write_text(URDF.replace('name="pendulum"', ''))
    assert ArmConfig.load(urdf).arm == 'pendulum'


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ArmsenseError, match='nothing.urdf does not exist'):
        ArmConfig.load(tmp_path / 'nothing.urdf')
