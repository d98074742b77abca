"""Shapes of an arm's links from its URDF; whoever needs shapes takes them from here."""

from functools import lru_cache
import logging
from pathlib import Path
from typing import Any
import xml.etree.ElementTree as ElementTree

import pinocchio as pin

from armsense.errors import ArmsenseError
from armsense.model import Arm
from armsense.model.description_places import package_folders

LOG = logging.getLogger('armsense')
VISUAL, COLLISION = pin.GeometryType.VISUAL, pin.GeometryType.COLLISION


def read_shapes(model: Arm, kind: Any = COLLISION, meshes: bool = True,
                missing_ok: bool = False) -> tuple[Any, Any]:
    """Pinocchio's model and shapes (VISUAL or COLLISION) of an arm; other joints are locked.

    Without meshes their files need not be there. A mesh that is not found is an error; with
    `missing_ok` it is left out and a warning says so, once.
    """
    folders = tuple(map(Path, model.config.package_dirs)) + tuple(package_folders())
    urdf, lost = _with_files(model.urdf, kind.name.lower(), model.config.folder, folders)
    if meshes and lost and not missing_ok:
        raise ArmsenseError(f'{model.name}: the {kind.name.lower()} shapes cannot be read '
                            f'({_words(lost)} not found); set package_dirs (or ROS_PACKAGE_PATH) '
                            'to the folder that holds the package, or give the URDF cylinders, '
                            'boxes or spheres')
    if meshes and lost:
        _warn_once(f'{model.name}: {_words(lost)} not found: contacts with these links are felt, '
                   'but no point is told; package_dirs or ROS_PACKAGE_PATH name the folder that '
                   'holds the package')
    try:
        full, shapes = _read(urdf if meshes else _without_meshes(urdf), kind)
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


@lru_cache(maxsize=32)
def _warn_once(text: str) -> None:
    LOG.warning(text)


def _words(lost: tuple[str, ...]) -> str:
    more = f' and {len(lost) - 1} more were' if len(lost) > 1 else ' was'
    return f'the mesh {lost[0]}{more}'


@lru_cache(maxsize=32)
def _with_files(urdf: str, kind: str, beside: Path | None,
                folders: tuple[Path, ...]) -> tuple[str, tuple[str, ...]]:
    """The description with paths of its mesh files, without shapes whose file is not there."""
    root = ElementTree.fromstring(urdf)
    lost = []
    for link in root.findall('link'):
        for shape in link.findall(kind):
            mesh = shape.find('geometry/mesh')
            if mesh is None:
                continue
            name = mesh.get('filename', '')
            file = _mesh_file(name, beside, folders)
            if file is None:
                link.remove(shape)
                lost.append(name)
            else:
                mesh.set('filename', f'file://{file}')
    return ElementTree.tostring(root, 'unicode'), tuple(dict.fromkeys(lost))


def _mesh_file(name: str, beside: Path | None, folders: tuple[Path, ...]) -> Path | None:
    """An existing file; packages are also looked for among the folders above the URDF."""
    if name.startswith(('package://', 'model://')):
        inside = name.partition('://')[2]
        above = [] if beside is None else [beside, *beside.parents]
        places = [folder / inside for folder in (*folders, *above)]
    else:
        places = [Path(name.removeprefix('file://'))]
        places += [] if beside is None else [beside / name]
    return next((place.absolute() for place in places if place.is_file()), None)


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
