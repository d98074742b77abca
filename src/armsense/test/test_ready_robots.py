"""Robots of `config/robots/`: their files, their URDFs where others publish them, efforts."""

from dataclasses import replace
import logging

import numpy as np
import pytest

import armsense
from armsense.boards.command_guard import guard_limits
from armsense.boards.effort_bridge import EffortBridge
from armsense.cli.robots_command import page
from armsense.errors import ArmsenseError
from armsense.excite.clearance_rows import arm_capsules
from armsense.model.ready_robot import ready_robots, ReadyRobot, UrdfPlace
from armsense.share import share_folders
from armsense.watch.collision_monitor import CollisionMonitor

ROBOTS = {name: ReadyRobot.read(path) for name, path in ready_robots().items()}
LINK = ('<link name="{name}"><inertial><origin xyz="0 0 0.1"/><mass value="2"/><inertia ixx="0.1" '
        'iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial><collision><geometry><mesh '
        'filename="package://vendor_description/meshes/{name}.stl"/></geometry></collision></link>')
STL = ('solid box\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 0.1 0 0\n'
       'vertex 0 0.1 0.2\nendloop\nendfacet\nendsolid\n')


def vendor(folder, robot: ReadyRobot, meshes: bool) -> ReadyRobot:
    """A vendor's package with a chain of that many joints; the robot with this URDF."""
    links = ['<link name="base"/>']
    for k, name in enumerate(robot.joints):
        links.append(LINK.format(name=f'link{k}'))
        parent = f'link{k - 1}' if k else 'base'
        links.append(f'<joint name="{name}" type="revolute"><parent link="{parent}"/>'
                     f'<child link="link{k}"/><axis xyz="0 1 0"/>'
                     '<limit lower="-3" upper="3" velocity="2" effort="50"/></joint>')
    package = folder / 'vendor_description'
    (package / 'meshes').mkdir(parents=True)
    (package / 'robot.urdf').write_text(f'<robot name="x">{"".join(links)}</robot>')
    if meshes:
        for k in range(len(robot.joints)):
            (package / 'meshes' / f'link{k}.stl').write_text(STL)
    return replace(robot, tool_frame='', urdf=(UrdfPlace(at='package:nowhere/robot.urdf'),
                                UrdfPlace(at='package:vendor_description/robot.urdf')))


@pytest.mark.parametrize('name', ROBOTS)
def test_a_file_says_what_is_needed(name):
    robot = ROBOTS[name]
    assert robot.robot == name
    assert robot.known
    assert robot.assumed
    assert len(robot.effort_gains) in (0, len(robot.joints))
    assert bool(robot.effort_gains) or robot.effort == 'current'
    # Nothing is copied: every URDF stands in a package of others.
    assert all(':' in place.at for place in robot.urdf)
    assert armsense.robots().count(name) == 1


def test_the_page_of_the_documentation_is_that_of_the_files():
    written = next(folder / 'docs' / 'robots.md' for folder in share_folders()
                   if (folder / 'docs').is_dir())
    assert written.read_text() == page(ROBOTS)   # armsense robots --docs docs/robots.md


def test_the_second_place_counts_where_the_first_has_nothing(tmp_path, monkeypatch):
    robot = vendor(tmp_path, ROBOTS['ur10e'], meshes=True)
    with pytest.raises(ArmsenseError, match='no URDF is installed: nowhere is in no workspace'):
        robot.config()
    monkeypatch.setenv('ROS_PACKAGE_PATH', str(tmp_path))
    arm = armsense.Arm.load(robot.config())
    assert arm.joint_names == robot.joints
    assert repr(arm) == '<Arm ur10e: 6 joints, 500 Hz, effort current>'
    assert len(arm_capsules(arm)) == 6


def test_meshes_that_are_not_there_are_told_once_and_stop_nobody(tmp_path, monkeypatch, caplog):
    monkeypatch.setenv('ROS_PACKAGE_PATH', str(tmp_path))
    arm = armsense.Arm.load(vendor(tmp_path, ROBOTS['panda'], meshes=False).config())
    with caplog.at_level(logging.WARNING, 'armsense'):
        monitors = [CollisionMonitor(arm) for _ in range(2)]
    warning, = (record.getMessage() for record in caplog.records)
    assert 'link0.stl and 6 more were not found' in warning
    assert 'package_dirs' in warning
    result = monitors[0].step([0.0] * 7, [0.0] * 7, [], [], True, 0.001)
    assert result.filtered.shape == (7,)
    assert monitors[0].contact(np.full(7, 9.0), np.ones(7), np.zeros(7), 6) is None
    # Who keeps links apart needs all of them.
    with pytest.raises(ArmsenseError, match='set package_dirs'):
        arm_capsules(arm)


def test_package_dirs_name_the_place_of_the_meshes(tmp_path, monkeypatch):
    vendor(tmp_path, ROBOTS['panda'], meshes=True)
    urdf = tmp_path / 'elsewhere' / 'robot.urdf'
    urdf.parent.mkdir()
    urdf.write_text((tmp_path / 'vendor_description' / 'robot.urdf').read_text().replace(
        'package://vendor', 'package://sub/vendor'))
    (tmp_path / 'hidden').mkdir()
    (tmp_path / 'hidden' / 'sub').symlink_to(tmp_path)
    with pytest.raises(ArmsenseError, match='not found'):
        arm_capsules(armsense.load(urdf))
    assert len(arm_capsules(armsense.load(urdf, package_dirs=[tmp_path / 'hidden']))) == 7


def test_xacro_arguments_reach_the_file(tmp_path, monkeypatch):
    robot = vendor(tmp_path, ROBOTS['xarm6'], meshes=True)
    package = tmp_path / 'vendor_description'
    text = (package / 'robot.urdf').read_text().replace(
        '<robot name="x">', '<robot name="x" xmlns:xacro="http://www.ros.org/wiki/xacro">'
        '<xacro:arg name="mass" default="2"/>').replace('value="2"', 'value="$(arg mass)"')
    (package / 'robot.xacro').write_text(text)
    monkeypatch.setenv('ROS_PACKAGE_PATH', str(tmp_path))
    place = UrdfPlace(at='package:vendor_description/robot.xacro', arguments={'mass': '5'})
    arm = armsense.Arm.load(replace(robot, urdf=(place,)).config())
    assert arm.masses.tolist() == [5.0] * 6


@pytest.mark.parametrize(('name', 'factor'), [('ur10e', 14.87), ('med7', -1.0), ('panda', 1.0)])
def test_the_bridge_turns_efforts_into_torques(name, factor, tmp_path, monkeypatch):
    monkeypatch.setenv('ROS_PACKAGE_PATH', str(tmp_path))
    arm = armsense.Arm.load(vendor(tmp_path, ROBOTS[name], meshes=True).config())
    bridge = EffortBridge(arm, guard_limits(arm))
    zeros = [0.0] * arm.n
    reading = bridge.watch(arm.joint_names, zeros, zeros, [2.0] * arm.n)
    assert reading.torque[0] == pytest.approx(2.0 * factor)


def test_currents_without_gains_are_refused(tmp_path, monkeypatch):
    monkeypatch.setenv('ROS_PACKAGE_PATH', str(tmp_path))
    config = vendor(tmp_path, ROBOTS['ur5e'], meshes=True).config()
    arm = armsense.Arm.load(config)
    with pytest.raises(ArmsenseError, match=r'ur5e reports currents, .* 6 numbers \[Nm/A\]'):
        EffortBridge(arm, guard_limits(arm))
    with pytest.raises(ArmsenseError, match='reports currents'):
        armsense.watch(arm).step(0.0, [0.0] * 6, [0.0] * 6)
    known = armsense.Arm.load(replace(config, effort_gains=(10.0,) * 6))
    assert armsense.watch(known).step(0.0, [0.0] * 6, [0.0] * 6).residual.shape == (6,)
