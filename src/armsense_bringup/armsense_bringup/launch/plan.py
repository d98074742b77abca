"""What a launch file starts: evaluate it for given arguments into a list of processes.

The order and the scopes are those of ROS 2 launch: tags act from top to bottom, `<group>` gives
the variables back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
import os
from pathlib import Path
from typing import NamedTuple

from armsense_bringup.launch.file import Element, LaunchError, read
from armsense_bringup.launch.process import join_namespace, process_of_node, ProcessSpec
from armsense_bringup.launch.schema import check
from armsense_bringup.launch.substitutions import expand, Scope, SubstitutionError


class Argument(NamedTuple):
    """An `<arg>` as the file declares it."""

    name: str
    default: str | None  # as written; None where a value has to be given
    description: str
    choices: tuple[str, ...]  # empty where anything goes


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
    root = _checked(path)
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
    return _arguments(_checked(path))


class _Evaluation:
    """One pass over a launch file."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.processes: list[ProcessSpec] = []

    def run(self, parent: Element) -> None:
        for element in parent.children:
            try:
                if self._wanted(element):
                    _ACTIONS[element.tag](self, element)
            except LaunchError:
                raise
            except (ValueError, LookupError) as error:
                raise element.error(error) from error

    def _wanted(self, element: Element) -> bool:
        for name in ('if', 'unless'):
            if name in element.attributes:
                value = self._expand(element, name).strip().lower()
                if value not in ('true', '1', 'false', '0'):
                    raise SubstitutionError(f'condition {element.attributes[name]!r} is '
                                            f'{value!r}; known: true, 1, false, 0')
                return (value in ('true', '1')) == (name == 'if')
        return True

    def _expand(self, element: Element, name: str) -> str:
        return expand(element.attributes[name], self.scope)

    def _arg(self, element: Element) -> None:
        argument = _argument(element)
        variables = self.scope.variables
        if argument.name not in variables:
            if argument.default is None:
                raise element.error(
                    f'argument {argument.name!r} has no default and needs a value: '
                    f'{argument.name}:=... ({argument.description or "no description"})')
            variables[argument.name] = expand(argument.default, self.scope)
        value = variables[argument.name]
        if argument.choices and value not in argument.choices:
            raise element.error(
                f'argument {argument.name!r} is {value!r}; known: {", ".join(argument.choices)}')

    def _let(self, element: Element) -> None:
        self.scope.variables[element.attributes['name']] = self._expand(element, 'value')

    def _set_env(self, element: Element) -> None:
        self.scope.environment[element.attributes['name']] = self._expand(element, 'value')

    def _push_namespace(self, element: Element) -> None:
        pushed = self._expand(element, 'namespace')
        self.scope.namespace = join_namespace(self.scope.namespace, pushed)

    def _group(self, element: Element) -> None:
        outside = self.scope
        self.scope = outside.copy()
        self.run(element)
        self.scope = outside

    def _node(self, element: Element) -> None:
        self.processes.append(process_of_node(element, self.scope))


_ACTIONS: dict[str, Callable[[_Evaluation, Element], None]] = {
    'arg': _Evaluation._arg,
    'let': _Evaluation._let,
    'set_env': _Evaluation._set_env,
    'push_ros_namespace': _Evaluation._push_namespace,
    'group': _Evaluation._group,
    'node': _Evaluation._node,
}


def _checked(path: str | Path) -> Element:
    root = read(path)
    check(root)
    return root


def _arguments(root: Element) -> list[Argument]:
    return [_argument(element) for element in root.walk() if element.tag == 'arg']


def _argument(element: Element) -> Argument:
    return Argument(
        element.attributes['name'], element.attributes.get('default'),
        element.attributes.get('description', ''),
        tuple(choice.attributes['value'] for choice in element.children))


def _with_unique_names(processes: list[ProcessSpec]) -> list[ProcessSpec]:
    seen = Counter[str]()
    result = []
    for process in processes:
        seen[process.name] += 1
        count = seen[process.name]
        result.append(replace(process, name=f'{process.name}-{count}') if count > 1 else process)
    return result
