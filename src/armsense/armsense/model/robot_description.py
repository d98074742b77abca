"""URDF text of an arm, from a URDF or xacro file."""

from __future__ import annotations

import math
from pathlib import Path
import xml.etree.ElementTree as ElementTree
from xml.parsers.expat import ExpatError

import xacro

from armsense import share
from armsense.errors import ArmsenseError, BadValue

UNBOUNDED = 1000.0   # [rad] limit of a continuous joint


def find_description(name: str, beside: Path | None = None) -> Path:
    """The file `name`: absolute, beside the arm's yaml, or in the shared `urdf/` folder."""
    if Path(name).is_absolute():
        candidates = [Path(name)]
    else:
        candidates = [beside / name] if beside else []
        candidates += [folder / 'urdf' / name for folder in share.share_folders()]
    for path in candidates:
        if path.is_file():
            return path
    places = ', '.join(str(path) for path in candidates)
    raise ArmsenseError(f'robot description {name!r} was not found; looked at {places}')


def load_description(path: Path, arguments: dict[str, str] | None = None) -> str:
    """URDF text; xacro files are expanded with `arguments`."""
    try:
        if path.suffix == '.xacro':
            text = str(xacro.process_file(str(path), mappings=arguments or {}).toxml())
        else:
            text = path.read_text()
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise ArmsenseError(f'{path} is not valid XML: {error}') from error
    except UnicodeDecodeError as error:
        raise ArmsenseError(f'{path} is not text: {error.reason}') from error
    except OSError as error:
        raise ArmsenseError(f'cannot read {path}: {error.strerror}') from error
    except (xacro.XacroException, ExpatError) as error:
        raise ArmsenseError(f'{path}: xacro: {" ".join(str(error).split())}') from error
    check_inertials(root, path.name)
    return ElementTree.tostring(root, 'unicode') if _bound_continuous(root) else text


def _bound_continuous(root: ElementTree.Element) -> bool:
    """Make continuous joints revolute, with limits nobody reaches: one angle, one coordinate."""
    joints = [joint for joint in root.findall('joint') if joint.get('type') == 'continuous']
    for joint in joints:
        joint.set('type', 'revolute')
        limit = joint.find('limit')
        if limit is None:
            limit = ElementTree.SubElement(joint, 'limit', effort='0', velocity='0')
        limit.set('lower', str(-UNBOUNDED))
        limit.set('upper', str(UNBOUNDED))
    return bool(joints)


def check_inertials(root: ElementTree.Element, where: str) -> None:
    """Raise where a number is not finite, a mass is negative or a joint moves no mass at all.

    A link without mass is sound where it is fixed to others: frames and tools are modelled so.
    """
    masses = {}
    for link in root.findall('link'):
        name = link.get('name', '?')
        for tag in link.findall('inertial'):
            for element in tag.iter():
                for key, value in element.attrib.items():
                    _check_numbers(value, f'{where}: link {name!r}: {element.tag} {key}')
            mass = tag.find('mass')
            masses[name] = math.nan if mass is None else _number(mass.get('value', ''))
            if not masses[name] >= 0.0:
                raise BadValue(f'{where}: link {name!r}: mass', masses[name], '>= 0 kg')
    for name, bodies in _moved_bodies(root, where).items():
        known = [masses[body] for body in bodies if body in masses]
        if known and not sum(known) > 0.0:
            raise BadValue(f'{where}: link {name!r}: mass', 0.0, '> 0 kg, it moves with a joint')


def _moved_bodies(root: ElementTree.Element, where: str) -> dict[str, list[str]]:
    """Link that each joint moves, with all links fixed to it."""
    moved: list[tuple[str, str]] = []
    fixed: list[tuple[str, str]] = []
    for joint in root.findall('joint'):
        parent, child = joint.find('parent'), joint.find('child')
        if parent is not None and child is not None:
            pair = parent.get('link', ''), child.get('link', '')
            (fixed if joint.get('type') == 'fixed' else moved).append(pair)
    bodies = {child: [child] for _, child in moved}
    for group in bodies.values():
        for link in group:      # grows while it is walked through
            behind = [child for parent, child in fixed if parent == link]
            if twice := [child for child in behind if child in group]:
                raise ArmsenseError(f'{where}: link {twice[0]!r} is fixed to more than one other')
            group += behind
    return bodies


def _check_numbers(text: str, what: str) -> None:
    for word in text.split():
        if not math.isfinite(_number(word)):
            raise BadValue(what, word, 'a finite number')


def _number(word: str) -> float:
    """NaN where it is none."""
    try:
        return float(word)
    except ValueError:
        return math.nan
