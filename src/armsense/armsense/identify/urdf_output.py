"""The identified links as a URDF, for everybody else's tools.

What a joint moves is one body: its link with all that is fixed to it. The whole of it stands in
the link that the joint moves, the others lose their inertia. Viscous and Coulomb friction go into
`dynamics`. A URDF has no place for rotor inertias, other terms of friction and gravity: these
stand in model.yaml alone.
"""

from collections.abc import Iterable
import xml.etree.ElementTree as ElementTree

import numpy as np

from armsense.errors import ArmsenseError
from armsense.identify.model import IdentifiedModel
from armsense.types import Array

AXES = {'ixx': (0, 0), 'ixy': (0, 1), 'ixz': (0, 2), 'iyy': (1, 1), 'iyz': (1, 2), 'izz': (2, 2)}


def identified_urdf(model: IdentifiedModel) -> str:
    """Text of the description with identified inertias and friction."""
    arm = model.model
    robot = ElementTree.fromstring(arm.urdf)
    joints = {joint.get('name', ''): joint for joint in robot.findall('joint')}
    links = {link.get('name', ''): link for link in robot.findall('link')}
    drive = model.drive_coefficients()
    for k, name in enumerate(arm.joint_names):
        moved = _end(joints[name], 'child')
        for link in _body(joints.values(), moved, set(arm.joint_names)):
            for old in links[link].findall('inertial'):
                links[link].remove(old)
        links[moved].insert(0, _inertial(model.parameters[10 * k:10 * k + 10]))
        _set_friction(joints[name], *(float(drive[term][k]) if term in drive else 0.0
                                      for term in ('viscous', 'coulomb')))
    ElementTree.indent(robot)
    return '<?xml version="1.0"?>\n' + ElementTree.tostring(robot, 'unicode') + '\n'


def _body(joints: Iterable[ElementTree.Element], link: str, moving: set[str]) -> list[str]:
    """A link with all that no moving joint of the arm parts from it."""
    body = [link]
    for member in body:      # grows while it is walked through
        body += [_end(joint, 'child') for joint in joints
                 if _end(joint, 'parent') == member and joint.get('name') not in moving]
    return body


def _end(joint: ElementTree.Element, end: str) -> str:
    element = joint.find(end)
    if element is None:
        raise ArmsenseError(f'joint {joint.get("name")!r} of the URDF has no {end}')
    return element.get('link', '')


def _inertial(parameters: Array) -> ElementTree.Element:
    """Of one body: mass, centre, inertia about the centre in axes of the link."""
    mass, center = float(parameters[0]), parameters[1:4] / parameters[0]
    xx, xy, yy, xz, yz, zz = parameters[4:]
    about_origin = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    tensor = about_origin - mass * (center @ center * np.eye(3) - np.outer(center, center))
    inertial = ElementTree.Element('inertial')
    ElementTree.SubElement(inertial, 'origin', xyz=' '.join(f'{x:.9g}' for x in center),
                           rpy='0 0 0')
    ElementTree.SubElement(inertial, 'mass', value=f'{mass:.9g}')
    ElementTree.SubElement(inertial, 'inertia',
                           {name: f'{tensor[place]:.9g}' for name, place in AXES.items()})
    return inertial


def _set_friction(joint: ElementTree.Element, viscous: float, coulomb: float) -> None:
    dynamics = joint.find('dynamics')
    if dynamics is None:
        dynamics = ElementTree.SubElement(joint, 'dynamics')
    dynamics.set('damping', f'{max(viscous, 0.0):.6g}')
    dynamics.set('friction', f'{max(coulomb, 0.0):.6g}')
