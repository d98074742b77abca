"""The URDF of an arm as it is, or was identified: inertias, friction, limits, mounting.

Gazebo, DART, ros2_control and other tools get this text instead of the bare xacro file, so that
they simulate the arm that the nodes believe in; see `armsense.model.gazebo_arm`.
"""

from __future__ import annotations

from pathlib import Path
import xml.etree.ElementTree as ElementTree

import numpy as np
import pinocchio as pin

from armsense.errors import ArmsenseError
from armsense.model import Arm
from armsense.model.arm import PARAMETER_NAMES
from armsense.model.description_places import find_description
from armsense.model.gazebo_arm import gazebo_arm
from armsense.model.robot_description import load_description
from armsense.sim import urdf_tools as urdf
from armsense.types import Array

WORLD_JOINT = 'world_joint'   # by which a simulated arm is bolted down


def description(arm: Arm, hardware: str = 'gazebo', controllers: str | Path = '') -> str:
    """URDF text of an arm.

    Args:
        arm: With its identified model, if it has one.
        hardware: Of the block for ros2_control; none: no such block. With gazebo the rotors are
            in the links, where its engine can have them.
        controllers: Parameter file of the controller manager that Gazebo starts.

    Raises:
        ArmsenseError: Gazebo cannot have this arm.
    """
    config = arm.config
    if hardware == 'gazebo':
        arm = gazebo_arm(arm)
    path = find_description(config.urdf, config.folder)
    robot = ElementTree.fromstring(load_description(path, {
        **config.urdf_arguments, 'hardware': hardware, 'controllers': str(controllers)}))
    if hardware != 'none' and robot.find('ros2_control') is None:
        raise ArmsenseError(f'{path} has no block for ros2_control; urdf/laas4.urdf.xacro shows '
                            'how one is made')
    rows = arm.parameters.reshape(arm.n, len(PARAMETER_NAMES))
    for name, joint, row in zip(arm.joint_names, arm.config.joints.values(), rows, strict=True):
        element = urdf.named(robot, 'joint', name)
        _write_body(robot, urdf.link_at(element, 'child'), row)
        for old in element.findall('dynamics'):
            element.remove(old)
        ElementTree.SubElement(element, 'dynamics', damping=repr(float(joint.friction.viscous)),
                               friction=repr(float(joint.friction.coulomb)))
    if hardware == 'gazebo':
        _mount(urdf.named(robot, 'joint', WORLD_JOINT), arm.gravity)
    return ElementTree.tostring(robot, 'unicode')


def _write_body(robot: ElementTree.Element, link: str, row: Array) -> None:
    """Ten parameters about the frame of a link, which include what is fixed to it."""
    mass, center = row[0], row[1:4] / row[0]
    xx, xy, yy, xz, yz, zz = row[4:]
    about_frame = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    steiner = mass * ((center @ center) * np.eye(3) - np.outer(center, center))
    group = [link]
    for name in group:      # grows while it is walked through
        group += [urdf.link_at(joint, 'child') for joint in robot.findall('joint')
                  if joint.get('type') == 'fixed' and urdf.link_at(joint, 'parent') == name]
    for name in group:
        element = urdf.named(robot, 'link', name)
        for old in element.findall('inertial'):
            element.remove(old)
    urdf.write_inertial(urdf.named(robot, 'link', link),
                        urdf.Inertial(float(mass), center, about_frame - steiner))


def _mount(joint: ElementTree.Element, gravity: Array) -> None:
    """Turn the base so that the world's gravity is that of the arm [m/s^2], base frame, (3,)."""
    down = pin.Quaternion.FromTwoVectors(np.array(gravity, float), np.array([0.0, 0.0, -1.0]))
    rpy = pin.rpy.matrixToRpy(down.toRotationMatrix())
    origin = joint.find('origin')
    assert origin is not None
    origin.set('rpy', ' '.join(repr(round(float(angle), 12) + 0.0) for angle in rpy))
