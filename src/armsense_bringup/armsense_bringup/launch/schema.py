"""Which tags and attributes a launch file may have; everything else is an error.

It is what our launch files use, and `ros2 launch` of ROS 2 Jazzy understands it alike. The whole
file is checked, also the parts that a condition leaves out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from armsense_bringup.launch.file import Element, LaunchError
from armsense_bringup.launch.parameters import parameter_value, TYPES
from armsense_bringup.launch.substitutions import check_text, split_words


@dataclass(frozen=True)
class Schema:
    """One tag: its attributes with substitutions, those without, and the tags inside."""

    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    literal: tuple[str, ...] = ()  # of the above: taken as written, no substitutions
    children: dict[str, Schema] = field(default_factory=dict)


_CONDITIONS = ('if', 'unless')
_RESPAWN = ('respawn', 'respawn_delay', 'respawn_max_retries')

ACTIONS: dict[str, Schema] = {
    'arg': Schema(
        required=('name',), optional=('default', 'description'), literal=('description',),
        children={'choice': Schema(required=('value',), literal=('value',))}),
    'let': Schema(required=('name', 'value'), optional=_CONDITIONS),
    'set_env': Schema(required=('name', 'value'), optional=_CONDITIONS),
    'push_ros_namespace': Schema(required=('namespace',), optional=_CONDITIONS),
    'node': Schema(
        required=('pkg', 'exec', 'name'),
        optional=('args', 'output', 'on_exit', *_RESPAWN, *_CONDITIONS),
        literal=('output', 'on_exit', *_RESPAWN),
        children={'param': Schema(
            required=('name', 'value'), optional=('type',), literal=('value', 'type'))}),
}
ACTIONS['group'] = Schema(optional=_CONDITIONS, children=ACTIONS)
_LAUNCH = Schema(children=ACTIONS)
_VALUES = {'output': ('screen', 'log', 'both'), 'on_exit': ('shutdown',),
           'respawn': ('true', 'false')}


def check(root: Element) -> None:
    """Check a whole launch file.

    Raises:
        LaunchError: With file and line of the first thing that is not understood.
    """
    if root.tag != 'launch':
        raise root.error(f'<{root.tag}> at the top; a launch file starts with <launch>')
    _check(root, _LAUNCH)


def _check(element: Element, schema: Schema) -> None:
    known = (*schema.required, *schema.optional)
    for name in element.attributes:
        if name not in known:
            raise _unknown(element, f'attribute {name!r} in <{element.tag}>', known)
    for name in schema.required:
        if name not in element.attributes:
            raise element.error(f'<{element.tag}> needs the attribute {name!r}')
    if set(_CONDITIONS) <= set(element.attributes):
        raise element.error("'if' and 'unless' exclude each other")
    for name in element.attributes:
        _check_value(element, name, name in schema.literal)
    for child in element.children:
        if child.tag not in schema.children:
            raise _unknown(child, f'tag <{child.tag}> in <{element.tag}>', schema.children)
        _check(child, schema.children[child.tag])


def _unknown(element: Element, what: str, known: Iterable[str]) -> LaunchError:
    return element.error(f'unknown {what}; known: {", ".join(sorted(known)) or "none"} '
                         '(ros2 launch has more)')


def _check_value(element: Element, name: str, literal: bool) -> None:
    text = element.attributes[name]
    if name in _VALUES and text not in _VALUES[name]:
        raise element.error(f'{name}={text!r}; known: {", ".join(_VALUES[name])}')
    try:
        if name == 'args':
            split_words(text)
        elif element.tag == 'param' and name == 'value':
            parameter_value(text, element.attributes.get('type', TYPES[0]), None)
        elif not literal and check_text(text) and name == 'name' and element.tag != 'node':
            raise element.error(f'name {text!r} must be known without a substitution')
    except ValueError as error:
        raise element.error(error) from error
    number(element, 'respawn_delay')
    number(element, 'respawn_max_retries')


def number(element: Element, name: str) -> float | None:
    """An optional attribute that is a number, not negative."""
    text = element.attributes.get(name)
    try:
        value = None if text is None else float(text)
    except ValueError:
        value = -1.0
    if value is not None and not 0.0 <= value < float('inf'):
        raise element.error(f'{name}={text!r} is not a number, at least 0 (substitutions do not '
                            'work here)')
    return value
