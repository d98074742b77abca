"""URDF text of an arm, from a URDF or xacro file, and the arm of which only that is known."""

from collections.abc import Sequence
import math
from pathlib import Path
import xml.etree.ElementTree as ElementTree
from xml.parsers.expat import ExpatError

import xacro

from armsense.errors import ArmsenseError, BadValue
from armsense.model.arm_config import ArmConfig
from armsense.model.pinocchio_arm import joint_order
from armsense.schema import check_known

SUFFIXES = ('.urdf', '.xacro')
UNBOUNDED = 1000.0   # [rad] limit of a continuous joint
RATE = 500.0   # [Hz] of the joint states of a robot that is known by its URDF


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


def urdf_arm(path: Path, arguments: dict[str, str] | None = None, joints: Sequence[str] = (),
             efforts: Sequence[float] = ()) -> ArmConfig:
    """One rigid, ungeared drive per revolute joint of a URDF or xacro file; the others stay put.

    With `joints` these alone move, whose limits may be given as `efforts` [Nm].

    For robots with drivers of their own (ros2_control, Gazebo): joint efforts stand for motor
    torques, gears and boards are nobody's business here. Friction and rotor inertia are unknown
    until an identified `model.yaml` brings them.
    """
    if not path.is_file():
        raise ArmsenseError(f'the robot description {path} does not exist')
    robot = ElementTree.fromstring(load_description(path, arguments))
    name = robot.get('name') or path.stem
    robot.set('name', name)
    moving = [joint for joint in robot.findall('joint')
              if joint.get('type') == 'revolute' and joint.find('mimic') is None]
    if not moving:
        raise ArmsenseError(f'{path.name} has no revolute joint')
    if joints:
        for name in joints:
            check_known('joint', name, [joint.get('name', '') for joint in moving], path.name)
        moving = [joint for joint in moving if joint.get('name') in joints]
    names = [joint.get('name', '') for joint in moving]
    if '' in names or len(set(names)) < len(names):
        raise ArmsenseError(f'{path.name}: every joint needs a name of its own; '
                            f'the revolute ones have {", ".join(map(repr, names))}')
    given = dict(zip(joints, efforts, strict=True)) if efforts else {}
    found = {key: _limits(joint, path.name, given.get(key))
             for key, joint in zip(names, moving, strict=True)}
    # A description may list its joints in any order; the model has them as the arm does.
    order = joint_order(ElementTree.tostring(robot, 'unicode'))
    limits = {joint: found[joint] for joint in order if joint in found}
    last = moving[names.index(list(limits)[-1])]
    return ArmConfig.plain(
        name, f'{name}, {len(moving)} joints, known by its URDF',
        {joint: limit['effort'] for joint, limit in limits.items()}, urdf=path.name,
        urdf_arguments=dict(arguments or {}),
        home=tuple(min(max(0.0, limit['lower']), limit['upper']) for limit in limits.values()),
        tool_frame=_last_link(robot, last), rate=RATE, folder=path.resolve().parent)


def _limits(joint: ElementTree.Element, where: str, effort: float | None) -> dict[str, float]:
    limit = joint.find('limit')
    try:
        values = {key: float(limit.get(key, '0')) if limit is not None else 0.0
                  for key in ('lower', 'upper', 'effort')}
    except ValueError as error:
        raise ArmsenseError(f'{where}: limit of joint {joint.get("name")!r}: {error}') from error
    values['effort'] = values['effort'] if effort is None else effort
    if not values['effort'] > 0.0:
        raise ArmsenseError(f'{where}: joint {joint.get("name")!r} needs a limit with an effort '
                            'above zero: thresholds begin as a share of it')
    return values


def _last_link(robot: ElementTree.Element, joint: ElementTree.Element) -> str:
    """The end of the chain of fixed joints behind the last moving joint."""
    children = {_link(j, 'parent'): j for j in reversed(robot.findall('joint'))
                if j.get('type') == 'fixed'}
    link = _link(joint, 'child')
    while link in children:
        link = _link(children[link], 'child')
    return link


def _link(joint: ElementTree.Element, end: str) -> str:
    element = joint.find(end)
    return '' if element is None else element.get('link', '')
