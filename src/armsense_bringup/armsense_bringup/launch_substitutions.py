r"""The `$(name argument ...)` substitutions of launch files.

The grammar is that of the ROS 2 launch frontend: arguments are separated by one space, an argument
with spaces stands in single or double quotes, substitutions nest, and a backslash takes the next
character as it is (`\$`, `\'`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
import re
import shlex
from typing import NamedTuple

from armsense_bringup.launch_commands import run_command
from armsense_bringup.launch_expression import evaluate, ExpressionError
from armsense_bringup.launch_packages import package_prefix, package_share, PackageError


class SubstitutionError(ValueError):
    """A substitution is misspelt or has no value."""


class Call(NamedTuple):
    """One `$(name argument ...)`."""

    name: str
    arguments: tuple[Template, ...]


Template = tuple[str | Call, ...]  # plain text and calls, in the order of the text


@dataclass
class Scope:
    """What substitutions see; a `<group>` works on a copy."""

    variables: dict[str, str]
    environment: dict[str, str]
    namespace: str | None = None  # what push_ros_namespace made; None where there was none
    directory: str | None = None  # of the launch file; None where `$(dirname)` is ambiguous

    def copy(self) -> Scope:
        return Scope(
            dict(self.variables), dict(self.environment), self.namespace, self.directory)


def expand(text: str | Template, scope: Scope) -> str:
    """The text with every substitution replaced by its value."""
    template = parse(text) if isinstance(text, str) else text
    return ''.join(part if isinstance(part, str) else _call(part, scope) for part in template)


def parse(text: str) -> Template:
    """Split a text into plain parts and substitutions.

    Raises:
        SubstitutionError: An unknown name, a wrong number of arguments, a missing bracket.
    """
    return _Parser(text).template()


def unescape(text: str) -> str:
    """A text in which substitutions are not replaced, without its backslashes."""
    return re.sub(r'\\(.)', r'\1', text)


def split_words(text: str) -> list[Template]:
    """Split a command line as a shell would; what a substitution yields is never split."""
    words: list[Template] = []
    current: list[str | Call] = []

    def close() -> None:
        if current:
            words.append(tuple(current))
            current.clear()

    for part in parse(text):
        if isinstance(part, Call):
            current.append(part)
            continue
        if part.isspace() and not words and not current:
            raise SubstitutionError(
                f'{text!r} starts with a space, of which ros2 launch makes an empty argument')
        if part[0].isspace():
            close()
        for index, token in enumerate(_shell_split(part)):
            if index:
                close()
            current.append(token)
        if part[-1].isspace():
            close()
    close()
    return words


def _shell_split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise SubstitutionError(
            f'{text!r}: {error}; quotes must not enclose a substitution') from error


class _Parser:
    _NAME = re.compile(r'[A-Za-z][A-Za-z0-9_-]*')

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def template(self) -> Template:
        return self._parts(stop='', forbidden='', quote='')

    def _error(self, message: str) -> SubstitutionError:
        return SubstitutionError(f'{self._text!r}, character {self._at + 1}: {message}')

    def _peek(self) -> str:
        return self._text[self._at:self._at + 1]

    def _parts(self, stop: str, forbidden: str, quote: str) -> Template:
        """Parts up to one of the `stop` characters; `quote` is the mark around all of it."""
        parts: list[str | Call] = []
        plain = ''
        while (char := self._peek()) and char not in stop:
            following = self._text[self._at + 1:self._at + 2]
            if char == '\\' and following and not (following == ' ' and ' ' in stop):
                plain += following
                self._at += 2
            elif char == '$' and following == '(' and self._text[self._at - 1:self._at] != '\\':
                parts += [plain] if plain else []
                plain = ''
                parts.append(self._substitution(quote))
            elif char in forbidden:
                raise self._error(f'{char!r} needs a backslash or quotes around the argument')
            else:
                plain += char
                self._at += 1
        return (*parts, plain) if plain else tuple(parts)

    def _substitution(self, quote: str) -> Call:
        self._at += 2
        match = self._NAME.match(self._text, self._at)
        if not match:
            raise self._error('a substitution starts with its name')
        self._at = match.end()
        arguments = []
        while self._peek() == ' ':
            self._at += 1
            arguments.append(self._argument(quote))
        if self._peek() != ')':
            raise self._error(f"')' expected after $({match[0]}")
        self._at += 1
        return self._checked(Call(match[0], tuple(arguments)))

    def _argument(self, quote: str) -> Template:
        mark = self._peek()
        if quote or mark not in ("'", '"') or not mark:
            start = self._at
            word = self._parts(stop=' )', forbidden='(' + (quote or '\'"'), quote=quote)
            if self._at == start:
                raise self._error('empty argument; arguments are separated by one space')
            return word
        self._at += 1
        content = self._parts(stop=mark, forbidden='', quote=mark)
        if not self._peek():
            raise self._error(f'closing {mark} is missing')
        self._at += 1
        return content

    def _checked(self, call: Call) -> Call:
        if call.name not in _FUNCTIONS:
            raise SubstitutionError(
                f'unknown substitution $({call.name} ...); known: {", ".join(sorted(_FUNCTIONS))}')
        least, most, _ = _FUNCTIONS[call.name]
        if not least <= len(call.arguments) <= most:
            wanted = f'{least}' if least == most else f'{least} to {most}'
            raise SubstitutionError(
                f'$({call.name} ...) takes {wanted} arguments, not {len(call.arguments)}')
        return call


def _call(call: Call, scope: Scope) -> str:
    values = [expand(argument, scope) for argument in call.arguments]
    try:
        return _FUNCTIONS[call.name].function(scope, *values)
    except (PackageError, ExpressionError) as error:
        raise SubstitutionError(str(error)) from error


def _var(scope: Scope, name: str, default: str | None = None) -> str:
    value = scope.variables.get(name, default)
    if value is None:
        known = ', '.join(sorted(scope.variables)) or 'none'
        raise SubstitutionError(f'unknown variable {name!r}; known: {known}')
    return value


def _env(scope: Scope, name: str, default: str | None = None) -> str:
    value = scope.environment.get(name, default)
    if value is None:
        raise SubstitutionError(f'environment variable {name!r} is not set')
    return value


def _dirname(scope: Scope) -> str:
    if scope.directory is None:
        raise SubstitutionError(
            '$(dirname) in or after an <include> of a file in another folder is that folder for '
            'ros2 launch; keep it with <let> before the <include>')
    return scope.directory


def _command(scope: Scope, command: str, on_stderr: str = 'fail') -> str:
    try:
        return run_command(shlex.split(command), on_stderr, scope.environment)
    except ValueError as error:
        raise SubstitutionError(f'$(command {command}): {error}') from error


class _Function(NamedTuple):
    least: int
    most: int
    function: Callable[..., str]


_FUNCTIONS = {
    'var': _Function(1, 2, _var),
    'env': _Function(1, 2, _env),
    'eval': _Function(1, 1, lambda scope, text: evaluate(text)),
    'command': _Function(1, 2, _command),
    'dirname': _Function(0, 0, _dirname),
    'find-pkg-share': _Function(
        1, 1, lambda scope, name: str(package_share(name, scope.environment))),
    'find-pkg-prefix': _Function(
        1, 1, lambda scope, name: str(package_prefix(name, scope.environment))),
}
