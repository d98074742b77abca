"""What a launch file starts: evaluate it for given arguments into a list of processes.

The order and the scopes are those of ROS 2 launch: tags act from top to bottom, `<group>` gives
the variables back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
import os
from pathlib import Path
import re
import shlex
from typing import NamedTuple

import yaml

from armsense_bringup.launch.language import (
    Element,
    expand,
    LaunchError,
    Mistake,
    number,
    package_prefix,
    parameter_value,
    ParameterValue,
    read,
    Scope,
    split_words,
)

_NAME = re.compile(r'[A-Za-z_][A-Za-z0-9_]*')
_NAMESPACE = re.compile(r'/|(/[A-Za-z_][A-Za-z0-9_]*)+')


class Argument(NamedTuple):
    """An `<arg>` as the file declares it."""

    name: str
    default: str | None  # as written; None where a value has to be given
    description: str
    choices: tuple[str, ...]  # empty where anything goes


@dataclass(frozen=True)
class ProcessSpec:
    """A process to start, and what to do when it ends."""

    name: str  # in front of its output
    command: tuple[str, ...]
    environment: dict[str, str]
    node: str = '/**'  # its full name, or this where the launch file does not fix it
    parameters: dict[str, ParameterValue] = field(default_factory=dict)
    shutdown_on_exit: bool = False
    respawn: bool = False
    respawn_delay: float = 0.0  # [s]
    respawn_max_retries: float = float('inf')

    def command_line(self, folder: Path) -> list[str]:
        """The whole command; parameters are written to a file in `folder`."""
        if not self.parameters:
            return list(self.command)
        path = folder / f'{self.name}.yaml'
        path.write_text(yaml.safe_dump({self.node: {'ros__parameters': self.parameters}}))
        return [*self.command, '--params-file', str(path)]

    def describe(self) -> str:
        """The process for a reader: command, parameters, reactions."""
        lines = [f'[{self.name}] {shlex.join(self.command)}']
        lines += [f'    {name}: {value!r}' for name, value in self.parameters.items()]
        lines += ['    on_exit: shutdown'] if self.shutdown_on_exit else []
        lines += ['    respawn'] if self.respawn else []
        return '\n'.join(lines)


def load(
    path: str | Path,
    arguments: Mapping[str, str] | None = None,
    environment: Mapping[str, str] | None = None,
) -> list[ProcessSpec]:
    """The processes that a launch file starts, in its order.

    Args:
        path: The launch file.
        arguments: Values of its arguments; the rest takes the defaults.
        environment: The environment of the processes, that of this process if None.

    Raises:
        LaunchError: With file and line, or with the names that an argument could have.
    """
    given = dict(arguments or {})
    root = read(path)
    evaluation = _Evaluation(
        Scope(dict(given), dict(os.environ if environment is None else environment)))
    evaluation.run(root)
    declared = {argument.name for argument in _arguments(root)}
    unknown = sorted(set(given) - declared)
    if unknown:
        raise LaunchError(f'{path}: unknown argument {unknown[0]!r}; known: '
                          f'{", ".join(sorted(declared)) or "none"}')
    return _with_unique_names(evaluation.processes)


def declared_arguments(path: str | Path) -> list[Argument]:
    """The arguments that can be given to a launch file."""
    return _arguments(read(path))


class _Evaluation:
    """One pass over a launch file; a method for each tag."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.processes: list[ProcessSpec] = []

    def run(self, parent: Element) -> None:
        for element in parent.children:
            try:
                if self._wanted(element):
                    getattr(self, f'_{element.tag}')(element)
            except Mistake as error:
                raise element.error(error) from error

    def _wanted(self, element: Element) -> bool:
        for name in ('if', 'unless'):
            if name in element.attributes:
                value = self._expand(element, name).strip().lower()
                if value not in ('true', '1', 'false', '0'):
                    raise Mistake(f'condition {element.attributes[name]!r} is {value!r}; known: '
                                  'true, 1, false, 0')
                return (value in ('true', '1')) == (name == 'if')
        return True

    def _expand(self, element: Element, name: str) -> str:
        return expand(element.attributes[name], self.scope)

    def _arg(self, element: Element) -> None:
        argument = _argument(element)
        variables = self.scope.variables
        if argument.name not in variables:
            if argument.default is None:
                raise Mistake(f'argument {argument.name!r} has no default and needs a value: '
                              f'{argument.name}:=... ({argument.description or "no description"})')
            variables[argument.name] = expand(argument.default, self.scope)
        value = variables[argument.name]
        if argument.choices and value not in argument.choices:
            raise Mistake(f'argument {argument.name!r} is {value!r}; known: '
                          f'{", ".join(argument.choices)}')

    def _let(self, element: Element) -> None:
        self.scope.variables[element.attributes['name']] = self._expand(element, 'value')

    def _set_env(self, element: Element) -> None:
        self.scope.environment[element.attributes['name']] = self._expand(element, 'value')

    def _push_ros_namespace(self, element: Element) -> None:
        pushed = self._expand(element, 'namespace')
        self.scope.namespace = join_namespace(self.scope.namespace, pushed)

    def _group(self, element: Element) -> None:
        outside = self.scope
        self.scope = outside.copy()
        self.run(element)
        self.scope = outside

    def _node(self, element: Element) -> None:
        package, executable = (self._expand(element, key) for key in ('pkg', 'exec'))
        named = 'name' in element.attributes     # else the process names its nodes itself
        name = self._expand(element, 'name') if named else executable
        if not _NAME.fullmatch(name):
            raise Mistake(f'node name {name!r}: letters, digits and _, no digit at the start')
        scope, given, namespace = self.scope, element.attributes, self.scope.namespace
        command = [str(package_executable(package, executable, scope.environment)),
                   *(expand(word, scope) for word in split_words(given.get('args', ''))),
                   '--ros-args']
        command += ['-r', f'__node:={name}'] if named else []
        command += ['-r', f'__ns:={namespace}'] if namespace is not None else []
        self.processes.append(ProcessSpec(
            name, tuple(command), dict(scope.environment),
            node=f'{namespace.rstrip("/")}/{name}' if named and namespace is not None else '/**',
            parameters=dict(_parameter(child, scope) for child in element.children),
            shutdown_on_exit='on_exit' in given, respawn=given.get('respawn') == 'true',
            respawn_delay=number(given.get('respawn_delay', '0')),
            respawn_max_retries=number(given['respawn_max_retries'])
            if 'respawn_max_retries' in given else float('inf')))


def _arguments(root: Element) -> list[Argument]:
    return [_argument(element) for element in root.children if element.tag == 'arg']


def _argument(element: Element) -> Argument:
    return Argument(
        element.attributes['name'], element.attributes.get('default'),
        element.attributes.get('description', ''),
        tuple(choice.attributes['value'] for choice in element.children))


def _parameter(element: Element, scope: Scope) -> tuple[str, ParameterValue]:
    name, text = element.attributes['name'], element.attributes['value']
    try:
        return name, parameter_value(text, element.attributes.get('type', 'yaml'), scope)
    except Mistake as error:
        raise element.error(f'parameter {name!r}: {error}') from error


def package_executable(package: str, name: str, environment: Mapping[str, str]) -> Path:
    """`<prefix>/lib/<package>/<name>`, which has to be executable."""
    folder = package_prefix(package, environment) / 'lib' / package
    known = sorted(
        item.name for item in folder.glob('*') if item.is_file() and os.access(item, os.X_OK))
    if name not in known:
        raise Mistake(f'package {package!r} has no executable {name!r}; known: '
                      f'{", ".join(known) or "none"}')
    return folder / name


def join_namespace(base: str | None, namespace: str) -> str:
    """A namespace below another one, absolute.

    Raises:
        Mistake: The result is no ROS namespace.
    """
    below = base and not namespace.startswith('/')
    joined = '/' + (f'{base}/{namespace}' if below else namespace).strip('/')
    if not _NAMESPACE.fullmatch(joined):
        raise Mistake(f'namespace {joined!r}: letters, digits and _ between single slashes, '
                      'no digit at the start')
    return joined


def _with_unique_names(processes: list[ProcessSpec]) -> list[ProcessSpec]:
    seen = Counter[str]()
    result = []
    for process in processes:
        seen[process.name] += 1
        count = seen[process.name]
        result.append(replace(process, name=f'{process.name}-{count}') if count > 1 else process)
    return result
