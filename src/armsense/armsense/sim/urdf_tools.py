"""Small edits of a URDF tree: inertials, hinges, cut shapes."""

from __future__ import annotations

from collections.abc import Sequence
import copy
from dataclasses import dataclass
import xml.etree.ElementTree as ElementTree

import numpy as np

from armsense.errors import ArmsenseError
from armsense.schema import check_known
from armsense.types import Array

TENSOR = ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz')


@dataclass(frozen=True)
class Inertial:
    """Mass, centre of mass and inertia of a body."""

    mass: float      # [kg]
    center: Array    # [m], (3,)
    tensor: Array    # [kg m^2] about the centre, (3, 3)

    def about_origin(self) -> Array:
        """Inertia about the frame's origin [kg m^2], (3, 3)."""
        return self.tensor + self.mass * _steiner(self.center)

    def moved(self, shift: Array) -> Inertial:
        """The same body in a frame in which all positions are `shift` larger."""
        return Inertial(self.mass, self.center + shift, self.tensor)


def combine(parts: Sequence[Inertial]) -> Inertial:
    """Several bodies as one."""
    mass = sum(part.mass for part in parts)
    if mass <= 0.0:
        return Inertial(0.0, np.zeros(3), np.zeros((3, 3)))
    center = np.sum([part.mass * part.center for part in parts], axis=0) / mass
    tensor = np.sum([part.about_origin() for part in parts], axis=0) - mass * _steiner(center)
    return Inertial(mass, center, tensor)


def _steiner(r: Array) -> Array:
    return np.asarray((r @ r) * np.eye(3) - np.outer(r, r))


def rotation(rpy: Array) -> Array:
    """Rotation of URDF's roll-pitch-yaw, (3, 3)."""
    (cr, cp, cy), (sr, sp, sy) = np.cos(rpy), np.sin(rpy)
    return np.array([[cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
                     [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
                     [-sp, cp * sr, cp * cr]])


def vector(element: ElementTree.Element | None, key: str) -> Array:
    """Three numbers of an attribute; zeros where there is none."""
    text = '' if element is None else element.get(key, '')
    return np.array([float(word) for word in text.split()]) if text else np.zeros(3)


def named(robot: ElementTree.Element, kind: str, name: str) -> ElementTree.Element:
    """The joint or link of that name."""
    elements = {element.get('name', '?'): element for element in robot.findall(kind)}
    check_known(kind, name, elements, 'URDF')
    return elements[name]


def link_at(joint: ElementTree.Element, side: str) -> str:
    """Link that carries a joint (`parent`) or that it carries (`child`)."""
    link = joint.find(side)
    return '' if link is None else link.get('link', '')


def joint_axis(joint: ElementTree.Element) -> Array:
    """Unit axis in the frame of the joint, (3,)."""
    axis = joint.find('axis')
    direction = np.array([1.0, 0.0, 0.0]) if axis is None else vector(axis, 'xyz')
    return np.asarray(direction / np.linalg.norm(direction))


def read_inertial(link: ElementTree.Element) -> Inertial:
    """Inertial of a link, tensor in link axes."""
    tag = link.find('inertial')
    mass = None if tag is None else tag.find('mass')
    inertia = None if tag is None else tag.find('inertia')
    if tag is None or mass is None or inertia is None:
        raise ArmsenseError(f'link {link.get("name")!r} has no complete inertial')
    xx, xy, xz, yy, yz, zz = (float(inertia.get(key, '0')) for key in TENSOR)
    R = rotation(vector(tag.find('origin'), 'rpy'))
    tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return Inertial(float(mass.get('value', 'nan')), vector(tag.find('origin'), 'xyz'),
                    R @ tensor @ R.T)


def write_inertial(link: ElementTree.Element, body: Inertial) -> None:
    """Replace the inertial of a link."""
    for old in link.findall('inertial'):
        link.remove(old)
    tag = ElementTree.SubElement(link, 'inertial')
    ElementTree.SubElement(tag, 'origin', xyz=_text(body.center), rpy='0 0 0')
    ElementTree.SubElement(tag, 'mass', value=repr(float(body.mass)))
    upper = body.tensor[np.triu_indices(3)].tolist()
    ElementTree.SubElement(tag, 'inertia', dict(zip(TENSOR, map(repr, upper), strict=True)))


def add_hinge(robot: ElementTree.Element, name: str, parent: str, child: str, position: Array,
              axis: Array) -> None:
    """A revolute joint, wide enough never to reach its limits."""
    joint = ElementTree.SubElement(robot, 'joint', name=name, type='revolute')
    ElementTree.SubElement(joint, 'parent', link=parent)
    ElementTree.SubElement(joint, 'child', link=child)
    ElementTree.SubElement(joint, 'origin', xyz=_text(position), rpy='0 0 0')
    ElementTree.SubElement(joint, 'axis', xyz=_text(axis))
    ElementTree.SubElement(joint, 'limit', lower='-1.5', upper='1.5', velocity='1000',
                           effort='1000')


def reattach(joint: ElementTree.Element, parent: str, shift: Array) -> None:
    """Hang a joint on another link whose frame makes all positions `shift` larger."""
    link = joint.find('parent')
    assert link is not None
    link.set('link', parent)
    shift_origin(joint, shift)


def shift_origin(element: ElementTree.Element, shift: Array) -> None:
    """Move the origin of an element."""
    origin = element.find('origin')
    if origin is None:
        origin = ElementTree.SubElement(element, 'origin', rpy='0 0 0')
    origin.set('xyz', _text(vector(origin, 'xyz') + shift))


def cut_shape(element: ElementTree.Element, along: Array, low: float,
              high: float) -> ElementTree.Element | None:
    """The part of a visual or collision between two distances along a direction.

    Cylinders and boxes that lie along the direction are cut; other shapes belong whole to where
    their centre is.
    """
    origin, geometry = element.find('origin'), element.find('geometry')
    center = float(vector(origin, 'xyz') @ along)
    extent = None if geometry is None else _extent(geometry[0], rotation(vector(origin, 'rpy')),
                                                   along)
    if extent is None:
        return copy.deepcopy(element) if low <= center < high else None
    length, side = extent
    first, last = max(low, center - 0.5 * length), min(high, center + 0.5 * length)
    if last - first < 1e-6:
        return None
    piece = copy.deepcopy(element)
    shift_origin(piece, (0.5 * (first + last) - center) * along)
    shape = piece.find('geometry')
    assert shape is not None
    if shape[0].tag == 'cylinder':
        shape[0].set('length', repr(float(last - first)))
    else:
        size = vector(shape[0], 'size')
        size[side] = last - first
        shape[0].set('size', _text(size))
    return piece


def _extent(shape: ElementTree.Element, R: Array, along: Array) -> tuple[float, int] | None:
    """Length along the direction [m] and which side that is."""
    side = int(np.argmax(np.abs(R.T @ along)))
    if abs((R.T @ along)[side]) < 0.999:
        return None
    if shape.tag == 'box':
        return float(vector(shape, 'size')[side]), side
    if shape.tag == 'cylinder' and side == 2:
        return float(shape.get('length', '0')), side
    return None


def _text(values: Array) -> str:
    return ' '.join(repr(float(value)) for value in values)
