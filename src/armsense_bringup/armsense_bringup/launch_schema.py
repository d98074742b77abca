"""Which tags and attributes a launch file may have; everything else is an error.

All of it is accepted by `ros2 launch` of ROS 2 Jazzy with the same meaning. The whole file is
checked, also the parts that a condition leaves out.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from armsense_bringup.launch_file import Element, LaunchError
from armsense_bringup.launch_parameters import parameter_value, TYPES
from armsense_bringup.launch_substitutions import parse, split_words

OUTPUTS = ('screen', 'log', 'both', 'own_log', 'full')


@dataclass(frozen=True)
class Schema:
    """One tag: its attributes with substitutions, those without, and the tags inside."""

    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    literal: tuple[str, ...] = ()  # of the above: taken as written, no substitutions
    children: dict[str, Schema] = field(default_factory=dict)


_CONDITIONS = ('if', 'unless')
_PROCESS = (
    *_CONDITIONS, 'name', 'cwd', 'output', 'on_exit', 'respawn', 'respawn_delay',
    'respawn_max_retries', 'sigterm_timeout', 'sigkill_timeout')
_PROCESS_LITERAL = (
    'on_exit', 'respawn_delay', 'respawn_max_retries', 'sigterm_timeout', 'sigkill_timeout')
_NAME_VALUE = Schema(required=('name', 'value'))
_PARAM = Schema(optional=('name', 'value', 'type', 'from'), literal=('value', 'type'))
_PARAM.children['param'] = _PARAM
_PUSH_NAMESPACE = Schema(required=('namespace',), optional=_CONDITIONS)

ACTIONS: dict[str, Schema] = {
    'arg': Schema(
        required=('name',), optional=('default', 'description', *_CONDITIONS),
        literal=('name', 'description'),
        children={'choice': Schema(required=('value',), literal=('value',))}),
    'let': Schema(required=('name', 'value'), optional=_CONDITIONS),
    'set_env': Schema(required=('name', 'value'), optional=_CONDITIONS),
    'push_ros_namespace': _PUSH_NAMESPACE,
    'push-ros-namespace': _PUSH_NAMESPACE,
    'include': Schema(
        required=('file',), optional=_CONDITIONS, children={'arg': _NAME_VALUE}),
    'node': Schema(
        required=('exec',),
        optional=('pkg', 'namespace', 'args', 'ros_args', 'exec_name', *_PROCESS),
        literal=_PROCESS_LITERAL,
        children={
            'param': _PARAM, 'env': _NAME_VALUE, 'remap': Schema(required=('from', 'to'))}),
    'executable': Schema(
        required=('cmd',), optional=_PROCESS, literal=_PROCESS_LITERAL,
        children={'env': _NAME_VALUE}),
}
ACTIONS['group'] = Schema(optional=('scoped', *_CONDITIONS), literal=('scoped',), children=ACTIONS)
_LAUNCH = Schema(children=ACTIONS)


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
            raise element.error(
                f'unknown attribute {name!r} in <{element.tag}>; '
                f'known: {", ".join(sorted(known)) or "none"}')
    for name in schema.required:
        if name not in element.attributes:
            raise element.error(f'<{element.tag}> needs the attribute {name!r}')
    if set(_CONDITIONS) <= set(element.attributes):
        raise element.error("'if' and 'unless' exclude each other")
    _check_values(element, schema)
    for child in element.children:
        if child.tag not in schema.children:
            raise child.error(
                f'unknown tag <{child.tag}> in <{element.tag}>; '
                f'known: {", ".join(sorted(schema.children)) or "none"}')
        _check(child, schema.children[child.tag])


def _check_values(element: Element, schema: Schema) -> None:
    for name, text in element.attributes.items():
        try:
            if name in ('args', 'ros_args', 'cmd'):
                split_words(text)
            elif name not in schema.literal:
                parse(text)
        except ValueError as error:
            raise element.error(error) from error
    if element.tag == 'param':
        _check_param(element)
    for name in ('respawn_delay', 'sigterm_timeout', 'sigkill_timeout'):
        number(element, name)
    whole_number(element, 'respawn_max_retries')
    if element.attributes.get('on_exit', 'shutdown') != 'shutdown':
        raise element.error(f"on_exit={element.attributes['on_exit']!r}; known: shutdown")
    if element.attributes.get('scoped', 'true') not in ('true', 'false'):
        raise element.error(f"scoped={element.attributes['scoped']!r}; known: true, false")


def _check_param(element: Element) -> None:
    given = set(element.attributes)
    if 'from' in given:
        if given != {'from'} or element.children:
            raise element.error('<param from> excludes other attributes and nested <param>')
        return
    if 'name' not in given:
        raise element.error("<param> needs 'name' or 'from'")
    if ('value' in given) == bool(element.children):
        raise element.error("<param name> needs either 'value' or nested <param>")
    if 'type' in given and 'value' not in given:
        raise element.error("'type' goes with 'value'")
    for child in element.children:
        if 'from' in child.attributes:
            raise child.error('<param from> cannot be nested')
    if 'value' in given:
        try:
            parameter_value(
                element.attributes['value'], element.attributes.get('type', TYPES[0]), None)
        except ValueError as error:
            raise element.error(f"parameter {element.attributes['name']!r}: {error}") from error


def number(element: Element, name: str) -> float | None:
    """An optional attribute that is a number of seconds, not negative."""
    text = element.attributes.get(name)
    if text is None:
        return None
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.0 <= value < float('inf'):
        raise _not_a(element, name, 'a time in seconds, at least 0')
    return value


def whole_number(element: Element, name: str) -> int | None:
    """An optional attribute that is an integer."""
    text = element.attributes.get(name)
    try:
        return None if text is None else int(text)
    except ValueError:
        raise _not_a(element, name, 'a whole number') from None


def _not_a(element: Element, name: str, wanted: str) -> LaunchError:
    return element.error(
        f'{name}={element.attributes[name]!r} is not {wanted} (substitutions do not work here)')
