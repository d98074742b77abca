"""One process of a launch: the command line that a `<node>` stands for."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
import re
import shlex

import yaml

from armsense_bringup.launch.file import Element
from armsense_bringup.launch.packages import package_executable
from armsense_bringup.launch.parameters import parameter_value, ParameterValue
from armsense_bringup.launch.schema import number
from armsense_bringup.launch.substitutions import expand, Scope, split_words, SubstitutionError

_NAME = re.compile(r'[A-Za-z_][A-Za-z0-9_]*')
_NAMESPACE = re.compile(r'/|(/[A-Za-z_][A-Za-z0-9_]*)+')


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


def join_namespace(base: str | None, namespace: str) -> str:
    """A namespace below another one, absolute.

    Raises:
        SubstitutionError: The result is no ROS namespace.
    """
    below = base and not namespace.startswith('/')
    joined = '/' + (f'{base}/{namespace}' if below else namespace).strip('/')
    if not _NAMESPACE.fullmatch(joined):
        raise SubstitutionError(
            f'namespace {joined!r}: letters, digits and _ between single slashes, '
            'no digit at the start')
    return joined


def process_of_node(element: Element, scope: Scope) -> ProcessSpec:
    """What a `<node>` starts."""
    package, executable, name = (
        expand(element.attributes[key], scope) for key in ('pkg', 'exec', 'name'))
    if not _NAME.fullmatch(name):
        raise SubstitutionError(
            f'node name {name!r}: letters, digits and _, no digit at the start')
    namespace = scope.namespace
    words = [expand(word, scope) for word in split_words(element.attributes.get('args', ''))]
    command = [str(package_executable(package, executable, scope.environment)), *words,
               '--ros-args', '-r', f'__node:={name}']
    command += ['-r', f'__ns:={namespace}'] if namespace is not None else []
    retries = number(element, 'respawn_max_retries')
    return ProcessSpec(
        name, tuple(command), dict(scope.environment),
        node='/**' if namespace is None else f'{namespace.rstrip("/")}/{name}',
        parameters=dict(_parameter(child, scope) for child in element.children),
        shutdown_on_exit='on_exit' in element.attributes,
        respawn=element.attributes.get('respawn') == 'true',
        respawn_delay=number(element, 'respawn_delay') or 0.0,
        respawn_max_retries=float('inf') if retries is None else retries)


def _parameter(element: Element, scope: Scope) -> tuple[str, ParameterValue]:
    name, text = element.attributes['name'], element.attributes['value']
    try:
        return name, parameter_value(text, element.attributes.get('type', 'yaml'), scope)
    except ValueError as error:
        raise element.error(f'parameter {name!r}: {error}') from error
