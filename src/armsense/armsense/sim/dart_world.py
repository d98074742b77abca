"""Models of an SDF world in DART: planes, boxes, spheres and cylinders, fixed or free.

DART's own reader stops at SDF 1.6; the worlds in `config/worlds` are newer.
"""

from __future__ import annotations

from pathlib import Path
import xml.etree.ElementTree as ElementTree

import dartpy as dart
import numpy as np

from armsense.errors import ArmsenseError
from armsense.sim.urdf_tools import rotation

FLOOR = 0.1      # [m] thickness of the box that stands for a plane
AXES = ('ixx', 'iyy', 'izz')


def add_world(world: dart.simulation.World, path: str | Path) -> tuple[str, ...]:
    """Put the models of an SDF file into a world; returns their names."""
    try:
        root = ElementTree.parse(path).getroot()
    except (OSError, ElementTree.ParseError) as error:
        raise ArmsenseError(f'cannot read the world {path}: {error}') from error
    models = root.findall('world/model')
    for model in models:
        world.addSkeleton(_skeleton(model))
    return tuple(model.get('name', '') for model in models)


def _skeleton(model: ElementTree.Element) -> dart.dynamics.Skeleton:
    """A model of one link."""
    skeleton = dart.dynamics.Skeleton(model.get('name', ''))
    fixed = model.findtext('static', 'false').strip() == 'true'
    joint, body = (skeleton.createWeldJointAndBodyNodePair() if fixed
                   else skeleton.createFreeJointAndBodyNodePair())
    pose = _pose(model)
    if fixed:
        joint.setTransformFromParentBodyNode(pose)
    else:
        dart.dynamics.FreeJoint.setTransformOf(joint, pose)
    inertial = model.find('link/inertial')
    if inertial is not None:
        moments = [float(inertial.findtext(f'inertia/{key}', '1')) for key in AXES]
        body.setInertia(dart.dynamics.Inertia(float(inertial.findtext('mass', '1')), np.zeros(3),
                                              np.diag(moments)))
    for collision in model.findall('link/collision'):
        shape, shift = _shape(collision)
        node = body.createShapeNode(shape)
        node.createCollisionAspect()
        node.createDynamicsAspect()
        node.setRelativeTransform(_pose(collision).multiply(shift))
    return skeleton


def _shape(collision: ElementTree.Element) -> tuple[dart.dynamics.Shape,
                                                    dart.math.Isometry3]:
    here = dart.math.Isometry3.Identity()
    geometry = collision.find('geometry')
    kind = None if geometry is None or not len(geometry) else geometry[0]
    if kind is None:
        raise ArmsenseError(f'collision {collision.get("name")!r} has no geometry')
    size = [float(word) for word in kind.findtext('size', '').split()]
    radius, length = (float(kind.findtext(key, '0')) for key in ('radius', 'length'))
    if kind.tag == 'box':
        return dart.dynamics.BoxShape(size), here
    if kind.tag == 'sphere':
        return dart.dynamics.SphereShape(radius), here
    if kind.tag == 'cylinder':
        return dart.dynamics.CylinderShape(radius, length), here
    if kind.tag == 'plane':
        here.set_translation([0.0, 0.0, -0.5 * FLOOR])
        return dart.dynamics.BoxShape([*size, FLOOR]), here
    raise ArmsenseError(f'geometry {kind.tag!r}; known: plane, box, sphere, cylinder')


def _pose(element: ElementTree.Element) -> dart.math.Isometry3:
    values = np.array([float(word) for word in element.findtext('pose', '0 0 0 0 0 0').split()])
    pose = dart.math.Isometry3.Identity()
    pose.set_translation(values[:3])
    pose.set_rotation(rotation(values[3:]))
    return pose
