"""What a launch file starts: evaluate it for given arguments into a list of processes.

The order and the scopes are those of ROS 2 launch: tags act from top to bottom, `<include>` shares
the variables of its surroundings, `<group>` gives them back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
import os
from pathlib import Path
from typing import NamedTuple

from armsense_bringup.launch_file import Element, LaunchError, read
from armsense_bringup.launch_process import (
    join_namespace,
    process_of_executable,
    process_of_node,
    ProcessSpec,
)
from armsense_bringup.launch_schema import check
from armsense_bringup.launch_substitutions import expand, Scope, SubstitutionError, unescape

_DEEPEST_INCLUDE = 20


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
    root = _checked(Path(path))
    evaluation = _Evaluation(Scope(
        dict(given), dict(os.environ if environment is None else environment),
        directory=str(root.path.parent)))
    evaluation.run(root)
    unknown = sorted(set(given) - evaluation.declared)
    if unknown:
        raise LaunchError(
            f'{path}: unknown argument {unknown[0]!r}; known: '
            f'{", ".join(sorted(evaluation.declared)) or "none"}')
    return _with_unique_names(evaluation.processes)


def declared_arguments(
    path: str | Path, environment: Mapping[str, str] | None = None,
) -> list[Argument]:
    """The arguments that can be given to a launch file and to the files it includes."""
    scope = Scope({}, dict(os.environ if environment is None else environment))
    found = _declared(Path(path), scope, depth=0)
    return list({argument.name: argument for argument in reversed(found)}.values())[::-1]


def condition_holds(text: str, scope: Scope) -> bool:
    """The truth of an `if`, `unless` or `respawn` attribute.

    Raises:
        SubstitutionError: It is neither true nor false.
    """
    value = expand(text, scope).strip().lower()
    if value not in ('true', '1', 'false', '0'):
        raise SubstitutionError(f'condition {text!r} is {value!r}; known: true, 1, false, 0')
    return value in ('true', '1')


class _Evaluation:
    """One pass over a launch file and what it includes."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.processes: list[ProcessSpec] = []
        self.declared: set[str] = set()  # names of all arguments met on the way
        self.depth = 0  # of includes

    def run(self, root: Element) -> None:
        self.declared |= {argument.name for argument in _own_arguments(root)}
        self._run_all(root)

    def _run_all(self, parent: Element) -> None:
        for element in parent.children:
            try:
                if self._wanted(element):
                    _ACTIONS[element.tag](self, element)
                else:
                    self._note_arguments(element)
            except LaunchError:
                raise
            except (ValueError, LookupError) as error:
                raise element.error(error) from error

    def _wanted(self, element: Element) -> bool:
        if 'if' in element.attributes:
            return condition_holds(element.attributes['if'], self.scope)
        if 'unless' in element.attributes:
            return not condition_holds(element.attributes['unless'], self.scope)
        return True

    def _note_arguments(self, skipped: Element) -> None:
        """An argument of a file that a condition leaves out is not needed, but it is known."""
        for element in skipped.walk():
            if element.tag == 'include':
                self.declared |= {a.name for a in _included(element, self.scope, self.depth)}

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
        name = self._expand(element, 'name')
        self.scope.variables[name] = self._expand(element, 'value')

    def _set_env(self, element: Element) -> None:
        name = self._expand(element, 'name')
        self.scope.environment[name] = self._expand(element, 'value')

    def _push_namespace(self, element: Element) -> None:
        pushed = self._expand(element, 'namespace')
        self.scope.namespace = join_namespace(self.scope.namespace, pushed)

    def _group(self, element: Element) -> None:
        if element.attributes.get('scoped') == 'false':
            self._run_all(element)
            return
        outside = self.scope
        self.scope = outside.copy()
        self._run_all(element)
        # The folder of the last included file is not part of a scope in ROS 2 launch.
        outside.directory = self.scope.directory
        self.scope = outside

    def _include(self, element: Element) -> None:
        root = _include_root(element, self.scope, self.depth)
        outside, inside = self.scope.directory, str(root.path.parent)
        # ROS 2 launch enters the folder before it looks at the arguments and never leaves it.
        self.scope.directory = inside if inside == outside else None
        for child in element.named('arg'):
            self._let(child)
        self.scope.directory = inside
        before, self.declared = self.declared, set()
        self.depth += 1
        self.run(root)
        self.depth -= 1
        for child in element.named('arg'):
            name = self._expand(child, 'name')
            if name not in self.declared:
                raise child.error(
                    f'{root.path.name} has no argument {name!r}; '
                    f'known: {", ".join(sorted(self.declared)) or "none"}')
        self.declared |= before
        if outside != inside:
            self.scope.directory = None

    def _node(self, element: Element) -> None:
        self.processes.append(process_of_node(element, self.scope, self._respawns(element)))

    def _executable(self, element: Element) -> None:
        self.processes.append(
            process_of_executable(element, self.scope, self._respawns(element)))

    def _respawns(self, element: Element) -> bool:
        return condition_holds(element.attributes.get('respawn', 'false'), self.scope)


_ACTIONS: dict[str, Callable[[_Evaluation, Element], None]] = {
    'arg': _Evaluation._arg,
    'let': _Evaluation._let,
    'set_env': _Evaluation._set_env,
    'push_ros_namespace': _Evaluation._push_namespace,
    'push-ros-namespace': _Evaluation._push_namespace,
    'group': _Evaluation._group,
    'include': _Evaluation._include,
    'node': _Evaluation._node,
    'executable': _Evaluation._executable,
}


def _checked(path: Path) -> Element:
    root = read(path)
    check(root)
    return root


def _argument(element: Element) -> Argument:
    return Argument(
        unescape(element.attributes['name']), element.attributes.get('default'),
        unescape(element.attributes.get('description', '')),
        tuple(unescape(choice.attributes['value']) for choice in element.named('choice')))


def _own_arguments(root: Element) -> list[Argument]:
    inside_includes = {
        id(child) for element in root.walk() if element.tag == 'include'
        for child in element.children}
    return [
        _argument(element) for element in root.walk()
        if element.tag == 'arg' and id(element) not in inside_includes]


def _include_root(element: Element, scope: Scope, depth: int) -> Element:
    path = Path(expand(element.attributes['file'], scope))
    if depth >= _DEEPEST_INCLUDE:
        raise element.error(f'more than {_DEEPEST_INCLUDE} files include each other')
    if path.suffix != '.xml':
        raise element.error(f'{path} is no XML launch file')
    if not path.is_file():
        raise element.error(f'launch file {path} does not exist')
    return _checked(path)


def _declared(path: Path, scope: Scope, depth: int) -> list[Argument]:
    """Arguments without evaluating the file: defaults stand in for what is not known yet."""
    root = _checked(path)
    scope.directory = str(root.path.parent)
    found = []
    for argument in _own_arguments(root):
        found.append(argument)
        if argument.name not in scope.variables and argument.default is not None:
            try:
                scope.variables[argument.name] = expand(argument.default, scope)
            except (ValueError, LookupError):
                continue  # it depends on what only a run can know
    for element in root.walk():
        if element.tag == 'include':
            found += _included(element, scope, depth)
    return found


def _included(element: Element, scope: Scope, depth: int) -> list[Argument]:
    """Arguments that an included file leaves open; none where its name is not known yet."""
    try:
        path = _include_root(element, scope, depth).path
    except (ValueError, LookupError):
        return []
    fixed = {child.attributes['name'] for child in element.named('arg')}
    return [a for a in _declared(path, scope.copy(), depth + 1) if a.name not in fixed]


def _with_unique_names(processes: list[ProcessSpec]) -> list[ProcessSpec]:
    seen: dict[str, int] = {}
    result = []
    for process in processes:
        count = seen[process.name] = seen.get(process.name, 0) + 1
        result.append(process.renamed(f'{process.name}-{count}') if count > 1 else process)
    return result
