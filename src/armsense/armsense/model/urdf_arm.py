"""The configuration of a robot of which only the URDF is known, and which reports joint efforts.

For robots with drivers of their own (ros2_control, Gazebo): joint efforts stand for motor torques,
gears and boards are nobody's business here. Friction and rotor inertia are unknown until an
identified `model.yaml` brings them.
"""

from __future__ import annotations

from pathlib import Path
import xml.etree.ElementTree as ElementTree

from armsense.errors import ArmsenseError
from armsense.model.arm_config import ArmConfig
from armsense.model.pinocchio_arm import joint_order
from armsense.model.robot_description import load_description

SUFFIXES = ('.urdf', '.xacro')
RATE = 500.0   # [Hz] of the joint states, where nobody says otherwise


def urdf_arm(path: Path, rate: float = RATE) -> ArmConfig:
    """One rigid, ungeared drive per revolute joint of a URDF or xacro file; the others stay put.

    Raises:
        ArmsenseError: No file, no URDF, no revolute joint, or one without effort limit.
    """
    if not path.is_file():
        raise ArmsenseError(f'the robot description {path} does not exist')
    robot = ElementTree.fromstring(load_description(path))
    name = robot.get('name') or path.stem
    robot.set('name', name)
    moving = [joint for joint in robot.findall('joint')
              if joint.get('type') == 'revolute' and joint.find('mimic') is None]
    if not moving:
        raise ArmsenseError(f'{path.name} has no revolute joint')
    names = [joint.get('name', '') for joint in moving]
    if '' in names or len(set(names)) < len(names):
        raise ArmsenseError(f'{path.name}: every joint needs a name of its own; '
                            f'the revolute ones have {", ".join(map(repr, names))}')
    found = {key: _limits(joint, path.name) for key, joint in zip(names, moving, strict=True)}
    # A description may list its joints in any order; the model has them as the arm does.
    order = joint_order(ElementTree.tostring(robot, 'unicode'))
    limits = {joint: found[joint] for joint in order if joint in found}
    last = moving[names.index(list(limits)[-1])]
    return ArmConfig.plain(
        name, f'{name}, {len(moving)} joints, known by its URDF',
        {joint: limit['effort'] for joint, limit in limits.items()}, urdf=path.name,
        home=tuple(min(max(0.0, limit['lower']), limit['upper']) for limit in limits.values()),
        tool_frame=_last_link(robot, last), rate=rate, folder=path.resolve().parent)


def _limits(joint: ElementTree.Element, where: str) -> dict[str, float]:
    limit = joint.find('limit')
    try:
        values = {key: float(limit.get(key, '0')) if limit is not None else 0.0
                  for key in ('lower', 'upper', 'effort')}
    except ValueError as error:
        raise ArmsenseError(f'{where}: limit of joint {joint.get("name")!r}: {error}') from error
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
