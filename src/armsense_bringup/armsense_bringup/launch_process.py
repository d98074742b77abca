"""One process of a launch: the command line that a `<node>` or `<executable>` stands for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
import re
import shlex
from typing import Any

import yaml

from armsense_bringup.launch_file import Element
from armsense_bringup.launch_packages import package_executable
from armsense_bringup.launch_parameters import parameter_value, ParameterValue
from armsense_bringup.launch_schema import number, OUTPUTS, whole_number
from armsense_bringup.launch_substitutions import expand, Scope, split_words, SubstitutionError

_NAME = re.compile(r'[A-Za-z_][A-Za-z0-9_]*')
_NAMESPACE = re.compile(r'/|(/[A-Za-z_][A-Za-z0-9_]*)+')


@dataclass(frozen=True)
class ParameterBlock:
    """Parameters from `<param name>` tags, for the node that `node` names."""

    node: str  # its full name, or /** where the launch file does not fix it
    values: dict[str, ParameterValue]

    def write(self, path: Path) -> None:
        """Write the parameter file that a node understands."""
        content = {self.node: {'ros__parameters': self.values}}
        path.write_text(yaml.safe_dump(content, default_flow_style=False))


@dataclass(frozen=True)
class ProcessSpec:
    """A process to start, and what to do when it ends."""

    name: str  # in front of its output
    command: tuple[str, ...]
    environment: dict[str, str]
    cwd: str | None = None
    parameters: tuple[Path | ParameterBlock, ...] = ()
    remaps: tuple[str, ...] = ()  # from:=to
    shutdown_on_exit: bool = False
    respawn: bool = False
    respawn_delay: float = 0.0  # [s]
    respawn_max_retries: int = -1  # negative: without end
    sigterm_timeout: float | None = None  # [s] None: the supervisor's
    sigkill_timeout: float | None = None  # [s]

    def renamed(self, name: str) -> ProcessSpec:
        return replace(self, name=name)

    def command_line(self, folder: Path) -> list[str]:
        """The whole command; parameters are written to files in `folder`."""
        words = list(self.command)
        for index, item in enumerate(self.parameters):
            path = item
            if isinstance(item, ParameterBlock):
                path = folder / f'{self.name}_{index}.yaml'
                item.write(path)
            words += ['--params-file', str(path)]
        for remap in self.remaps:
            words += ['-r', remap]
        return words

    def describe(self) -> str:
        """The process for a reader: command, parameters, remaps, reactions."""
        lines = [f'[{self.name}] {shlex.join(self.command)}']
        for item in self.parameters:
            if isinstance(item, ParameterBlock):
                lines += [f'    {name}: {value!r}' for name, value in item.values.items()]
            else:
                lines.append(f'    parameters from {item}')
        lines += [f'    {remap}' for remap in self.remaps]
        lines += ['    on_exit: shutdown'] if self.shutdown_on_exit else []
        lines += ['    respawn'] if self.respawn else []
        return '\n'.join(lines)


def join_namespace(base: str | None, namespace: str | None) -> str | None:
    """A namespace below another one, absolute; None where neither is given.

    Raises:
        SubstitutionError: The result is no ROS namespace.
    """
    if base is None and namespace is None:
        return None
    if namespace is None:
        joined = base or ''
    elif namespace.startswith('/') or not base:
        joined = namespace
    else:
        joined = f'{base}/{namespace}'
    joined = '/' + joined.strip('/')
    if not _NAMESPACE.fullmatch(joined):
        raise SubstitutionError(
            f'namespace {joined!r}: letters, digits and _ between single slashes, '
            'no digit at the start')
    return joined


def process_of_node(element: Element, scope: Scope, respawn: bool) -> ProcessSpec:
    """What a `<node>` starts."""
    text = _Texts(element, scope)
    executable = text['exec']
    if 'pkg' in element.attributes:
        executable = str(package_executable(text['pkg'], executable, scope.environment))
    name = text.get('name')
    if name is not None and not _NAME.fullmatch(name):
        raise SubstitutionError(
            f'node name {name!r}: letters, digits and _, no digit at the start')
    namespace = join_namespace(scope.namespace, text.get('namespace'))
    command = [executable, *text.words('args')]
    if 'ros_args' in element.attributes:
        command += ['--ros-args', *text.words('ros_args')]
    command.append('--ros-args')
    command += ['-r', f'__node:={name}'] if name is not None else []
    command += ['-r', f'__ns:={namespace}'] if namespace is not None else []
    full_name = '/**'
    if name is not None and namespace is not None:
        full_name = f'{namespace.rstrip("/")}/{name}'
    return ProcessSpec(
        text.get('exec_name') or name or Path(executable).name, tuple(command),
        parameters=_parameters(element, scope, full_name),
        remaps=tuple(_remap(child, scope) for child in element.named('remap')),
        **_common(element, text, scope, respawn))


def process_of_executable(element: Element, scope: Scope, respawn: bool) -> ProcessSpec:
    """What an `<executable>` starts."""
    text = _Texts(element, scope)
    command = tuple(text.words('cmd'))
    if not command:
        raise SubstitutionError('cmd is empty')
    return ProcessSpec(
        text.get('name') or Path(command[0]).name, command,
        **_common(element, text, scope, respawn))


class _Texts:
    """The attributes of an element with their substitutions replaced."""

    def __init__(self, element: Element, scope: Scope) -> None:
        self._attributes = element.attributes
        self._scope = scope

    def __getitem__(self, name: str) -> str:
        return expand(self._attributes[name], self._scope)

    def get(self, name: str) -> str | None:
        return self[name] if name in self._attributes else None

    def words(self, name: str) -> list[str]:
        return [expand(word, self._scope) for word in split_words(self._attributes.get(name, ''))]


def _common(element: Element, text: _Texts, scope: Scope, respawn: bool) -> dict[str, Any]:
    output = text.get('output') or 'log'
    if output not in OUTPUTS:
        raise SubstitutionError(f'output={output!r}; known: {", ".join(OUTPUTS)}')
    environment = dict(scope.environment)
    for child in element.named('env'):
        pair = _Texts(child, scope)
        environment[pair['name']] = pair['value']
    retries = whole_number(element, 'respawn_max_retries')
    return {
        'environment': environment, 'cwd': text.get('cwd'), 'respawn': respawn,
        'shutdown_on_exit': 'on_exit' in element.attributes,
        'respawn_delay': number(element, 'respawn_delay') or 0.0,
        'respawn_max_retries': -1 if retries is None else retries,
        'sigterm_timeout': number(element, 'sigterm_timeout'),
        'sigkill_timeout': number(element, 'sigkill_timeout')}


def _remap(element: Element, scope: Scope) -> str:
    text = _Texts(element, scope)
    return f"{text['from']}:={text['to']}"


def _parameters(
    element: Element, scope: Scope, node: str,
) -> tuple[Path | ParameterBlock, ...]:
    """Parameters in the order of the file, because a later one wins."""
    items: list[Path | ParameterBlock] = []
    for child in element.named('param'):
        if 'from' in child.attributes:
            items.append(_parameter_file(child, scope))
            continue
        values = _values(child, scope, prefix='')
        if items and isinstance(items[-1], ParameterBlock):
            items[-1].values.update(values)
        else:
            items.append(ParameterBlock(node, values))
    return tuple(items)


def _parameter_file(element: Element, scope: Scope) -> Path:
    path = Path(expand(element.attributes['from'], scope))
    if not path.is_file():
        raise element.error(f'parameter file {path} does not exist')
    return path


def _values(element: Element, scope: Scope, prefix: str) -> dict[str, ParameterValue]:
    name = prefix + expand(element.attributes['name'], scope)
    if 'value' not in element.attributes:
        values: dict[str, ParameterValue] = {}
        for child in element.named('param'):
            values.update(_values(child, scope, f'{name}.'))
        return values
    try:
        kind = element.attributes.get('type', 'yaml')
        return {name: parameter_value(element.attributes['value'], kind, scope)}
    except ValueError as error:
        raise element.error(f'parameter {name!r}: {error}') from error
