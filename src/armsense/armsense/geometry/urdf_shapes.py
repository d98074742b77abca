"""Shapes of an arm's links from its URDF; whoever needs shapes takes them from here."""

from functools import lru_cache
from typing import Any
import xml.etree.ElementTree as ElementTree

import pinocchio as pin

from armsense.errors import ArmsenseError
from armsense.model import Arm

VISUAL, COLLISION = pin.GeometryType.VISUAL, pin.GeometryType.COLLISION


def read_shapes(model: Arm, kind: Any = COLLISION, meshes: bool = True) -> tuple[Any, Any]:
    """Pinocchio's model and shapes (VISUAL or COLLISION) of an arm; other joints are locked.

    Without meshes their files need not be there; a shape that cannot be read is an error.
    """
    try:
        full, shapes = _read(model.urdf if meshes else _without_meshes(model.urdf), kind)
    except (ValueError, RuntimeError) as error:
        raise ArmsenseError(f'{model.name}: the {kind.name.lower()} shapes cannot be read '
                            f'({" ".join(str(error).split())}); give the URDF cylinders, boxes '
                            'or spheres') from error
    locked = [full.getJointId(name) for name in list(full.names)[1:]
              if name not in model.joint_names]
    if locked:
        return tuple(pin.buildReducedModel(full, shapes, locked, pin.neutral(full)))
    return full, shapes.copy()


@lru_cache(maxsize=32)
def _read(urdf: str, kind: Any) -> tuple[Any, Any]:
    """Once per description: Pinocchio 4.1 never frees shapes that it has read."""
    full = pin.buildModelFromXML(urdf)
    return full, pin.buildGeomFromUrdfString(full, urdf, kind)


def link_name(shape: Any) -> str:
    """Link of the URDF that a shape belongs to."""
    return str(shape.name.rsplit('_', 1)[0])


def _without_meshes(urdf: str) -> str:
    root = ElementTree.fromstring(urdf)
    for link in root.findall('link'):
        for shape in [*link.findall('visual'), *link.findall('collision')]:
            if shape.find('geometry/mesh') is not None:
                link.remove(shape)
    return ElementTree.tostring(root, 'unicode')
